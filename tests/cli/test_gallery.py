"""`nacre gallery`: every view on sample results."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.views.gallery.scenes import SCENES
from tests.cli.nacre_program import Done, Nacre

ROOT = Path(__file__).parents[2]


@pytest.mark.req("M-10")
def test_gallery_draws_every_scene(nacre: Nacre) -> None:
    done = nacre("gallery", "--width", "80", env={"LC_ALL": "C.UTF-8"})
    assert (done.code, done.err) == (0, b"")
    for scene in SCENES:
        assert f"{scene.name}: {scene.about}\n" in done.out.decode()


def test_gallery_draws_one_scene_by_name(nacre: Nacre) -> None:
    done = nacre("gallery", "nothing", "--width", "60", env={"LC_ALL": "C"})
    assert done.code == 0
    assert b"-- $ true ---" in done.out
    assert b"blocked" not in done.out


def test_gallery_lists_names_and_suggests_one_for_a_typo(nacre: Nacre) -> None:
    assert b"\nfailed " in nacre("gallery", "--list").out
    assert nacre("gallery", "faild") == Done(125, b"", b"nacre: Unknown view 'faild'. Did you mean: failed\n")


@pytest.mark.req("M-10")
def test_gallery_pictures_in_docs_match_the_export(nacre: Nacre, tmp_path: Path) -> None:
    done = nacre("gallery", "--export", str(tmp_path / "new"))
    assert (done.code, done.err) == (0, b"")
    kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/gallery").iterdir()}
    assert {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "new").iterdir()} == kept


@pytest.mark.req("M-10")
def test_gallery_page_shows_every_picture() -> None:
    page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    for scene in SCENES:
        assert f"gallery/{scene.name}-dark.svg" in page
        assert f"gallery/{scene.name}-light.svg" in page
        assert scene.about in page


def test_gallery_reports_an_export_directory_that_cannot_be_created(nacre: Nacre) -> None:
    done = nacre("gallery", "nothing", "--export", "/dev/null/x")
    assert (done.code, done.err) == (125, b"nacre: /dev/null/x: Not a directory.\n")
