"""Public names: `__all__` of each package, attributes and parameters, and every import in the docs."""

from __future__ import annotations

import ast
import enum
import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, get_origin, get_type_hints

import pytest

import nacre
from nacre.observe import Audit
from tests.interface.snapshot import DIRECTORY, check_snapshot

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
"""Decision records: their names are internal and as of the time of the decision."""
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent != DECISIONS)]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


# imports in the docs


def read_sources() -> Iterator[str]:
    """Yield the Python code of the docs and the examples."""
    for page in PAGES:
        yield from re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for example in EXAMPLES:
        yield example.read_text(encoding="utf-8")


def find_imports(code: str) -> set[str]:
    """Return `nacre.config:load` for `from nacre.config import load`, `nacre.config` for `import nacre.config`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and is_ours(node.module):
            found.update(f"{node.module}:{alias.name}" for alias in node.names)
    return found


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "nacre"


def find_dotted() -> set[str]:
    """Return names in the text of the docs that resolve, such as `nacre.policy.permissions.match.apply_permissions`.

    Span attributes and loggers look alike: only names below a package or a module count.
    """
    return {name for name in find_names_in_pages() if resolves(name)}


def find_names_in_pages() -> set[str]:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    return set(re.findall(r"`(nacre(?:\.\w+){2,})", text)) | set(re.findall(r"`(nacre\.\w+)`", text))


def resolves(name: str) -> bool:
    if not has_module(name):
        module, _, rest = name.rpartition(".")
        return module != "nacre" and has_module(module) and hasattr(import_module(module), rest)
    return name.count(".") > 1 or hasattr(import_module(name), "__path__")


def has_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def test_names_below_a_module_in_the_docs_exist() -> None:
    """A name that the docs give for something in a module of nacre must not have been renamed away."""
    below = {
        name for name in find_names_in_pages() if has_module(".".join(name.split(".")[:2])) and name.count(".") > 1
    }
    spans = (DIRECTORY / "spans.json").read_text(encoding="utf-8")  # an attribute of a span may look like such a name
    assert below
    assert {name for name in below if not resolves(name) and f'"{name}"' not in spans} == set()


IMPORTS = sorted(set().union(*(find_imports(code) for code in read_sources())))


def test_imports_in_the_docs_match_their_snapshot() -> None:
    check_snapshot("documented_imports", {"imports": IMPORTS, "names in the text": sorted(find_dotted())})


@pytest.mark.parametrize("name", IMPORTS)
def test_each_documented_import_works(name: str) -> None:
    module, _, attribute = name.partition(":")
    try:
        found = import_module(module)
        if attribute and not hasattr(found, attribute):
            import_module(f"{module}.{attribute}")
    except ImportError as error:
        if has_module(module) and "pip install" in str(error):
            assert not attribute or attribute in list_definitions(module)
            pytest.skip(f"an extra is not installed: {error}")
        raise


def list_definitions(module: str) -> set[str]:
    """Return the top-level names of a module that cannot be imported here."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    found: set[str] = set()
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found.update(each.id for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
    return found


# exported names


def describe_kind(value: object) -> str:
    if isinstance(value, ModuleType):
        return "module"
    if inspect.isclass(value):
        if issubclass(value, BaseException):
            return "exception"
        return "enum" if issubclass(value, enum.Enum) else "class"
    if inspect.iscoroutinefunction(value):
        return "async function"
    if inspect.isroutine(value):
        return "function"
    if isinstance(value, UnionType) or get_origin(value) is not None:
        return "type alias"
    return f"instance of {type(value).__name__}"


def describe_exports(module: ModuleType) -> dict[str, str]:
    found = {}
    for name in module.__all__:
        try:
            found[name] = describe_kind(getattr(module, name))
        except ImportError:
            found[name] = "needs an extra"
    return found


def find_packages() -> Iterator[ModuleType]:
    yield nacre
    for found in pkgutil.walk_packages(nacre.__path__, "nacre."):
        documented = any(name.partition(":")[0] == found.name for name in IMPORTS)
        if found.ispkg or documented:
            try:
                module = import_module(found.name)
            except ImportError:
                continue  # an adapter whose framework is not installed
            if hasattr(module, "__all__"):
                yield module


def list_documented() -> set[str]:
    """Return the modules that the docs import from or name."""
    named = find_dotted()
    return {name.partition(":")[0] for name in IMPORTS} | named | {name.rpartition(".")[0] for name in named}


def test_exports_of_packages_match_their_snapshot() -> None:
    """Documented packages keep their paths. The others may move, and their exports with them."""
    documented = list_documented()
    public: dict[str, dict[str, str]] = {}
    internal: dict[str, dict[str, str]] = {}
    for module in find_packages():
        (public if module.__name__ in documented else internal)[module.__name__] = describe_exports(module)
    check_snapshot("exports", public)
    check_snapshot("exports_internal", internal)


# attributes and parameters


def list_attributes(cls: type) -> list[str]:
    """Return the public names that nacre's own classes define, without those of Python's classes."""
    own = [each for each in cls.__mro__ if each.__module__.split(".")[0] == "nacre"]
    names = {name for each in own for name in (*vars(each), *getattr(each, "__annotations__", ()))}
    return sorted(name for name in names if not name.startswith("_"))


def list_parameters(function: Any) -> list[str]:
    """Return the names in order, `*` before keyword-only parameters, `=` after those with a default."""
    found: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in found:
            found.append("*")
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else stars
        found.append(f"{stars}{parameter.name}{'' if parameter.default is parameter.empty else '='}")
    return found


def make_instances() -> dict[str, object]:
    """Return instances of the classes whose attributes are set in the constructor."""
    return {
        "Audit": Audit("/dev/null"),
        "Bash": nacre.Bash(),
        "CommandFailed": nacre.CommandFailed(nacre.run_sync("false")),
        "InvalidRequest": nacre.InvalidRequest("code", "message", field="field", hint="hint"),
        "Session": nacre.Session(),
        "Tasks": nacre.Tasks(),
    }


def describe_class(cls: type, instance: object = None) -> dict[str, Any]:
    more = vars(instance) if hasattr(instance, "__dict__") else {}
    names = sorted({*list_attributes(cls), *(each for each in more if not each.startswith("_"))})
    methods = {each: getattr(cls, each) for each in names if is_method(inspect.getattr_static(cls, each, None))}
    found: dict[str, Any] = {
        "attributes": [each for each in names if each not in methods],
        "methods": {each: list_parameters(method) for each, method in methods.items()},
    }
    return {**found, "parameters": list_parameters(cls)} if has_own_constructor(cls) else found


def describe_names(module: ModuleType, instances: dict[str, object]) -> dict[str, Any]:
    """Describe the classes and functions that a module exports."""
    found: dict[str, Any] = {}
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value):
            found[name] = describe_class(value, instances.get(name))
        elif inspect.isroutine(value):
            found[name] = {"parameters": list_parameters(value)}
    return found


def test_public_api_of_nacre_matches_its_snapshot() -> None:
    check_snapshot("public_api", describe_names(nacre, make_instances()))


def test_public_api_of_documented_packages_matches_its_snapshot() -> None:
    documented, instances = list_documented(), make_instances()
    found = {
        module.__name__: describe_names(module, instances)
        for module in find_packages()
        if module is not nacre and module.__name__ in documented
    }
    check_snapshot("public_api_packages", found)


def has_own_constructor(cls: type) -> bool:
    """Return whether the class has its own public constructor: not enums, protocols and plain exceptions."""
    if issubclass(cls, enum.Enum) or getattr(cls, "_is_protocol", False):
        return False
    own = [each for each in cls.__mro__ if each.__module__.split(".")[0] == "nacre"]
    return any(name in vars(each) for each in own for name in ("__init__", "__new__"))


def is_method(value: object) -> bool:
    return isinstance(value, classmethod | staticmethod) or inspect.isfunction(value)


def test_options_of_run_match_their_snapshot() -> None:
    """`run(command, **options)` takes them as keywords."""
    (typed,) = get_type_hints(nacre.run)["options"].__args__
    check_snapshot("run_options", sorted(typed.__annotations__))
