"""`make peers`: run every probe on every peer; write the page PEERS.md and its short form in the README.

make peers ARGS='nacre swe-rex --probes echo,tree'       some of them, shown and not kept
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from textwrap import dedent

import nacre
from bench.measure import machine
from bench.peers.probes import PROBES, Facts
from bench.peers.tables import SPEED_COLUMNS, TABLES, Findings, ahead, keepers, table
from bench.peers.venvs import ROOT, VENVS, NotInstalled, Peer, commit, interpreter, peers

PAGE, README = ROOT / "bench" / "PEERS.md", ROOT / "README.md"
FACTS = VENVS / "facts.json"
"""Raw facts of the last run."""
WAITING = 4
"""Number of concurrent probes of those that mostly wait."""
BLOCK = re.compile(r"(<!-- peers: .*? -->\n).*?(<!-- /peers -->)", re.DOTALL)


def main() -> None:
    known = peers()
    parser = argparse.ArgumentParser(prog="make peers", description="The same probes on each shell tool.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--probes", default=",".join(PROBES), help="some of %(default)s")
    asked = parser.parse_args()
    probes = asked.probes.split(",")
    if unknown := {*asked.names} - {*known} | {*probes} - {*PROBES}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    start, load = time.monotonic(), os.getloadavg()[0]
    findings = measure_peers([peer for name, peer in known.items() if name in asked.names or not asked.names], probes)
    VENVS.mkdir(exist_ok=True)
    FACTS.write_text(json.dumps({found.peer.name: found.facts for found in findings}, indent=1))
    text = page(findings, time.monotonic() - start, load)
    print(text)
    if not asked.names and probes == list(PROBES):
        PAGE.write_text(text)
        README.write_text(with_block(README.read_text(), table(SPEED_COLUMNS, findings, short=True)))


def measure_peers(chosen: list[Peer], probes: list[str]) -> list[Findings]:
    """Install the peers, run the measuring probes one by one, then the probes that mostly wait, several at once."""
    pythons, missing = dict[str, str](), dict[str, str]()
    for peer in chosen:
        try:
            with report_time(f"{peer.name}: set up"):
                pythons[peer.name] = interpreter(peer)
        except NotInstalled as error:
            missing[peer.name] = str(error)
            say(f"{peer.name}: not installed: {error}")
    facts: dict[str, dict[str, Facts]] = {peer.name: {} for peer in chosen}

    def work(name: str, group: list[str]) -> None:
        with report_time(f"{name}: {' '.join(group)}"):
            facts[name] |= run_supervisor(pythons[name], name, group)

    if "echo" in probes:  # compile bytecode first, so that it is not part of the import time
        for name in pythons:
            with report_time(f"{name}: compiled"):
                run_supervisor(pythons[name], name, ["newline"])
    jobs = [(name, group) for name in pythons for group in groups(probes)]
    measures = [PROBES[group[0]].measures for _, group in jobs]
    for name, group in itertools.compress(jobs, measures):
        work(name, group)
    with ThreadPoolExecutor(WAITING) as pool:
        waiting = [job for job, measuring in zip(jobs, measures, strict=True) if not measuring]
        for _ in pool.map(lambda job: work(*job), waiting):
            pass
    return [Findings(peer, facts[peer.name], missing.get(peer.name, "")) for peer in chosen]


def groups(probes: list[str]) -> list[list[str]]:
    """Group the probes: most of them can share a process, and importing some peers takes seconds."""
    alone = [[probe] for probe in probes if PROBES[probe].alone]
    return [*alone, *filter(None, [[probe for probe in probes if not PROBES[probe].alone]])]


@contextlib.contextmanager
def report_time(what: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    say(f"{what}: {time.monotonic() - start:.1f} s")


def run_supervisor(python: str, name: str, probes: list[str]) -> dict[str, Facts]:
    command = [sys.executable, "-m", "bench.peers.supervisor", python, name, *probes]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE)
    if done.returncode:  # a failure in one cell must not fail the whole run
        return {probe: {"raised": f"the supervisor ended with {done.returncode}"} for probe in probes}
    facts: dict[str, Facts] = json.loads(done.stdout)
    return facts


def page(findings: list[Findings], took: float, load: float) -> str:
    tables = "\n\n".join(f"## {title}\n\n{table(columns, findings)}" for title, columns in TABLES.items())
    notes = "\n\n".join(note(found) for found in findings)
    ours = ", commit ".join(filter(None, (nacre.__version__, commit())))
    return f"""# Peers, side by side

`make peers`, {datetime.now(UTC):%Y-%m-%d}, on {machine()}; it took {took / 60:.1f} minutes. The shell tools people
would use instead of nacre (here {ours}), each in an environment of its own, behind one small
[adapter](peers/adapters) that calls what an agent of theirs calls, all with the same [probes](peers/probes.py).
No containers: the local variant of each.
Figures are of one run on one machine, whose load was {load:.1f} when it began. `subprocess` is no peer, but what the
others can be compared with.

nacre has two rows. `nacre` is `Bash.run`, what a program calls: a command that is late is ended. `nacre-call` is
`Bash.call`, what a model calls: a command that is late goes on as a task, even when the host has ended.

How it was counted: processes by a mark in their arguments, a second after the answer (a cancel has five); memory is
that of the host's process and all of its children together, at rest and how much it grew; the host's stdin is a pipe
that stays open, with two lines in it; each was imported once before its import was timed; a probe that hangs is ended
after {PROBES["tree"].limit:g} seconds or more. What only blocks is called in a thread, as an agent that has
an event loop would: a cancel then ends the waiting, and nothing else unless the peer has a way to be told.

{tables}

## Where others are ahead

What a row of nacre's needs, by every figure above, and who needs less of it. Who left something running, took the
host's input or did not do what was asked is in no race. `nacre`, what a program calls:

{chr(10).join([*ahead(findings, "nacre"), keepers(findings)])}

`nacre-call`, what a model calls:

{chr(10).join(ahead(findings, "nacre-call"))}

## What is driven, and how

{notes}
"""


def note(found: Findings) -> str:
    missing = f"\n\nNot installed: {found.missing}" if found.missing else ""
    packages = ", ".join(f"`{package}`" for package in found.peer.packages)
    return f"### {found.peer.name}\n\n{packages}{': ' if packages else ''}{dedent(found.peer.about)}{missing}"


def with_block(text: str, block: str) -> str:
    return BLOCK.sub(lambda match: f"{match[1]}{block}\n{match[2]}", text)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
