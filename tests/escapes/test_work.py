"""Ordinary work that must succeed in the sandbox: reading, pipes, and programs that need a temporary file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from nacre.result import Exited
from tests.escapes.inside import needs_landlock, python, run_restricted
from tests.support.quoting import quote

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]

EVERYWHERE = {
    "reading": ("cat /etc/passwd | head -n 1 | wc -l", "1\n"),
    "listing": ("ls -la ~ >/dev/null && echo listed", "listed\n"),
    "pipes": ("seq 100000 | grep 7 | tail -n 1", "99997\n"),
    "to-null": ("echo x >/dev/null; echo y 2>/dev/null >>/dev/null; : <>/dev/null; echo done", "done\n"),
    "devices": ("head -c 4 /dev/zero >/dev/full; head -c 4 /dev/urandom | wc -c", "4\n"),
    "own-streams": ("echo a >/dev/stdout; echo b >/dev/fd/1; echo c | tee /dev/stderr 2>/dev/null", "a\nb\nc\n"),
    "here-document": ("cat <<END\na $((1 + 1))\nEND", "a 2\n"),
    "here-string": ("cat <<<text", "text\n"),
    "here-document-of-60-kb": ("wc -c <<END\n" + "x" * 60_000 + "\nEND", "60001\n"),
    "process-substitution": ("diff <(seq 3) <(seq 4); cat <(echo a) <(echo b)", "3a4\n> 4\na\nb\n"),
    "output-substitution": ("echo x > >(cat); wait $!", "x\n"),
    "subshells": ("(cd /; pwd); $(echo echo) $(pwd | wc -l)", "/\n1\n"),
    "background": ("sleep 0.01 & wait $! && echo waited", "waited\n"),
    "coprocess": ("coproc cat; echo x >&${COPROC[1]}; read -r line <&${COPROC[0]}; echo $line; kill $!", "x\n"),
    "python": (f"{quote(sys.executable)} -c 'print(sum(range(10)))'", "45\n"),
    "python-subprocess": (
        python("import subprocess; print(subprocess.check_output(['echo', 'x'], text=True), end='')"),
        "x\n",
    ),
    "memory-file": (
        python("file = os.memfd_create('x'); os.write(file, b'x'); print(os.fstat(file).st_size)"),
        "1\n",
    ),
    "shared-memory-of-its-own": (
        python("import mmap; m = mmap.mmap(-1, 9); os.fork() or (m.write(b'x'), os._exit(0)); os.wait(); print(m[:1])"),
        "b'x'\n",
    ),
    "find": ("find /etc -maxdepth 1 -name passwd -exec echo {} +", "/etc/passwd\n"),
    "file-flags-read": ("lsattr -d / >/dev/null 2>&1; echo done", "done\n"),
    "terminal-questions": ("[ -t 0 ] || stty size 2>/dev/null; test -t 1; echo $?", "1\n"),
}


@pytest.mark.parametrize("strict", [False, True], ids=["scratch", "strict"])
@pytest.mark.parametrize(("command", "said"), EVERYWHERE.values(), ids=EVERYWHERE)
async def test_ordinary_commands_work_in_restricted_mode(command: str, said: str, strict: bool) -> None:
    result = await run_restricted(command, strict=strict)
    assert (result.stdout, result.outcome) in ((said, Exited(0)), (said, Exited(143))), result.output


WITH_SCRATCH = {
    "here-document-of-10-mb": ("wc -c <<END\n" + "0123456789abcdef" * 655_360 + "\nEND", "10485761\n"),
    "sort": ("seq 300000 | shuf --random-source=/dev/zero | sort -n -S 1M | tail -n 1", "300000\n"),
    "temporary-file": ('f=$(mktemp) && echo x >"$f" && cat "$f" && rm "$f"; ls -A "$TMPDIR"', "x\n"),
    "temporary-directory": (
        'd=$(mktemp -d) && mkdir "$d/e" && mv "$d/e" "$d/f" && ln -s f "$d/g" && ls "$d"',
        "f\ng\n",
    ),
    "python-tempfile": (
        python("import tempfile; f = tempfile.TemporaryFile(); f.write(b'x'); print(f.tell())"),
        "1\n",
    ),
    "fifo": ('mkfifo "$TMPDIR/p"; echo x >"$TMPDIR/p" & cat "$TMPDIR/p"', "x\n"),
}


@pytest.mark.parametrize(("command", "said"), WITH_SCRATCH.values(), ids=WITH_SCRATCH)
async def test_commands_that_need_temporary_files_work(command: str, said: str) -> None:
    result = await run_restricted(command)
    assert (result.output, result.outcome) == (said, Exited(0))


async def test_strict_run_has_no_writable_place(tmp_path: Path) -> None:
    result = await run_restricted('mktemp; mktemp -d; : >"${TMPDIR:-/tmp}/x"; echo ${TMPDIR-none}', strict=True)
    assert result.stdout == f"{os.environ.get('TMPDIR', 'none')}\n"
    large = await run_restricted("wc -c <<END\n" + "x" * 1_000_000 + "\nEND", strict=True)
    assert (large.ok, large.stdout) == (False, "")
