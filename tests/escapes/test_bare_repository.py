"""Bare repositories: git obeys their configuration without a `.git`, so none is left at a root."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from nacre.protected_paths.quarantine import QUARANTINED
from tests.behaviour.test_workspace_protection import is_armed, says
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


def test_the_attempt_works_where_nothing_protects(place: Path) -> None:
    subprocess.run(["bash", "-c", arm(place)], cwd=place, check=True)
    assert is_armed(place, place.parent)


async def test_no_bare_repository_is_left_at_a_root(place: Path, mounts: bool) -> None:
    result = await run(arm(place), place)
    assert says(result, f"{place}/HEAD is protected: it was made, and has been removed.")
    assert not is_armed(place, place.parent)
    left = {path.name for path in place.iterdir() if not path.name.endswith(QUARANTINED)}
    assert left == {"objects", "refs", "tree", "config"}


async def test_none_is_left_in_a_directory_of_writable(place: Path, mounts: bool) -> None:
    other = place.parent / "other"
    other.mkdir()
    await run(f"cd {shlex.quote(str(other))} && {{ {arm(place)}; }}", place, writable=(other,))
    assert not is_armed(other, place.parent)


async def test_none_is_made_around_a_file_that_was_there(place: Path, mounts: bool) -> None:
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    await run(arm(place), place)
    assert not is_armed(place, place.parent)


async def test_none_is_made_by_a_pointer_to_a_common_directory(place: Path, mounts: bool) -> None:
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    (place / "objects").mkdir()
    await run(f"{arm(place, 'other')}; echo ./other > commondir", place)
    assert not is_armed(place, place.parent)


async def test_a_bare_repository_that_was_there_keeps_its_configuration(place: Path, mounts: bool) -> None:
    (place / "objects").mkdir()
    (place / "refs" / "heads").mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    (place / "config").write_text("[core]\n\tbare = true\n")
    await run(arm(place), place)
    assert (place / "config").read_text() == "[core]\n\tbare = true\n"
    assert not is_armed(place, place.parent)


async def test_ordinary_directories_of_these_names_are_ordinary(place: Path, mounts: bool) -> None:
    (place / "config").mkdir()
    (place / "config" / "app.toml").write_text("before")
    result = await run("echo x > config/app.toml; mkdir objects refs hooks; echo x > objects/o", place)
    assert result.notes == ()
    assert (place / "config" / "app.toml").read_text() == "x\n"
    assert (place / "objects" / "o").exists()
