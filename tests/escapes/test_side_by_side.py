"""Many runs of every kind in one host: none affects another or the host, and nothing is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre import ToolContext
from nacre.types import Access
from tests.escapes.inside import needs_landlock
from tests.support.hosts import run_host
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]

PROGRAM = """
    import asyncio, contextlib, json, os, sys, tempfile
    from nacre import Bash, ToolContext
    from tests.support.census import cost, status
    from tests.support.waiting import until, until_steady

    FIELDS = "NoNewPrivs Seccomp CapInh CapPrm CapEff CapBnd CapAmb Cpus_allowed".split()
    bash = Bash()
    # not line by line: `read` seeks back after each, and the kernel writes it anew, with other numbers in it
    text = "mapfile -t lines </proc/self/status; "
    text += "for each in ${lines[@]/#NoNewPrivs:/found }; do [[ $last = found ]] && echo $each; last=$each; done; "
    text += ": >/dev/null; "
    empty = 'shopt -s nullglob dotglob; found=("$TMPDIR"/*); echo ${#found[@]}; : >"$TMPDIR/mine"'
    contexts = {
        "restricted": ToolContext(access="restricted"),
        "strict": ToolContext(access="restricted", strict=True),
        "unrestricted": ToolContext(),
    }

    def powers(pid):
        found = []
        for tid in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a throw-away one, gone meanwhile
                seen = status(f"{pid}/task/{tid}")
                found.append([seen[field] for field in FIELDS])
        return found

    def state():
        here = os.getpid()
        namespaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("mnt", "net", "user", "pid")]
        left = sorted(name for place, names, _ in os.walk(tempfile.gettempdir()) for name in names if "tmp-" in name)
        return [powers(here), powers(keeper), vars(cost(here)), vars(cost(keeper)), namespaces, len(left)]

    async def one(kind):
        result = await bash.run(text + (empty if kind == "restricted" else ""), contexts[kind])
        return kind, result.stdout.split(), result.summary, result.stderr

    async def main():
        global keeper
        for kind in contexts:
            await one(kind)
        keeper = int((await bash.run("echo $PPID", contexts["restricted"])).stdout)
        before = await until_steady(state, looks=10)
        found = []
        for _ in range(50):
            found += [await one(kind) for kind in contexts]
            found += await asyncio.gather(*(one(kind) for kind in contexts))
        await bash.run("echo $PPID", contexts["restricted"])
        now = None
        def settled():
            nonlocal now
            now = state()
            return now == before
        try:
            await until(settled, "what was before")
        finally:
            print(json.dumps([before, now, sorted({str(each) for each in found}), len(found)]))

    asyncio.run(main())
"""


def test_three_hundred_runs_leave_the_host_as_it_was(tmp_path: Path) -> None:
    before, after, found, count = json.loads(run_host(PROGRAM, env={"TMPDIR": str(tmp_path)}))
    assert after == before
    assert count == 300
    assert found == [
        "('restricted', ['1', '0'], 'exit 0', '')",
        "('strict', ['1'], 'exit 0', '')",
        "('unrestricted', ['0'], 'exit 0', '')",
    ]
    wait_until(lambda: not list(tmp_path.iterdir()), "its keeper, which goes after it, to remove what is private")


async def test_consecutive_runs_keep_their_own_access_mode() -> None:
    text = 'grep -o "NoNewPrivs:.*" /proc/self/status; case "${TMPDIR-}" in */tmp-*) echo own;; esac'
    kinds: list[tuple[Access, bool]] = [("restricted", False), ("unrestricted", False), ("restricted", True)]
    pairs = [(first, second) for first in kinds for second in kinds]
    said = []
    for pair in pairs:
        for access, strict in pair:
            result = await UNCHECKED.run(text, ToolContext(access=access, strict=strict))
            said.append((access, strict, result.stdout.split()[1:]))
    expected = {("restricted", False): ["1", "own"], ("unrestricted", False): ["0"], ("restricted", True): ["1"]}
    assert said == [(*kind, expected[kind]) for pair in pairs for kind in pair]
