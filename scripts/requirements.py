"""List the requirements of docs/requirements.md with the tests that carry `@pytest.mark.req("ID", …)`.

Parses the tests without importing them: marks on functions, on classes, in `pytestmark` and in `pytest.param`. Fails on
an id that the document does not have, and on a mark that is malformed or that no test carries; with --strict also on an
id without a test.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROW = re.compile(r"^\| ([A-Z]-\d+) \| (.+) \|$", re.MULTILINE)

Test = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Marks:
    """The marks of one test file."""

    file: str
    proofs: list[tuple[str, str]] = field(default_factory=list)
    """Id and test, in the order of the file."""
    complaints: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description="Lists each requirement with the tests that prove it.")
    parser.add_argument("--strict", action="store_true", help="fail when an id has no test")
    parser.add_argument("--later", metavar="ID", nargs="*", default=[], help="ids that need no test yet")
    parser.add_argument("--summary", action="store_true", help="print the count only")
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent, help="the project's directory")
    options = parser.parse_args()

    rows = ROW.findall((options.root / "docs" / "requirements.md").read_text(encoding="utf-8"))
    tests: dict[str, list[str]] = {id: [] for id, _ in rows}
    listed = Counter(id for id, _ in rows)
    complaints = [f"docs/requirements.md: {id} occurs twice" for id, times in listed.items() if times > 1]
    for path in sorted((options.root / "tests").rglob("*.py")):
        marks = read(path, path.relative_to(options.root).as_posix())
        complaints += marks.complaints
        for id, test in marks.proofs:
            if id not in tests:
                complaints.append(f"{test}: no requirement {id} in docs/requirements.md")
            elif test not in tests[id]:
                tests[id].append(test)

    if not options.summary:
        for id, text in rows:
            print(f"{id}  {text}", *(tests[id] or ["(no test)"]), sep="\n      ")
    missing = [id for id, found in tests.items() if not found]
    print(f"{len(tests)} requirements, {len(tests) - len(missing)} with a test, {len(missing)} without")
    if options.strict and (wanted := [id for id in missing if id not in options.later]):
        complaints.append(f"no test for {', '.join(wanted)}")
    complaints += [
        f"{id} has a test by now: it is no longer one for later" for id in options.later if id not in missing
    ]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def read(path: Path, name: str) -> Marks:
    """Return the marks of one file, which messages call `name`."""
    marks = Marks(name)
    tree = ast.parse(path.read_bytes(), name)
    carried = collect(tree, name, [], marks)
    for mark in sorted(marks_in(tree), key=lambda mark: mark.lineno):
        if mark not in carried:
            marks.complaints.append(f"{name}:{mark.lineno}: a req mark that no test carries")
    return marks


def collect(owner: ast.Module | ast.ClassDef, name: str, inherited: list[ast.Call], marks: Marks) -> set[ast.Call]:
    """Record the ids proved by the tests below `owner`; return the marks that some test carries."""
    inherited = inherited + [mark for node in owner.body if is_pytestmark(node) for mark in marks_in(node)]
    carried: set[ast.Call] = set()
    for node in owner.body:
        if isinstance(node, Test) and node.name.startswith("test"):
            own = [mark for decorator in node.decorator_list for mark in marks_in(decorator)]
            for mark in inherited + own:
                carried.add(mark)
                marks.proofs += [(id, f"{name}::{node.name}") for id in ids_of(mark, marks)]
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            own = [mark for decorator in node.decorator_list for mark in marks_in(decorator)]
            carried |= collect(node, f"{name}::{node.name}", inherited + own, marks)
    return carried


def is_pytestmark(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id="pytestmark")]) | ast.AnnAssign(target=ast.Name(id="pytestmark")):
            return True
        case _:
            return False


def marks_in(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield every `pytest.mark.req(…)` or `mark.req(…)` in the tree."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="req", value=ast.Attribute(attr="mark") | ast.Name(id="mark"))):
                yield node


def ids_of(mark: ast.Call, marks: Marks) -> list[str]:
    ids = [arg.value for arg in mark.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if mark.keywords or not mark.args or len(ids) < len(mark.args):
        complaint = f'{marks.file}:{mark.lineno}: a req mark takes plain ids: req("M-01", "M-02")'
        if complaint not in marks.complaints:
            marks.complaints.append(complaint)
    return ids


if __name__ == "__main__":
    sys.exit(main())
