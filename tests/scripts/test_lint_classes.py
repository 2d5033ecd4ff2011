"""scripts/lint: attributes per class, and inheritance inside the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.lint.baseline import entry_of, find_new, read_baseline, read_exceptions
from scripts.lint.checks import find_deep_inheritance, find_large_classes
from scripts.lint.source import read_files
from tests.support.lint_project import PROJECT, Lint


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    return Lint(tmp_path)


def test_classes_of_the_project_have_few_attributes_and_no_deep_bases() -> None:
    """The baseline lists the classes that are still to be split; it may only shrink."""
    files = read_files(PROJECT)
    exceptions = read_exceptions(PROJECT / "scripts/lint/exceptions.txt")
    found = [*find_large_classes(files), *find_deep_inheritance(files)]
    violations = [violation for violation in found if entry_of(violation) not in exceptions]
    assert find_new(violations, read_baseline(PROJECT / "scripts/lint/baseline.txt")) == []


def test_lint_finds_classes_with_many_attributes(lint: Lint) -> None:
    names = [f"a{number}" for number in range(16)]
    assigned = "".join(f"        self.{name} = 1\n" for name in names)
    fields = "".join(f"    {name}: int\n" for name in names)
    lint.write("src/nacre/assigned.py", f"class Large:\n    limit = 1\n    def f(self):\n{assigned}")
    lint.write("src/nacre/slots.py", f"class Slotted:\n    __slots__ = {(*names,)}\n")
    lint.write(
        "src/nacre/base.py",
        "from nacre.slots import Slotted as Base\nclass Below(Base):\n    def f(self):\n        self.more = 1\n",
    )
    lint.write(
        "src/nacre/fits.py", f"class Fits:\n    __slots__ = {(*names[:15],)}\n    def f(self):\n        self.a1 = 2\n"
    )
    lint.write(
        "src/nacre/values.py",
        f"@frozen(kw_only=True)\nclass A:\n{fields}\n@dataclass(frozen=True)\nclass B:\n{fields}\n"
        f"class C(NamedTuple):\n{fields}\nclass D(TypedDict, total=False):\n{fields}\n",
    )
    lint.write("tests/test_large.py", f"class Large:\n    def f(self):\n{assigned}")
    assert lint.run() == [
        "src/nacre/assigned.py:1: class `Large` has 17 attributes, more than 15: split it",
        "src/nacre/base.py:2: class `Below` has 17 attributes, more than 15: split it",
        "src/nacre/slots.py:1: class `Slotted` has 16 attributes, more than 15: split it",
    ]


def test_lint_finds_deep_inheritance_inside_the_package(lint: Lint) -> None:
    lint.write("src/nacre/bases.py", "class Base(Protocol): ...\nclass Middle(Generic[T], Base): ...\n")
    lint.write(
        "src/nacre/deep.py",
        "import nacre.bases as bases\nfrom nacre.bases import Middle as Renamed\n"
        "class Deep(Other, Renamed): ...\nclass Fits(bases.Base): ...\nclass _Deeper(Deep): ...\n",
    )
    lint.write("src/nacre/foreign.py", "from threading import Middle\nclass Foreign(Middle): ...\n")
    lint.write(
        "src/nacre/errors.py",
        "class A(ValueError): ...\nclass B(A): ...\nclass C(B): ...\n",
    )
    assert lint.run() == [
        "src/nacre/deep.py:3: class `Deep` is too deep, compose it instead: Deep < Middle < Base",
        "src/nacre/deep.py:5: class `_Deeper` is too deep, compose it instead: _Deeper < Deep < Middle < Base",
    ]
