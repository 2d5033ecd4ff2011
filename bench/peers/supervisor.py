"""Supervise a peer: run its driver in a separate process, time it out, and kill everything that it has left running.

    python -m bench.peers.supervisor PYTHON NAME PROBE…      → one JSON object: the facts by probe

There is one such process per run, because it is a child subreaper: its descendants are the processes that the peer
started, even if they were orphaned. A probe that hangs is recorded; the probes after it get a new driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.peers.probes import HOST_LINE, PROBES, SECRET, SETTLE_S, Facts
from bench.peers.processes import count_left, descendants, peak, reset_peak, resident

ROOT = Path(__file__).parents[2]
IMPORT_TIMEOUT_S = 120.0
"""Time limit for importing a peer, in seconds."""
EXIT_TIMEOUT_S = 3.0
"""Time that its process gets to exit, in seconds."""
POLL_INTERVAL_S = 0.05
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> None:
    python, name, *probes = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # raises SystemExit, so that `_end` runs
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    facts: dict[str, Facts] = {}
    while waiting := [probe for probe in probes if probe not in facts]:
        facts |= Visit(python, name, waiting).collect_facts()
    print(json.dumps(facts))


class Visit:
    """One driver, from its start until none of its processes is left."""

    def __init__(self, python: str, name: str, probes: list[str]) -> None:
        self._directory = tempfile.mkdtemp(prefix="peers-")
        self._mark = f"300.{secrets.randbelow(10**6):06}"
        self._facts: dict[str, Facts] = {}
        self._probe, self._ahead = probes[0], set(probes)
        self._allow(IMPORT_TIMEOUT_S)
        self._common: Facts = {}
        self._before, self._own, self._most, self._samples = 0, 0, 0, False
        self._marks: dict[str, str] = {}
        self._log = open(f"{self._directory}/log", "w+b")  # noqa: SIM115 - closed in `_end`
        self._lines, tell = socket.socketpair()
        module = ("-m", "bench.peers.driver", name, *probes)
        options = ("--directory", f"{self._directory}/work", "--tell", str(tell.fileno()), "--mark", self._mark)
        os.mkdir(f"{self._directory}/work")
        self._driver = subprocess.Popen(
            [python, *module, *options],
            stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, pass_fds=[tell.fileno()],
            cwd=ROOT, env=self._environment(python), start_new_session=True,
        )  # fmt: skip
        tell.close()

    def _environment(self, python: str) -> dict[str, str]:
        home = f"{self._directory}/home"
        os.mkdir(home)
        return {
            "PATH": f"{os.path.dirname(python)}:{os.environ['PATH']}",
            "HOME": home,
            "TMUX_TMPDIR": home,  # otherwise its sockets stay in /tmp
            "LANG": "C.UTF-8",
            "OPENAI_API_KEY": SECRET,
            "DO_NOT_TRACK": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise its import makes a network request
        }

    def collect_facts(self) -> dict[str, Facts]:
        assert self._driver.stdin is not None
        self._driver.stdin.write(f"{HOST_LINE}\n{HOST_LINE}\n".encode())
        self._driver.stdin.flush()  # stdin stays open
        try:
            self._watch()
            self._leave()
        finally:
            self._end()
        return self._facts

    def _watch(self) -> None:
        rest = b""
        while self._ahead:
            over = self._driver.poll() is not None
            if select.select([self._lines], [], [], 0 if over else POLL_INTERVAL_S)[0]:
                data = self._receive()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._hear(json.loads(line))
                if data:
                    continue
            if self._samples:
                self._most = max(self._most, resident(descendants(os.getpid())))
            if over:
                if self._probe:
                    self._facts[self._probe] = {"raised": f"its process ended: {self._log_tail()}"}
                return
            if time.monotonic() > self._until:
                if self._probe:
                    self._facts[self._probe] = {"hung": self._limit, "left": self._remaining()}
                return

    def _receive(self) -> bytes:
        try:
            return self._lines.recv(65536)
        except ConnectionResetError:  # the driver was killed before it read our last reply
            return b""

    def _remaining(self) -> int:
        return count_left(self._marks[self._probe]) if self._probe in self._marks else 0

    def _finish(self) -> None:
        self._ahead.discard(self._probe)
        self._probe = ""

    def _allow(self, seconds: float) -> None:
        self._limit, self._until = seconds, time.monotonic() + seconds

    def _hear(self, told: dict[str, Any]) -> None:
        match told["kind"]:
            case "loaded":
                self._common = {"import": told["took"]}
            case "begin":
                self._probe, self._marks[told["probe"]] = told["probe"], told["mark"]
                self._allow(PROBES[self._probe].limit)
            case "done":
                self._facts[self._probe] = told["facts"] | self._common | self._facts.get(self._probe, {})
                self._finish()
            case "note":
                self._note(told["note"])
                with contextlib.suppress(BrokenPipeError):  # the driver may have been killed
                    self._lines.send(b".")

    def _note(self, note: str) -> None:
        known = self._facts.setdefault
        match note.split(" ")[0]:
            case "resting":
                self._before = self._most = resident(descendants(os.getpid()))
                self._own = resident([self._driver.pid])
                known(self._probe, {})["resting"] = self._before
                reset_peak(self._driver.pid)
                self._samples = True
            case "flooded":
                self._samples = False
                own = peak(self._driver.pid) - self._own  # exact, while the sum over all processes is sampled
                known(self._probe, {})["grew"] = max(self._most - self._before, own)
            case "told":
                known(self._probe, {})["said"] = note
            case "kill":
                self._driver.kill()
                self._driver.wait()
                self._facts[self._probe] = {"left": count_left(self._marks[self._probe], SETTLE_S)}
                self._finish()
            case "blocked":
                self._facts[self._probe] = {"left": int(note.split()[1]), "blocked": True}
                self._finish()

    def _leave(self) -> None:
        """Wait for the driver to exit, kill it otherwise, and count the processes that are left."""
        if not any("hung" in facts for facts in self._facts.values()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._driver.wait(EXIT_TIMEOUT_S)
        self._driver.kill()
        self._driver.wait()
        for probe, mark in self._marks.items():
            if PROBES[probe].alone and "hung" not in self._facts[probe]:
                self._facts[probe].setdefault("survivors", count_left(mark, SETTLE_S))

    def _end(self) -> None:
        """Kill the driver and all processes that it has started."""
        end = time.monotonic() + EXIT_TIMEOUT_S
        while (remaining := descendants(os.getpid())) and time.monotonic() < end:
            for pid in remaining:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            _reap()
            time.sleep(0.01)
        _reap()
        self._lines.close()
        self._log.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _log_tail(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else f"exit {self._driver.returncode}"


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()
