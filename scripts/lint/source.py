"""Reads Python files and lists the modules, classes, functions, attributes and constants that they define."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

AREAS = ("src", "tests", "faults", "fuzz", "bench", "scripts", "examples")
"""Top directories that are checked. An area without Python files may be missing."""

PACKAGE = "src/nacre/"
_PACKAGE_NAME = "nacre"
_VALUES = frozenset({"NamedTuple", "TypedDict"})

Kind = Literal[
    "module", "class", "function", "method", "property", "parameter", "attribute", "constant", "alias", "variable"
]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_PROPERTIES = frozenset({"property", "cached_property", "setter", "getter", "deleter"})


@dataclass(frozen=True, slots=True)
class Definition:
    """One defined name."""

    kind: Kind
    name: str
    """Qualified within the module: `Gate.enter`. A module's own name is its file name without `.py`."""
    line: int
    lines: int
    """Length of a function, from `def` to its last line; 0 for other kinds."""
    docstring: str | None = None
    decorators: frozenset[str] = frozenset()
    """Last part of each decorator's name: `fixture` for `@pytest.fixture(scope="module")`."""
    bases: tuple[str, ...] = ()
    """Last part of the name of each base of a class."""
    is_value: bool = False
    """Whether a class is a frozen dataclass, a named tuple or the type of a dict."""

    @property
    def own_name(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def owner(self) -> str:
        return self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One Python file and its definitions."""

    path: str
    """Relative to the project, with slashes."""
    lines: int
    definitions: Sequence[Definition]
    own_imports: Mapping[str, str] = field(default_factory=dict)
    """Names that the file imports from the package, each with its name there."""
    documented_names: Sequence[Definition] = ()
    """Assigned names with a docstring below them, at any depth."""

    @property
    def area(self) -> str:
        return self.path.partition("/")[0]

    @property
    def module(self) -> str:
        """Path inside the package, without `.py`: `keeper/run`. Outside the package: the path in the project."""
        return self.path.removeprefix(PACKAGE).removesuffix(".py").removesuffix("/__init__")


def read_files(root: Path) -> list[SourceFile]:
    """Read every Python file of the checked areas below `root`, sorted by path."""
    paths = [path for area in AREAS for path in (root / area).rglob("*.py")]
    return [read_file(path, path.relative_to(root).as_posix()) for path in sorted(paths)]


def read_file(path: Path, name: str) -> SourceFile:
    """Parse one file. Raises SyntaxError for a file that is not Python."""
    source = path.read_bytes()
    tree = ast.parse(source, name)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    module = Definition("module", stem, 1, 0, ast.get_docstring(tree))
    definitions = [module, *_definitions_in(tree.body, "", in_class=False)]
    return SourceFile(
        name, len(source.splitlines()), definitions, dict(_own_imports(tree)), list(_documented_names(tree))
    )


def _own_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] == _PACKAGE_NAME):
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)


def _definitions_in(body: Sequence[ast.stmt], owner: str, *, in_class: bool) -> Iterator[Definition]:
    attributes: set[str] = set()
    for node in _flatten(body):
        if isinstance(node, ast.ClassDef):
            name = f"{owner}{node.name}"
            yield _class(node, name)
            yield from _definitions_in(node.body, f"{name}.", in_class=True)
        elif isinstance(node, _Function):
            yield _function(node, owner, in_class=in_class)
            yield from _definitions_inside(node, f"{owner}{node.name}.")
            if in_class:
                for attribute in _assigned_to_self(node):
                    if attribute.attr not in attributes:
                        attributes.add(attribute.attr)
                        yield Definition("attribute", f"{owner}{attribute.attr}", attribute.lineno, 0)
        else:
            for slot, line in _slots(node) if in_class else ():
                if slot not in attributes:
                    attributes.add(slot)
                    yield Definition("attribute", f"{owner}{slot}", line, 0)
            for target in _assigned_names(node):
                if target.id not in attributes:
                    attributes.add(target.id)
                    kind = _kind_of(target.id, in_class=in_class)
                    yield Definition(kind, f"{owner}{target.id}", target.lineno, 0)


def _definitions_inside(function: _Function, owner: str) -> Iterator[Definition]:
    """Parameters of a function, and the functions and classes that it defines, with their parameters."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    yield from (Definition("parameter", f"{owner}{each.arg}", each.lineno, 0) for each in every)
    for node in _flatten(function.body):
        if isinstance(node, ast.ClassDef | _Function):
            yield from _definitions_in([node], owner, in_class=False)


def _kind_of(name: str, *, in_class: bool) -> Kind:
    """Kind of an assigned name, by its spelling: `LIMIT`, `TypeAlias`, `value`."""
    if name.isupper():
        return "constant"
    if in_class:
        return "attribute"
    return "alias" if name.strip("_")[:1].isupper() else "variable"


def _class(node: ast.ClassDef, name: str) -> Definition:
    decorators = frozenset(_last_name(decorator) for decorator in node.decorator_list)
    bases = tuple(filter(None, map(_last_name, node.bases)))
    is_value = "frozen" in decorators or any(map(_is_frozen, node.decorator_list)) or not _VALUES.isdisjoint(bases)
    return Definition("class", name, node.lineno, 0, ast.get_docstring(node), decorators, bases, is_value)


def _is_frozen(decorator: ast.expr) -> bool:
    """Whether the decorator has the argument `frozen=True`."""
    match decorator:
        case ast.Call(keywords=keywords):
            return any(each.arg == "frozen" and getattr(each.value, "value", False) is True for each in keywords)
        case _:
            return False


def _slots(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """Names that an assignment to `__slots__` lists, each with its line."""
    match node:
        case ast.Assign(targets=[ast.Name(id="__slots__")], value=ast.Tuple(elts=names)):
            for name in names:
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield name.value, name.lineno


def _function(node: _Function, owner: str, *, in_class: bool) -> Definition:
    decorators = frozenset(_last_name(decorator) for decorator in node.decorator_list)
    kind: Kind = "property" if decorators & _PROPERTIES else "method" if in_class else "function"
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return Definition(kind, f"{owner}{node.name}", node.lineno, lines, ast.get_docstring(node), decorators)


def _flatten(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of `body` and of the blocks in it, such as those of `for`, `match` and `try`, but not those
    of functions and classes."""
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef | _Function):
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from _flatten([child])
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _flatten(child.body)


def _documented_names(tree: ast.Module) -> Iterator[Definition]:
    """Yield each assigned name or attribute of `self` that has a docstring on the next line."""
    for block in _blocks(tree):
        for node, following in pairwise(block):
            match following:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    for target in _targets_of(node):
                        if name := _last_name(target):
                            yield Definition("attribute", name, following.lineno, 0, inspect.cleandoc(text))


def _blocks(tree: ast.Module) -> Iterator[Sequence[ast.stmt]]:
    """Yield every list of statements."""
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _assigned_names(node: ast.stmt) -> Iterator[ast.Name]:
    for target in _targets_of(node):
        for child in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(child, ast.Name):
                yield child


def _assigned_to_self(method: _Function) -> Iterator[ast.Attribute]:
    for node in ast.walk(method):
        for target in _targets_of(node):
            for child in target.elts if isinstance(target, ast.Tuple) else [target]:
                match child:
                    case ast.Attribute(value=ast.Name(id="self")):
                        yield child


def _targets_of(node: ast.AST) -> Sequence[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target):
            return [target]
        case _:
            return []


def _last_name(expression: ast.expr) -> str:
    """`fixture` for `pytest.fixture(scope="module")`, `Generic` for `Generic[T]`; empty for other expressions."""
    match expression:
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Subscript(value=generic):
            return _last_name(generic)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
