"""The home directory, also of a user without HOME and account: containers run as whichever UID they are told."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from nacre.base.system import home_directory, state_directory
from nacre.config import load


@pytest.fixture
def nobody_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_account(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", no_account)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_home_is_that_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/of/somebody")
    assert home_directory() == "/home/of/somebody"


def test_home_is_that_of_the_account_without_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    assert home_directory() == pwd.getpwuid(os.getuid()).pw_dir


@pytest.mark.usefixtures("nobody_at_home")
def test_home_is_the_root_without_variable_and_account() -> None:
    assert home_directory() == "/"


@pytest.mark.parametrize("home", ["", "relative/home", "~"])
@pytest.mark.usefixtures("nobody_at_home")
def test_home_is_absolute_whatever_the_variable_says(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    assert home_directory() == "/"


@pytest.mark.usefixtures("nobody_at_home")
def test_a_project_cannot_pose_as_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "~" / ".config" / "nacre" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("timeout = 7\n")
    (tmp_path / ".git").mkdir()  # the project ends here
    monkeypatch.chdir(tmp_path)
    assert load(tmp_path, env={}).get("timeout") is None


@pytest.mark.usefixtures("nobody_at_home")
def test_state_is_not_kept_in_the_current_directory() -> None:
    assert os.path.isabs(state_directory())
