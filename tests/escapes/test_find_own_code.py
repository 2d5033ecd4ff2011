"""The parts of the workspace that are nacre's own code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import nacre
from nacre.sandbox.own_code import OwnCode, find_own_code
from nacre.sandbox.probe import kernel, with_user_namespace
from tests.escapes.inside import needs_landlock
from tests.escapes.own_project import make_environment

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]


def test_environment_outside_the_workspace_needs_no_protection(tmp_path: Path) -> None:
    assert find_own_code([str(tmp_path)]) == OwnCode()


def test_environment_in_the_workspace_is_one_protected_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = make_environment(Path(os.path.realpath(tmp_path)))
    for name in ("prefix", "exec_prefix"):
        monkeypatch.setattr(sys, name, str(top / ".venv"))
    assert find_own_code([str(top)]) == OwnCode(paths=(str(top / ".venv"),))
    assert find_own_code([str(top / ".venv" / "lib")]).paths == ()


def test_bytecode_cache_is_protected_or_reported_as_unprotectable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = os.path.realpath(tmp_path)
    package = os.path.realpath(os.path.dirname(nacre.__file__))
    os.mkdir(f"{top}/cache")
    os.symlink(f"{top}/cache", f"{top}/link")
    os.makedirs(f"{top}/above/{package}")
    found = {}
    for prefix in ("cache", "new", "link", "above"):
        monkeypatch.setattr(sys, "pycache_prefix", f"{top}/{prefix}")
        found[prefix] = find_own_code([f"{top}/above{package}" if prefix == "above" else top])
    monkeypatch.setattr(sys, "pycache_prefix", f"{top}/above")
    elsewhere = find_own_code([f"{top}/above/unrelated"])
    assert found == {
        "cache": OwnCode(paths=(f"{top}/cache",)),
        "new": OwnCode(bytecode=(f"{top}/new",)),
        "link": OwnCode(paths=(f"{top}/cache",), links=(f"{top}/link",)),
        "above": OwnCode(bytecode=(f"{top}/above{package}",)),
    }
    assert elsewhere == OwnCode()


def test_environment_that_is_the_workspace_protects_its_own_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = make_environment(Path(os.path.realpath(tmp_path))) / ".venv"
    for name in ("prefix", "exec_prefix"):
        monkeypatch.setattr(sys, name, str(top))
    assert find_own_code([str(top)]).paths == tuple(str(top / name) for name in ("pyvenv.cfg", "bin", "lib"))


def test_user_namespace_is_used_only_where_mounts_need_one() -> None:
    here = kernel()
    found = with_user_namespace(here)
    assert found.user_namespace == (found.mounts and not here.mounts)
    assert found.networks == here.networks
