"""The distribution's metadata: entry points, scripts, extras, the pytest plugin."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.interface.snapshot import check_snapshot
from tests.support.waiting import HANG_TIMEOUT_S

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_entry_points_and_extras_match_their_snapshot() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    declared = {
        "scripts": project["scripts"],
        "entry points": project["entry-points"],
        "extras": sorted(project["optional-dependencies"]),
        "requires-python": project["requires-python"],
    }
    check_snapshot("distribution", declared)
    installed = {(each.group, each.name, each.value) for each in distribution("nacre").entry_points}
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    assert installed == {(group, name, value) for group, rows in groups.items() for name, value in rows.items()}


def test_every_entry_point_resolves() -> None:
    for entry in distribution("nacre").entry_points:
        try:
            entry.load()
        except ImportError as error:
            if "pip install" not in str(error):  # the error when its framework is not installed
                raise


def test_nacre_runs_as_a_module_and_as_a_script() -> None:
    script = Path(sys.executable).parent / "nacre"
    for words in ([sys.executable, "-m", "nacre"], [str(script)]):
        done = subprocess.run([*words, "--version"], capture_output=True, timeout=HANG_TIMEOUT_S)
        assert (done.returncode, done.stdout.split()[0]) == (0, b"nacre")


def test_pytest_plugin_fixtures_match_their_snapshot() -> None:
    plugin = import_module("nacre.testing.plugin")
    fixtures = sorted(name for name in vars(plugin) if isinstance(vars(plugin)[name], type(_sample)))
    check_snapshot("pytest_plugin", {"nacre.testing.plugin": fixtures})


@pytest.fixture
def _sample() -> None:
    """A fixture; its type is the type that pytest makes of fixtures."""
