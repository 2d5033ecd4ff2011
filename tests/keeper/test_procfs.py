"""Process states from procfs."""

from __future__ import annotations

import os
import subprocess

import pytest

from nacre.keeper.protocol.procfs import is_exiting

pytestmark = pytest.mark.linux


def test_killed_process_is_exiting_before_and_after_it_is_reaped() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert not is_exiting(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_exiting(process.pid)
    assert is_exiting(process.pid)
