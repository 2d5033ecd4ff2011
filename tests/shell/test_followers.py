"""The table of followers is that of their modules."""

from __future__ import annotations

from importlib import import_module

import pytest

from nacre.shell.followers import FOLLOWERS, LISTED


@pytest.mark.parametrize("module", LISTED)
def test_a_program_is_listed_under_the_module_that_knows_it(module: str) -> None:
    known = import_module(f"nacre.shell.{module}").FOLLOWERS
    assert set(LISTED[module].split()) == known.keys()
    assert all(FOLLOWERS.get(name) is follower for name, follower in known.items())


def test_what_nobody_knows_has_no_follower() -> None:
    assert FOLLOWERS.get("nobody") is None
