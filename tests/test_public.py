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


def test_all_lists_the_public_names() -> None:
    assert nacre.__all__ == NAMES


def test_every_public_name_exists_and_is_in_dir() -> None:
    assert [name for name in NAMES if not hasattr(nacre, name)] == []
    assert set(NAMES) <= set(dir(nacre))


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        nacre.nonsense  # noqa: B018


def test_run_options_are_the_fields_of_request_and_context() -> None:
    named = {field.name for kind in (Request, ToolContext) for field in fields(kind)} - {"command"}
    assert set(RunOptions.__annotations__) == named


def test_request_and_context_share_no_field() -> None:
    assert not {field.name for field in fields(Request)} & {field.name for field in fields(ToolContext)}


def test_package_contains_py_typed() -> None:
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


def test_importing_nacre_loads_no_heavy_modules() -> None:
    program = f"""
        import sys
        before = set(sys.modules)
        import nacre
        print(sorted(({set(HEAVY)} & set(sys.modules)) - before))
    """
    assert run_host(program) == "[]\n"


def test_request_and_result_classes_load_without_asyncio() -> None:
    program = """
        import sys
        from nacre import Chunk, InvalidRequest, Limits, Request, Result, ToolContext
        print([name for name in ("asyncio", "rich", "subprocess") if name in sys.modules])
    """
    assert run_host(program) == "[]\n"


def test_running_a_command_loads_no_optional_packages_and_leaves_no_thread() -> None:
    program = """
        import asyncio, sys, threading, nacre
        assert asyncio.run(nacre.run("true")).ok
        print(sorted({"rich", "mcp", "pydantic", "tree_sitter"} & set(sys.modules)), threading.active_count())
    """
    assert run_host(program) == "[] 1\n"
