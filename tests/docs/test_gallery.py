"""The gallery: every view on recorded results, and its pictures in the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.gallery.__main__ import main
from scripts.gallery.scenes import SCENES

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_CTYPE", "LANG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.mark.req("M-10")
def test_gallery_draws_every_scene(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--width", "80"]) == 0
    text, err = capfd.readouterr()
    assert err == ""
    for scene in SCENES:
        assert f"{scene.name}: {scene.about}\n" in text


def test_gallery_draws_one_scene_by_name(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    assert main(["nothing", "--width", "60"]) == 0
    text, _ = capfd.readouterr()
    assert "-- $ true ---" in text
    assert "blocked" not in text


def test_gallery_names_the_views_for_an_unknown_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["faild"])
    assert "unknown view 'faild'; there are: ok, failed, live" in capsys.readouterr().err


@pytest.mark.req("M-10")
def test_gallery_pictures_in_docs_match_the_export(tmp_path: Path) -> None:
    assert main(["--export", str(tmp_path / "new")]) == 0
    kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/gallery").iterdir()}
    assert {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "new").iterdir()} == kept


@pytest.mark.req("M-10")
def test_gallery_page_shows_every_picture() -> None:
    page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    for scene in SCENES:
        assert f"gallery/{scene.name}-dark.svg" in page
        assert f"gallery/{scene.name}-light.svg" in page
        assert scene.about in page
