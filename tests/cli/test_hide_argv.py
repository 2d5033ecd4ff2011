"""The command's text is in no process's argument list."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import pytest

from tests.cli.nacre_program import Done, Nacre, finish
from tests.support.lifeline import Gate, Lifeline

pytestmark = pytest.mark.linux


@pytest.mark.skipif(shutil.which("pkill") is None, reason="needs pkill")
def test_pkill_f_with_a_word_of_the_command_does_not_kill_the_command(nacre: Nacre) -> None:
    word = f"word{secrets.token_hex(8)}"
    options = ("--description", word, "--env", f"NOTE={word}", "--stdin", word)
    assert nacre("run", *options, f"pkill -f {word}; echo alive; cat") == Done(0, f"alive\n{word}".encode())


def test_nacre_keeps_its_own_name_in_its_argument_list(nacre: Nacre, life: Lifeline, gate: Gate) -> None:
    word = secrets.token_hex(8)
    with nacre.start("run", f"{life.hold} {gate.wait}; echo {word}") as program:
        life.wait_held()
        line = Path(f"/proc/{program.pid}/cmdline").read_bytes()
        assert line.rstrip(b"\0").endswith(b"-m\0nacre\0run")
        gate.open()
        assert finish(program) == Done(0, f"{word}\n".encode())
