"""`make demo` runs to its end and shows what it says."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from tests.cli.nacre_program import NACRE, Nacre
from tests.support.waiting import HANG_TIMEOUT_S

DEMO = Path(__file__).parents[2] / "examples" / "demo.sh"


def test_demo_script_exits_with_0_and_shows_the_expected_output(nacre: Nacre, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "nacre"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(NACRE)} "$@"\n')
    program.chmod(0o755)
    env = {**nacre.env, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", DEMO], env=env, capture_output=True, text=True, timeout=3 * HANG_TIMEOUT_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert "blue in project\n" in done.stdout
    assert "nacre: 1 process left running and killed: " in done.stdout
