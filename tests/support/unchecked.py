"""A tool that runs what the checker would stop, for tests in which its fate is the point."""

from __future__ import annotations

from dataclasses import replace

from nacre import Bash
from nacre.policy.policy import EVERYTHING
from nacre.profiles import DEFAULT

UNCHECKED = Bash(replace(DEFAULT, policy=EVERYTHING))
