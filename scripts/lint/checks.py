"""The checks: each takes the files and yields violations.

A violation's key has no line number and, where possible, no path: it stays the same when a file moves.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.lint.glossary import BARE_WORDS, VAGUE_ENDS, VAGUE_WORDS, VERBS_IN_ED, Glossary
from scripts.lint.inheritance import PackageClasses
from scripts.lint.source import PACKAGE, Definition, SourceFile

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PACKAGE_FILES = 16
MAX_ATTRIBUTES = 15
MAX_INHERITANCE_DEPTH = 2
"""A class and one base inside the package."""
_FILE_STEP_LINES = 50
_FUNCTION_STEP_LINES = 10
_OPENING_CHARS = 60

_OPENING = re.compile(r"(What|Who|Whoever|Where|Of|That|Whether it)\b")
_DOCSTRING_AREAS = frozenset({"src", "scripts", "bench", "fuzz", "faults", "tests"})
_COMPAT = f"{PACKAGE}compat/"
_ANYWHERE = {
    "class": "classes",
    "alias": "classes",
    "function": "functions",
    "method": "functions",
    "constant": "constants",
    "parameter": "parameters",
}
"""Kinds that have names banned everywhere. Fields and properties are values: only a module's section bans them."""
_UNIT = re.compile(r"_(S|MS|BYTES|CHARS|LINES)$")


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule at one place."""

    rule: str
    key: str
    """Identifies the violation in the baseline, together with the rule."""
    path: str
    line: int
    message: str
    amount: int = 1
    """Added up over all violations with the same rule and key; the baseline may not be exceeded."""


def find_violations(files: Sequence[SourceFile], glossary: Glossary) -> list[Violation]:
    """Run every check."""
    return [
        *find_banned_names(files, glossary),
        *find_docstring_openings(files),
        *find_duplicate_classes(files),
        *find_long_files(files),
        *find_long_functions(files),
        *find_large_packages(files),
        *find_large_classes(files),
        *find_deep_inheritance(files),
    ]


def find_banned_names(files: Sequence[SourceFile], glossary: Glossary) -> Iterator[Violation]:
    for file in files:
        for definition in file.definitions:
            if (message := _name_problem(file, definition, glossary)) is not None:
                key = f"{file.area} {definition.kind} {definition.own_name}"
                yield Violation("name", key, file.path, definition.line, message)


def _name_problem(file: SourceFile, definition: Definition, glossary: Glossary) -> str | None:
    """Say what is wrong with a name; None for a plain one."""
    name, kind = definition.own_name, definition.kind
    subject = f"{kind} `{definition.name}`"
    if _is_test(file, definition) or (name.startswith("__") and name.endswith("__")):
        return None
    if (new := _replacement(file, definition, glossary)) is not None:
        return f"{subject} is not a plain name: use `{new}`"
    if kind in ("function", "method") and _is_no_verb(definition, glossary):
        return f"{subject} is a bare participle or preposition: name it by a verb and its object"
    if kind == "constant" and _is_vague(name, glossary):
        return f"{subject} is vague: name what it bounds and the unit, as in `_REPLY_TIMEOUT_S`"
    return None


def _replacement(file: SourceFile, definition: Definition, glossary: Glossary) -> str | None:
    name = definition.own_name
    if definition.kind == "module":
        stem = name.removeprefix("test_") if file.area == "tests" else name
        # A package may have the name that one of its modules had before: keeper/spawn.py is keeper/spawn/shell.py.
        module = "" if file.path.endswith("/__init__.py") else file.module
        return glossary.module_replacement(module, stem)
    if (new := glossary.replacement_in_module(file.module, definition.name)) is not None:
        return new
    kind = _ANYWHERE.get(definition.kind)
    return None if kind is None else glossary.replacement_anywhere(kind, name)


def _is_test(file: SourceFile, definition: Definition) -> bool:
    """Test functions and classes are named by sentences."""
    return file.area == "tests" and definition.own_name.startswith(("test_", "Test")) and definition.kind != "module"


def _is_no_verb(definition: Definition, glossary: Glossary) -> bool:
    if "fixture" in definition.decorators:
        return False  # a fixture is named after its value
    word = definition.own_name.strip("_")
    if word in glossary.words[BARE_WORDS]:
        return True
    return "_" not in word and word.endswith("ed") and word not in glossary.words[VERBS_IN_ED]


def _is_vague(name: str, glossary: Glossary) -> bool:
    words = _UNIT.sub("", name.strip("_"))
    ends = {words.partition("_")[0], words.rpartition("_")[2]}
    return words in glossary.words[VAGUE_WORDS] or not ends.isdisjoint(glossary.words[VAGUE_ENDS])


def find_docstring_openings(files: Sequence[SourceFile]) -> Iterator[Violation]:
    for file in files:
        if file.area not in _DOCSTRING_AREAS:
            continue
        for definition in (*file.definitions, *file.documented_names):
            if definition.docstring and (found := _OPENING.match(definition.docstring)):
                # Keyed by its text: the name that it describes may well change.
                opening = definition.docstring.splitlines()[0][:_OPENING_CHARS].strip()
                message = f"docstring of {definition.kind} `{definition.name}` begins with {found[0]}: {opening}"
                yield Violation("docstring", f"{file.area} {opening}", file.path, definition.line, message)


def find_duplicate_classes(files: Sequence[SourceFile]) -> Iterator[Violation]:
    """Public top-level classes of the package. `compat` repeats names of other tools on purpose."""
    places: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for file in files:
        if not file.path.startswith(PACKAGE) or file.path.startswith(_COMPAT):
            continue
        lines = {item.name: item.line for item in file.definitions if item.kind == "class" and not item.owner}
        for name, line in lines.items():
            if not name.startswith("_"):
                places[name].append((file.path, line))
    for name, found in places.items():
        if len(found) > 1:
            for path, line in found:
                others = ", ".join(other for other, _ in found if other != path)
                yield Violation("duplicate-class", name, path, line, f"class `{name}` is also defined in {others}")


def find_long_files(files: Sequence[SourceFile]) -> Iterator[Violation]:
    for file in files:
        if file.lines > MAX_FILE_LINES:
            message = f"file has {file.lines} lines, more than {MAX_FILE_LINES}: split it"
            amount = _round_up(file.lines, _FILE_STEP_LINES)
            yield Violation("long-file", file.path, file.path, 1, message, amount)


def find_long_functions(files: Sequence[SourceFile]) -> Iterator[Violation]:
    for file in files:
        for item in file.definitions:
            if item.lines > MAX_FUNCTION_LINES:
                message = f"{item.kind} `{item.name}` has {item.lines} lines, more than {MAX_FUNCTION_LINES}: split it"
                amount = _round_up(item.lines, _FUNCTION_STEP_LINES)
                yield Violation("long-function", f"{file.area} {item.name}", file.path, item.line, message, amount)


def find_large_packages(files: Sequence[SourceFile]) -> Iterator[Violation]:
    counts = Counter(file.path.rpartition("/")[0] for file in files if file.path.startswith(PACKAGE))
    for package, count in counts.items():
        if count > MAX_PACKAGE_FILES:
            message = f"package has {count} files, more than {MAX_PACKAGE_FILES}: split it"
            yield Violation("large-package", package, package, 1, message, count)


def find_large_classes(files: Sequence[SourceFile]) -> Iterator[Violation]:
    """Classes of the package with many attributes, those of base classes included. Values may have any number."""
    classes = PackageClasses(files)
    for place, (file, item) in classes.items():
        count = len(classes.attributes_of(place))
        if count > MAX_ATTRIBUTES and not item.is_value:
            message = f"class `{item.name}` has {count} attributes, more than {MAX_ATTRIBUTES}: split it"
            yield Violation("large-class", f"{file.area} {item.name}", file.path, item.line, message, count)


def find_deep_inheritance(files: Sequence[SourceFile]) -> Iterator[Violation]:
    """Classes of the package that have more than one ancestor in the package, one above the other. Exceptions may: a
    caller catches as many of them as it wants by naming a base, and they share no code."""
    classes = PackageClasses(files)
    for place, (file, item) in classes.items():
        line = [item.name, *classes.longest_line_above(place)]
        if len(line) > MAX_INHERITANCE_DEPTH and not classes.is_exception(place):
            message = f"class `{item.name}` is too deep, compose it instead: {' < '.join(line)}"
            yield Violation("deep-inheritance", f"{file.area} {item.name}", file.path, item.line, message, len(line))


def _round_up(lines: int, step: int) -> int:
    """Sizes in the baseline are ceilings, so that an edit of a line or two does not change it."""
    return -(-lines // step) * step
