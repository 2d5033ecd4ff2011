"""Files that `nacre run` saves truncated output to."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from tests.cli.nacre_program import Nacre
from tests.cli.terminal import run_in_terminal, strip_styles

LONG = "seq 1 5000"
PRINTED = "".join(f"{number}\n" for number in range(1, 5001)).encode()


def _saved_file(said: str) -> Path:
    """Return the file that a view names."""
    found = re.search(r"'(/[^']+/bash-[0-9a-f]{8}\.log)'|(\S+/bash-[0-9a-f]{8}\.log)", strip_styles(said))
    assert found is not None, said
    return Path(found[1] or found[2])


@pytest.mark.parametrize("view", ["panel", "model"])
def test_truncated_output_is_saved_to_a_private_file_that_is_named(nacre: Nacre, view: str) -> None:
    file = _saved_file(run_in_terminal(nacre, "run", "--view", view, LONG)[1])
    assert file.parent == nacre.state / "nacre" / "outputs"
    assert file.read_bytes() == PRINTED
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("view", ["panel", "model"])
def test_output_dir_holds_the_saved_output(nacre: Nacre, view: str) -> None:
    (nacre.home / "here").mkdir()
    for place in ("here", str(nacre.home / "new")):
        file = _saved_file(run_in_terminal(nacre, "run", "--view", view, "--output-dir", place, LONG)[1])
        assert file.parent == nacre.home / place
        assert file.read_bytes() == PRINTED
    assert not (nacre.state / "nacre" / "outputs").exists()


@pytest.mark.parametrize("view", ["panel", "model"])
def test_saved_output_includes_bytes_beyond_the_memory_limit(nacre: Nacre, view: str) -> None:
    file = _saved_file(run_in_terminal(nacre, "run", "--view", view, "seq 1 400000")[1])
    assert file.stat().st_size == 2_688_895


@pytest.mark.parametrize("words", [("--plain",), ("--json",), ("--view", "stream")])
def test_untruncated_views_save_no_output_file(nacre: Nacre, words: tuple[str, ...]) -> None:
    run_in_terminal(nacre, "run", *words, "seq 1 400000")
    nacre("run", *words, "seq 1 400000")
    nacre("run", "seq 1 400000")
    run_in_terminal(nacre, "run", "--view", "panel", "seq 1 50")
    assert not (nacre.state / "nacre" / "outputs").exists()


def test_saved_outputs_are_deleted_after_a_week_and_other_files_stay(nacre: Nacre) -> None:
    place = nacre.state / "nacre" / "outputs"
    place.mkdir(parents=True)
    names = ("bash-00000001.log", "bash-00000002.log", "notes.txt")
    for name, days in zip(names, (8, 6, 8), strict=True):
        (place / name).write_text("x")
        os.utime(place / name, (time.time() - days * 86400,) * 2)
    new = _saved_file(run_in_terminal(nacre, "run", LONG)[1])
    assert {path.name for path in place.iterdir()} == {*names[1:], new.name}


def test_saved_outputs_beyond_200_are_deleted_oldest_first(nacre: Nacre) -> None:
    place = nacre.state / "nacre" / "outputs"
    place.mkdir(parents=True)
    for number in range(200):
        (place / f"bash-{number:08x}.log").write_text("x")
        os.utime(place / f"bash-{number:08x}.log", (time.time() - 1000 + number,) * 2)
    new = _saved_file(run_in_terminal(nacre, "run", LONG)[1])
    left = {path.name for path in place.iterdir()}
    assert len(left) == 200
    assert {"bash-00000000.log", new.name} & left == {new.name}
