"""Engines that are not available say so, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import Bash, ToolContext
from nacre.engines import Bubblewrap, Containers, Engine
from nacre.errors import EngineUnavailable


@pytest.mark.parametrize(
    ("engine", "remedy"),
    [(Containers("debian", program="no-podman"), "Install no-podman"), (Bubblewrap("no-bwrap"), "Install it")],
    ids=["containers", "bubblewrap"],
)
async def test_missing_engine_program_is_reported_with_a_remedy(tmp_path: Path, engine: Engine, remedy: str) -> None:
    with pytest.raises(EngineUnavailable, match=remedy):
        await Bash(engine=engine).run("true", ToolContext(working_dir=tmp_path))


async def test_podman_that_may_not_set_rlimits_is_reported_with_a_remedy(tmp_path: Path) -> None:
    strict = tmp_path / "podman"
    strict.write_text("#!/bin/sh\n[ $1 = run ] || exit 0\necho 'Error: error setting rlimit type 7' >&2; exit 126\n")
    strict.chmod(0o755)
    with pytest.raises(EngineUnavailable, match=r"rlimit type 7[.] It may not set .* default_ulimits = "):
        await Bash(engine=Containers("debian", program=str(strict))).run("true", ToolContext(working_dir=tmp_path))


async def test_error_of_a_broken_podman_is_passed_on(tmp_path: Path) -> None:
    broken = tmp_path / "podman"
    broken.write_text("#!/bin/sh\necho 'Error: no daemon today' >&2; exit 125\n")
    broken.chmod(0o755)
    with pytest.raises(EngineUnavailable, match="no daemon today"):
        await Bash(engine=Containers("debian", program=str(broken))).run("true", ToolContext(working_dir=tmp_path))
