"""Calls of a node's agent name its methods by strings, which no type checker compares. Without Ray."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.engines.ray.node.agent import Agent
from nacre.tasks import Tasks

RAY = Path(__file__).parents[2] / "src" / "nacre" / "engines" / "ray"


def find_calls(method: str, position: int) -> Iterator[tuple[str, int]]:
    """The string at `position` of each call of `.method(…)`, and how many arguments come after it."""
    for path in sorted(RAY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr=name), args=words) if name == method and len(words) > position:
                    match words[position]:
                        case ast.Constant(value=str(text)):
                            yield text, len(words) - position - 1


AGENT_CALLS = sorted({*find_calls("call", 0), *find_calls("_call_and_wait", 1)})
TASK_CALLS = sorted({text for text, _ in find_calls("_ask", 1)})


def test_source_scan_finds_the_agent_and_task_calls() -> None:
    assert len(AGENT_CALLS) >= 8
    assert {"get", "list", "kill"} <= set(TASK_CALLS)


@pytest.mark.parametrize(("name", "arguments"), [call for call in AGENT_CALLS if call[0] != "tasks"])
def test_agent_has_each_called_method_with_its_arguments(name: str, arguments: int) -> None:
    parameters = list(inspect.signature(getattr(Agent, name)).parameters.values())[1:]
    assert len(parameters) == arguments


@pytest.mark.parametrize("name", TASK_CALLS)
def test_tasks_has_each_method_called_through_the_agent(name: str) -> None:
    assert callable(getattr(Tasks, name))
