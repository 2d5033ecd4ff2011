"""Attempts to read a hidden file through another hard link, made before the run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre.errors import AccessUnavailable
from nacre.result import Exited
from nacre.sandbox import hard_links
from nacre.sandbox.hard_links import OtherNames, find_other_names
from tests.support.confined import HERE, confined, run
from tests.support.hosts import run_host
from tests.support.mounts import in_own_mounts

pytestmark = [pytest.mark.req("P-008"), *confined]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    (place / "deep" / "deeper").mkdir(parents=True)
    (place / ".env").write_text("s3cret")
    return place


@pytest.mark.parametrize("access", ["restricted", "workspace"])
@pytest.mark.parametrize("alias", ["place/alias", "place/deep/deeper/alias", "outside/alias"])
async def test_hidden_file_is_not_readable_through_a_hard_link(place: Path, alias: str, access: str) -> None:
    other = place.parent / alias
    other.parent.mkdir(exist_ok=True)
    other.hardlink_to(place / ".env")
    command = f"cat .env ../{alias}; true"
    if "outside" in alias or (access == "workspace" and not HERE.mounts):
        with pytest.raises(AccessUnavailable):
            await run(command, place, access=access, hidden=(".env",))
        return
    result = await run(command, place, access=access, hidden=(".env",))
    assert "s3cret" not in result.output
    assert (result.outcome, "hidden" in result.enforced) == (Exited(0), True)


async def test_hard_link_outside_the_search_is_refused_and_names_the_file(place: Path) -> None:
    (place.parent / "outside").mkdir()
    (place.parent / "outside" / "alias").hardlink_to(place / ".env")
    with pytest.raises(AccessUnavailable, match="hard link") as caught:
        await run("true", place, access="restricted", hidden=(".env",))
    assert (caught.value.code, caught.value.field) == ("hidden_has_other_names", "hidden")
    assert repr(str(place / ".env")) in caught.value.message
    assert "-samefile" in caught.value.hint
    both = (".env", "../outside/alias")
    assert "hidden" in (await run("true", place, access="restricted", hidden=both)).enforced
    less = await run("cat ../outside/alias", place, access="restricted", hidden=(".env",), allow_partial=True)
    assert ("hidden" in less.enforced, less.stdout) == (False, "s3cret")


def test_hard_link_under_two_mounts_is_counted_once(place: Path) -> None:
    """Otherwise the second path of one link would count as the missing link."""
    (place / "twice").mkdir()
    (place.parent / "outside").mkdir()
    (place.parent / "outside" / "alias").hardlink_to(place / ".env")
    host = """
        import sys
        from nacre.sandbox.hard_links import find_other_names
        print(find_other_names([sys.argv[1] + "/.env"], [sys.argv[1]]).exposed == (sys.argv[1] + "/.env",))
    """
    through = in_own_mounts('mount --bind "$1" "$1/twice"', place)
    assert run_host(host, place, through=through).strip() == "True"


def test_file_with_one_hard_link_needs_no_search(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard_links, "_entries", None)
    assert find_other_names([str(place / ".env"), str(place / "deep")], [str(place)]) == OtherNames((), ())


def test_hard_link_search_is_bounded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alias = place / "deep" / "deeper" / "alias"
    os.link(place / ".env", alias)
    hidden = str(place / ".env")
    assert find_other_names([hidden], [str(place)]) == OtherNames((str(alias),), ())
    monkeypatch.setattr(hard_links, "_MAX_DIRECTORIES", 2)
    assert find_other_names([hidden], [str(place)]) == OtherNames((), (hidden,))
