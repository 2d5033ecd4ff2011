"""A round or a few of each fault. `make faults` plays hundreds."""

from __future__ import annotations

import pytest

from faults.catalogue import FAULTS
from faults.round import play
from nacre import Bash
from tests.support.census import need_to_see

LONG = {"processes run out", "one directory, ten programs"}
"""Faults whose rounds take seconds."""
QUICK = {"disk full", "disk read-only", "no directory for tasks", "shell killed"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in FAULTS])
async def test_each_fault_leaves_nothing_behind_and_loses_nothing(name: str) -> None:
    need_to_see(int((await Bash().run("echo $PPID")).stdout))
    for seed in range(3 if name in QUICK else 1):
        assert await play(FAULTS[name].fault, seed) == ""
