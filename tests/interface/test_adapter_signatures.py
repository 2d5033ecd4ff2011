"""Public functions and classes of the adapters, read from their source: the frameworks need not be installed."""

from __future__ import annotations

import ast
from pathlib import Path

import nacre
from nacre.cli.common import exit_codes
from tests.interface.snapshot import check_snapshot

ADAPTERS = Path(nacre.__file__).parent / "adapters"


def list_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    arguments = function.args
    by_place = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    optional = len(arguments.defaults)
    names = [f"{name}=" if index >= len(by_place) - optional else name for index, name in enumerate(by_place)]
    rest = [f"*{arguments.vararg.arg}"] if arguments.vararg else ["*"] if arguments.kwonlyargs else []
    named = [
        f"{each.arg}=" if default is not None else each.arg
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return [*names, *rest, *named, *([f"**{arguments.kwarg.arg}"] if arguments.kwarg else [])]


def describe(body: list[ast.stmt]) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in body:
        match node:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                found[name] = describe(node.body)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if not name.startswith("_") or name == "__init__":
                    found[name] = list_parameters(node)
    return found


def test_adapters_have_the_same_functions_classes_and_parameters() -> None:
    modules = sorted(ADAPTERS.glob("*.py"))
    assert len(modules) > 5
    check_snapshot("adapters", {path.stem: describe(ast.parse(path.read_text("utf-8")).body) for path in modules})


def test_exit_codes_of_nacre_have_the_same_values() -> None:
    codes = {name: value for name, value in vars(exit_codes).items() if name.startswith("EXIT_")}
    assert len(codes) > 6
    check_snapshot("own_exit_codes", codes)
