"""Processes that hide arguments and variables from /proc. Each is a separate one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.waiting import HANG_TIMEOUT_S

SHOW = """
import os, sys
from nacre.base.hide_from_proc import conceal_arguments, conceal_variable

conceal_arguments(2)
conceal_variable("TOKEN")
assert os.environ["TOKEN"] == "s3cret=s3cret"
for name in ("cmdline", "environ"):
    with open(f"/proc/self/{name}", "rb") as file:
        sys.stdout.buffer.write(file.read() + b"\\n")
"""


@pytest.mark.linux
def test_hidden_arguments_and_variables_are_not_in_proc() -> None:
    environment = {"A": "TOKEN=", "TOKEN": "s3cret=s3cret", "TOKENS": "shown"}
    done = subprocess.run(
        [sys.executable, "-c", SHOW, "kept", "first", "second"],
        env=environment,
        capture_output=True,
        check=True,
        timeout=HANG_TIMEOUT_S,
    )
    arguments, variables = done.stdout.split(b"\n")[-3:-1]
    assert arguments.rstrip(b"\0").endswith(b"\0kept")
    assert set(variables.removesuffix(b"\0").split(b"\0")) >= {b"A=TOKEN=", b"TOKEN=" + 13 * b"x", b"TOKENS=shown"}
