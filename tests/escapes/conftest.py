"""Fixtures for tests of escapes from a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.base.frozen import replace
from tests.support.confined import HERE


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory by its real path that has a file next to it."""
    made = tmp_path.resolve() / "place"
    made.mkdir()
    (made.parent / "outside").write_text("precious")
    return made


@pytest.fixture(params=["mounts", "no mounts"])
def mounts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run the test with this kernel's abilities, and again as for a user who may not mount."""
    if request.param == "mounts":
        if not HERE.mounts:
            pytest.skip("needs mount namespaces, which only root has")
        return True
    monkeypatch.setattr("nacre.sandbox.probe.kernel", lambda: replace(HERE, mounts=False, networks=False))
    return False
