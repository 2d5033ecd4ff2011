"""Checks names, docstring openings, sizes and inheritance, except for the known violations in baseline.txt.

Fails on a violation that is not in the baseline, and on a line of the baseline that is fixed. Plain names for the
banned ones are in glossary.txt, violations that may stay are in exceptions.txt.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from scripts.lint.baseline import (
    BaselineError,
    check_rebase,
    entry_of,
    find_new,
    find_stale,
    read_baseline,
    read_exceptions,
    shrink,
    total_amounts,
    write_baseline,
)
from scripts.lint.checks import find_violations
from scripts.lint.glossary import GlossaryError, read_glossary
from scripts.lint.source import read_files

_DATA = Path(__file__).parent
_MISSING = "glossary.txt: give the new path of a module that has moved; none of these exists:"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.lint", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=_DATA.parent.parent, help="directory of the project")
    parser.add_argument("--data", type=Path, default=_DATA, help="directory of glossary, exceptions and baseline")
    parser.add_argument("--summary", action="store_true", help="print how many known violations each rule has")
    writing = parser.add_mutually_exclusive_group()
    writing.add_argument("--update", action="store_true", help="remove fixed violations from the baseline")
    writing.add_argument(
        "--rebase",
        action="store_true",
        help="write the baseline anew after renames, if no rule has more violations than before",
    )
    options = parser.parse_args()
    try:
        complaints = check(options.root, options.data, update=options.update, rebase=options.rebase)
        if options.summary:
            print_summary(options.data)
    except (BaselineError, GlossaryError) as error:
        complaints = [str(error)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def check(root: Path, data: Path, *, update: bool, rebase: bool) -> list[str]:
    """Compare the project with the baseline; return what is wrong. With `update` or `rebase`, write the baseline."""
    path = data / "baseline.txt"
    glossary = read_glossary(data / "glossary.txt")
    exceptions = read_exceptions(data / "exceptions.txt")
    files = read_files(root)
    violations = find_violations(files, glossary)
    unused = set(exceptions).difference(map(entry_of, violations))
    violations = [violation for violation in violations if entry_of(violation) not in exceptions]
    found, baseline = total_amounts(violations), read_baseline(path)
    if rebase:
        if path.exists():
            check_rebase(found, baseline)
        baseline = found
    elif update:
        baseline = shrink(found, baseline)
    if rebase or update:
        write_baseline(path, baseline)
    return [
        *find_new(violations, baseline),
        *find_stale(found, baseline),
        *(f"remove it from the exceptions: {entry}" for entry in sorted(unused)),
        *(f"{_MISSING} [{title}]" for title in glossary.missing_sections(frozenset(file.module for file in files))),
    ]


def print_summary(data: Path) -> None:
    """Print the number of known violations per rule."""
    rules = Counter(entry.partition(" ")[0] for entry in read_baseline(data / "baseline.txt"))
    for rule, lines in sorted(rules.items()):
        print(f"{rule}: {lines}")


if __name__ == "__main__":
    sys.exit(main())
