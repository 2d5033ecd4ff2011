"""Every module of nacre is used: a merge may revive a file that nothing imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import nacre

PACKAGE = Path(nacre.__file__).parent
PROJECT = PACKAGE.parent.parent
RUN_AS_SCRIPTS = {"nacre.__main__", "nacre.keeper.__main__", "nacre.sandbox.kernel.try_user_namespace"}


def list_modules(package: Path) -> dict[str, Path]:
    """Return the path of each module by its dotted name; a package has that of its `__init__`."""
    names = {path: path.relative_to(package.parent).with_suffix("").parts for path in package.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for path, parts in names.items()}


def imported_names(module: str, path: Path) -> Iterator[str]:
    """Yield what the module imports, by an import statement or by a name in a string: modules, and names in modules."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    nodes = list(ast.walk(ast.parse(path.read_bytes())))
    words: list[str] = []
    by_name = False
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=source, names=names):
                yield source or ""
                yield from (f"{source}.{alias.name}" for alias in names)
            case ast.Call(func=ast.Name(id="import_module")):
                by_name = True
            case ast.Constant(value=str(text)):
                words.append(text.partition(":")[0])  # `check.command:check` names a function, too
    parents = [package, *(word.rstrip(".") for word in words if word.startswith("nacre.") and word.endswith("."))]
    yield from (f"{parent}.{word}" for word in words if by_name or "." in word for parent in parents)


def find_unused(package: Path, documentation: str) -> list[str]:
    modules = list_modules(package)
    used = {name for module, path in modules.items() for name in imported_names(module, path) if name != module}
    known = used | RUN_AS_SCRIPTS
    return sorted(
        module
        for module, path in modules.items()
        if path.stem != "__init__" and module not in known and module not in documentation
    )


def test_every_module_is_imported_or_documented_or_run() -> None:
    pages = [PROJECT / "README.md", PROJECT / "pyproject.toml", *(PROJECT / "docs").rglob("*.md")]
    assert find_unused(PACKAGE, "".join(page.read_text() for page in pages)) == []


def test_a_module_that_nothing_imports_is_found(tmp_path: Path) -> None:
    package = tmp_path / "nacre"
    package.mkdir()
    texts = {
        "__init__": "import_module(f'nacre.{name}')\n_MODULES = {'Loaded': 'loaded'}\n",
        "loaded": "from nacre.imported import value\n",
        "imported": "value = 1\n",
        "unused": "from nacre import unused\n",
        "documented": "",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    assert find_unused(package, "`nacre.documented`") == ["nacre.unused"]
