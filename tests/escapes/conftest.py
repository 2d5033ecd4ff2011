"""Fixtures for tests of escapes from a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.base.frozen import replace
from tests.support.confined import HERE
from tests.support.repositories import repository


@pytest.fixture
def repo(place: Path) -> Path:
    return repository(place / "repo")


@pytest.fixture(params=["mounts", "no mounts"])
def mounts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run the test with this kernel's abilities, and again as for a user who may not mount."""
    if request.param == "mounts":
        if not HERE.mounts:
            pytest.skip("needs mount namespaces, which takes root")
        return True
    monkeypatch.setattr("nacre.sandbox.probe.kernel", lambda: replace(HERE, mounts=False, networks=False))
    return False
