"""The bash scripts of the engines, run directly."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nacre.engines.guest.scripts import keepalive_script
from nacre.keeper.protocol.bootstrap import bootstrap_script
from tests.support.lifeline import Lifeline
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S


@pytest.fixture
def life(tmp_path: Path) -> Lifeline:
    return Lifeline(tmp_path / "life")


@pytest.mark.parametrize("hangs", ["run", "rm", "run|rm"])
def test_keepalive_script_exits_though_the_engine_hangs(tmp_path: Path, life: Lifeline, hangs: str) -> None:
    program, letters = tmp_path / "podman", tmp_path / "letters"
    ways = f"{hangs}) exec sleep 300 ;; run) read -r _; exit 3 ;; rm) echo rm >>{quote(tmp_path)}/asked ;;"
    program.write_text(f"#!/bin/bash\n{life.hold} case $1 in {ways} esac\n")
    program.chmod(0o755)
    letters.mkdir()
    text = keepalive_script([str(program), "run"], remove=f"{program} rm", letters=str(letters), patience=0.2)
    with subprocess.Popen(["bash", "-c", text], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as shell:
        life.wait_held()
        _, said = shell.communicate(timeout=HANG_TIMEOUT_S)  # no process holds it any more
    assert (shell.returncode, said) == (137 if "run" in hangs else 3, b"")
    assert not letters.exists()
    assert "rm" in hangs or (tmp_path / "asked").read_text() == "rm\nrm\n"
    life.wait_over()
    life.close()


def test_shell_exits_though_its_status_pipe_has_no_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    (tmp_path / "text").write_text("echo done; exit 3")
    (tmp_path / "gate").write_text("go\n")
    text = bootstrap_script(long=True, session=False, report_pipestatus=False, startup=False, files=None, mark="told")
    command = ["bash", "-c", 'exec bash -c "$1" 8<text 9<gate', "bash", text]
    shell = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=HANG_TIMEOUT_S, check=False)
    assert (shell.returncode, shell.stdout) == (3, b"done\n")
