"""The directory for temporary files: the one that `tempfile` would choose, found without leaving a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from nacre.base.temp_dir import temporary_directory
from tests.support.hosts import run_host
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)


def test_host_makes_no_probe_file_in_tmpdir(tmp_path: Path) -> None:
    """SIGKILL hits just before a file there would be removed."""
    program = """
        import os, signal, sys, nacre

        def kill_before_removal(event, arguments):
            if event == "os.remove" and os.fsdecode(arguments[0]).startswith(os.environ["TMPDIR"]):
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill_before_removal)
        print(nacre.run_sync("yes | head -c 3000000").spill is not None)  # kept in the private directory
    """
    assert run_host(program, env={"TMPDIR": str(tmp_path)}) == "True\n"
    wait_until(lambda: not os.listdir(tmp_path), "its keeper to remove the private directory")


def test_temporary_directory_equals_tempfile_gettempdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert temporary_directory() == tempfile.gettempdir()
    for name in ("TMP", "TEMP", "TMPDIR"):  # the later ones have precedence
        place = tmp_path / name
        place.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setenv(name, str(place))
        assert temporary_directory() == tempfile.gettempdir() == str(place)


def test_tempfile_tempdir_set_by_the_program_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "not this"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert temporary_directory() == str(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", os.fsencode(tmp_path))
    assert temporary_directory() == str(tmp_path)


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_path_that_is_not_a_directory_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    usual = temporary_directory()
    (tmp_path / "file").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path / kind))
    assert temporary_directory() == usual


def test_relative_tmpdir_becomes_absolute(tmp_path: Path) -> None:
    program = "from nacre.base.temp_dir import temporary_directory; print(temporary_directory())"
    (tmp_path / "here").mkdir()
    assert run_host(program, env={"TMPDIR": "here"}, cwd=tmp_path) == f"{tmp_path}/here\n"


@pytest.mark.linux
def test_unwritable_directory_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even root can write to procfs."""
    usual = temporary_directory()
    monkeypatch.setenv("TMPDIR", "/proc/self")
    assert temporary_directory() == usual
