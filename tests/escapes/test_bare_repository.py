"""Bare repositories: git obeys their configuration without a `.git`, so none is left at a root."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from nacre.protected_paths.quarantine import QUARANTINED
from tests.behaviour.test_workspace_protection import has_note, is_armed
from tests.support.confined import confined, run

pytestmark = [pytest.mark.req("P-008"), *confined]


def arm(place: Path, where: str = ".") -> str:
    """Return shell text that makes a bare repository whose configuration runs a program."""
    evil = shlex.quote(f"touch {shlex.quote(str(place.parent))}/PWNED;false")
    return (
        f"mkdir -p {where}/objects {where}/refs/heads {where}/tree; echo 'ref: refs/heads/main' > {where}/HEAD;"
        f'printf "[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = %s\\n" "$PWD/{where}/tree" '
        f"> {where}/config;"
        f"git config -f {where}/config core.fsmonitor {evil}"
    )


def test_planted_bare_repository_runs_a_program_without_protection(place: Path) -> None:
    subprocess.run(["bash", "-c", arm(place)], cwd=place, check=True)
    assert is_armed(place, place.parent)


async def test_bare_repository_planted_at_a_root_is_removed(place: Path, mounts: bool) -> None:
    result = await run(arm(place), place)
    assert has_note(result, f"{place}/HEAD is protected: it was made, and has been removed.")
    assert not is_armed(place, place.parent)
    left = {path.name for path in place.iterdir() if not path.name.endswith(QUARANTINED)}
    assert left == {"objects", "refs", "tree", "config"}


async def test_bare_repository_planted_in_a_writable_directory_is_disarmed(place: Path, mounts: bool) -> None:
    other = place.parent / "other"
    other.mkdir()
    await run(f"cd {shlex.quote(str(other))} && {{ {arm(place)}; }}", place, writable=(other,))
    assert not is_armed(other, place.parent)


async def test_bare_repository_cannot_be_built_around_an_existing_head(place: Path, mounts: bool) -> None:
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    await run(arm(place), place)
    assert not is_armed(place, place.parent)


async def test_bare_repository_cannot_be_built_with_a_commondir_pointer(place: Path, mounts: bool) -> None:
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    (place / "objects").mkdir()
    await run(f"{arm(place, 'other')}; echo ./other > commondir", place)
    assert not is_armed(place, place.parent)


async def test_existing_bare_repository_keeps_its_configuration(place: Path, mounts: bool) -> None:
    (place / "objects").mkdir()
    (place / "refs" / "heads").mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    (place / "config").write_text("[core]\n\tbare = true\n")
    await run(arm(place), place)
    assert (place / "config").read_text() == "[core]\n\tbare = true\n"
    assert not is_armed(place, place.parent)


async def test_directories_named_like_repository_parts_are_ordinary(place: Path, mounts: bool) -> None:
    (place / "config").mkdir()
    (place / "config" / "app.toml").write_text("before")
    result = await run("echo x > config/app.toml; mkdir objects refs hooks; echo x > objects/o", place)
    assert result.notes == ()
    assert (place / "config" / "app.toml").read_text() == "x\n"
    assert (place / "objects" / "o").exists()
