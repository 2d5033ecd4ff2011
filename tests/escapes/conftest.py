"""Fixtures for attempts on a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.base.frozen import replace
from tests.support.confined import HERE


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory by its real name, with something beside it."""
    made = tmp_path.resolve() / "place"
    made.mkdir()
    (made.parent / "outside").write_text("precious")
    return made


@pytest.fixture(params=["mounts", "no mounts"])
def mounts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Once with what this kernel can do, once as for a user who may not mount anything."""
    if request.param == "mounts":
        if not HERE.mounts:
            pytest.skip("needs mount namespaces, which takes root")
        return True
    monkeypatch.setattr("nacre.sandbox.probe.kernel", lambda: replace(HERE, mounts=False, networks=False))
    return False
