"""The table of followers matches their modules."""

from __future__ import annotations

from importlib import import_module

import pytest

from nacre.shell.registry import HANDLERS, MODULES, is_known


@pytest.mark.parametrize("module", MODULES)
def test_program_is_listed_under_its_handler_module(module: str) -> None:
    known = import_module(f"nacre.shell.programs.{module}").HANDLERS
    assert set(MODULES[module].split()) == known.keys()
    assert all(HANDLERS.get(name) is follower for name, follower in known.items())


@pytest.mark.parametrize(
    "name", ["ld-linux-x86-64.so.2", "ld-linux.so.2", "ld-linux-aarch64.so.1", "ld-musl-x86_64.so.1", "ld64.so.2"]
)
def test_dynamic_loader_is_known_by_each_of_its_names(name: str) -> None:
    assert HANDLERS.get(name) is HANDLERS.get("ld.so") is not None
    assert is_known(name)


def test_unknown_program_has_no_handler() -> None:
    assert HANDLERS.get("nobody") is HANDLERS.get("ld-linux.conf") is None
