"""Allowed start directories: `..` and links do not lead out of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre import ToolContext
from nacre.compat.tachikoma import BashOptions, PathNotAllowed, PrimitiveContext, Validation, bash
from tests.support.quoting import quote


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the parent of `inside`, which has a directory and links in it, and of `outside`."""
    root = tmp_path.resolve()
    (root / "inside" / "deep").mkdir(parents=True)
    (root / "inside-too").mkdir()
    (root / "outside" / "far").mkdir(parents=True)
    (root / "inside" / "out").symlink_to(root / "outside")
    (root / "inside" / "far").symlink_to(root / "outside" / "far")
    (root / "inside" / "back").symlink_to(root / "inside" / "deep")
    return root


@pytest.mark.req("K-03")
def test_path_is_resolved_against_the_working_directory(place: Path) -> None:
    ctx = PrimitiveContext(place / "inside")
    assert ctx.resolve_path("deep") == place / "inside" / "deep"
    assert ctx.resolve_path("./deep/../x") == place / "inside" / "x"
    assert ctx.resolve_path("../outside") == place / "outside"
    assert ctx.resolve_path(place / "outside") == place / "outside"
    assert ctx.resolve_path("") == place / "inside"


def test_relative_context_paths_are_resolved_from_the_current_directory(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.chdir(place)
    ctx = PrimitiveContext(".", allowed_paths=["inside"])
    assert (ctx.working_dir, ctx.allowed_paths) == (place, (place / "inside",))


@pytest.mark.req("K-03")
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("", True),
        (".", True),
        ("deep", True),
        ("deep/..", True),
        ("back", True),
        ("not/there/yet", True),
        ("..", False),
        ("../inside-too", False),
        ("deep/../../outside", False),
        ("out", False),
        ("out/far", False),
        ("far", False),
        ("out/..", False),
        ("far/../..", False),
        ("far/../../inside", True),
        ("/", False),
        ("a\0b", False),
    ],
)
def test_path_is_allowed_only_if_every_reading_of_it_is_allowed(path: str, allowed: bool, place: Path) -> None:
    ctx = PrimitiveContext(place / "inside", allowed_paths=[place / "inside"])
    assert ctx.is_path_allowed(path) is allowed


def test_every_path_is_allowed_without_allowed_paths(place: Path) -> None:
    assert PrimitiveContext(place).is_path_allowed("/")


def test_allowed_paths_may_be_a_single_string(place: Path) -> None:
    ctx = PrimitiveContext(place, allowed_paths=str(place))
    assert ctx.allowed_paths == (place,)


def test_allowed_symlink_allows_its_target(place: Path) -> None:
    ctx = PrimitiveContext(place / "inside", allowed_paths=["out"])
    assert ctx.is_path_allowed(place / "outside" / "far")
    assert not ctx.is_path_allowed("deep")


@pytest.mark.req("K-03")
@pytest.mark.parametrize("directory", ["..", "../outside", "out", "/", "../nowhere"])
async def test_working_directory_outside_is_refused_and_nothing_runs(directory: str, place: Path) -> None:
    ctx = PrimitiveContext(place / "inside", allowed_paths=[place / "inside"])
    with pytest.raises(PathNotAllowed) as refused:
        await bash(ctx, f"touch {quote(place)}/ran", BashOptions().working_dir(directory))
    assert refused.value.path == ctx.resolve_path(directory)
    assert str(refused.value) == f"Path not allowed: {ctx.resolve_path(directory)}"
    assert not (place / "ran").exists()


@pytest.mark.req("K-03")
@pytest.mark.parametrize(
    ("directory", "named"), [("far/..", "outside"), ("out/..", "."), ("deep/../far/..", "outside")]
)
async def test_path_not_allowed_error_names_the_physical_path(directory: str, named: str, place: Path) -> None:
    ctx = PrimitiveContext(place / "inside", allowed_paths=[place / "inside"])
    with pytest.raises(PathNotAllowed) as refused:
        await bash(ctx, "pwd", BashOptions().working_dir(directory))
    assert refused.value.path == place / named


@pytest.mark.req("K-03")
@pytest.mark.parametrize("directory", [".", "deep", "back", "deep/../deep"])
async def test_working_directory_inside_is_entered(directory: str, place: Path) -> None:
    ctx = PrimitiveContext(place / "inside", allowed_paths=[place / "inside"])
    result = await bash(ctx, "pwd -P", BashOptions().working_dir(directory))
    assert result.stdout == os.path.realpath(place / "inside" / directory) + "\n"


@pytest.mark.req("K-03")
async def test_working_directory_of_the_context_must_be_allowed(place: Path) -> None:
    ctx = PrimitiveContext(place / "outside", allowed_paths=[place / "inside"])
    with pytest.raises(PathNotAllowed):
        await bash(ctx, "pwd")
    assert (await bash(ctx, "pwd", BashOptions().working_dir(place / "inside"))).stdout == f"{place}/inside\n"


async def test_allowed_paths_may_be_several_directories(place: Path) -> None:
    ctx = PrimitiveContext(place / "inside", allowed_paths=[place / "inside", "../outside"])
    assert (await bash(ctx, "pwd -P", BashOptions().working_dir("out"))).stdout == f"{place}/outside\n"


async def test_allowed_paths_of_the_base_context_apply_too(place: Path) -> None:
    ctx = PrimitiveContext(place, base=ToolContext(allowed_paths=(place / "inside",)))
    with pytest.raises(PathNotAllowed):
        await bash(ctx, "pwd")


@pytest.mark.req("K-03", "K-04")
async def test_blocked_command_is_reported_before_a_bad_directory(place: Path) -> None:
    ctx = PrimitiveContext(place / "outside", allowed_paths=[place / "inside"])
    with pytest.raises(Validation, match="blocked pattern: mkfs"):
        await bash(ctx, "mkfs nothing")
    gone = PrimitiveContext(place / "gone")
    with pytest.raises(Validation, match="blocked pattern: mkfs"):
        await bash(gone, "mkfs nothing")
