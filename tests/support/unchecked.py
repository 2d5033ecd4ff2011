"""A Bash without a checker, for commands that the checker would refuse."""

from __future__ import annotations

from dataclasses import replace

from nacre import Bash
from nacre.policy.policy import EVERYTHING
from nacre.profiles import DEFAULT

UNCHECKED = Bash(replace(DEFAULT, policy=EVERYTHING))
