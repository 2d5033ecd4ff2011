"""The public names of `nacre`, and the cost of importing it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

import nacre
from nacre.bash import RunOptions
from nacre.types import Request, ToolContext
from tests.support.hosts import run_host

NAMES = [
    "AccessUnavailable",
    "Bash",
    "Cancel",
    "Cancelled",
    "Chunk",
    "CommandFailed",
    "Decision",
    "Ended",
    "Exited",
    "InvalidRequest",
    "Killed",
    "Limits",
    "Lost",
    "NacreError",
    "NotStarted",
    "OverLimit",
    "Policy",
    "Profile",
    "Refused",
    "Request",
    "Result",
    "Running",
    "Session",
    "Signalled",
    "Started",
    "Tasks",
    "TimedOut",
    "ToolContext",
    "Verdict",
    "check",
    "for_model",
    "run",
    "run_sync",
]


def test_these_are_the_public_names() -> None:
    assert nacre.__all__ == NAMES


def test_every_public_name_can_be_had_and_is_listed() -> None:
    assert [name for name in NAMES if not hasattr(nacre, name)] == []
    assert set(NAMES) <= set(dir(nacre))


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        nacre.nonsense  # noqa: B018


def test_the_options_of_run_are_the_fields_of_request_and_context() -> None:
    named = {field.name for kind in (Request, ToolContext) for field in fields(kind)} - {"command"}
    assert set(RunOptions.__annotations__) == named


def test_no_option_could_belong_to_both() -> None:
    assert not {field.name for field in fields(Request)} & {field.name for field in fields(ToolContext)}


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(nacre.__file__).parent / "py.typed").exists()


HEAVY = [
    "asyncio",
    "ctypes",
    "mcp",
    "pydantic",
    "rich",
    "socket",
    "subprocess",
    "tempfile",
    "tree_sitter",
    "typing_extensions",
]


def test_importing_nacre_loads_nothing_heavy() -> None:
    program = f"""
        import sys
        before = set(sys.modules)
        import nacre
        print(sorted(({set(HEAVY)} & set(sys.modules)) - before))
    """
    assert run_host(program) == "[]\n"


def test_requests_and_results_can_be_had_without_an_event_loop() -> None:
    program = """
        import sys
        from nacre import Chunk, InvalidRequest, Limits, Request, Result, ToolContext
        print([name for name in ("asyncio", "rich", "subprocess") if name in sys.modules])
    """
    assert run_host(program) == "[]\n"


def test_running_a_command_loads_no_subprocess_module_and_starts_no_thread() -> None:
    program = """
        import asyncio, sys, threading, nacre
        assert asyncio.run(nacre.run("true")).ok
        print(sorted({"rich", "mcp", "pydantic", "tree_sitter"} & set(sys.modules)), threading.active_count())
    """
    assert run_host(program) == "[] 1\n"
