"""Attempts to remove all of a mounted file system. The checker reads the commands; nothing runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.hosts import run_host
from tests.support.mounts import in_own_mounts

pytestmark = [pytest.mark.linux]

NAMES = ("plain", "with blank", "with\ttab", "two\nlines", "back\\slash", "\\040", "ä")

CHECKS = """
    import json, shlex, sys
    from nacre import check

    verdicts = [check(f"rm -rf {shlex.quote(path)}", cwd="/") for path in sys.argv[1:]]
    print(json.dumps([[str(verdict.decision), [each.rule for each in verdict.findings]] for verdict in verdicts]))
"""


def test_removal_of_a_mount_point_is_refused_whatever_its_name(tmp_path: Path) -> None:
    points = [tmp_path / name for name in NAMES]
    beside = tmp_path / "with blank too"
    for path in (*points, beside):
        path.mkdir()
    mounts = "; ".join(f'mount -t tmpfs none "${number}"' for number in range(1, len(points) + 1))
    told = json.loads(run_host(CHECKS, *points, beside, through=in_own_mounts(mounts, *points)))
    assert told == [["refuse", ["rm-precious"]]] * len(points) + [["allow", []]]
