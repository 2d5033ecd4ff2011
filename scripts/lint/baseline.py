"""Known violations and exceptions: the two files, and the comparison with the violations found.

baseline.txt has a line `rule key = amount` for each known violation: the number of places, or the ceiling of a size.
It may only shrink. exceptions.txt has a line `rule key -- reason` for each violation that may stay.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from scripts.lint.checks import Violation

_HEADER = """\
# Known violations, one per line: `rule key = number of places, or ceiling of a size`. This file may only shrink:
# `python -m scripts.lint --update` removes the lines that are fixed.
"""

Amounts = Mapping[str, int]


class BaselineError(Exception):
    """A line of one of the files cannot be read, or the baseline would grow."""


def read_baseline(path: Path) -> dict[str, int]:
    """Read `rule key` to amount; empty when there is no file. Raises BaselineError for a line that cannot be read."""
    amounts: dict[str, int] = {}
    for number, line in _read_lines(path):
        entry, separator, amount = line.rpartition(" = ")
        if not separator or not amount.isdecimal() or int(amount) == 0 or entry in amounts:
            raise BaselineError(f"{path.name}:{number}: expected `rule key = amount`, once per key: {line}")
        amounts[entry] = int(amount)
    return amounts


def write_baseline(path: Path, amounts: Amounts) -> None:
    lines = [f"{entry} = {amount}\n" for entry, amount in sorted(amounts.items()) if amount]
    path.write_text(_HEADER + "".join(lines), encoding="utf-8")


def read_exceptions(path: Path) -> dict[str, str]:
    """Read `rule key` to reason. Raises BaselineError for a line without a reason."""
    reasons: dict[str, str] = {}
    for number, line in _read_lines(path):
        entry, separator, reason = line.partition(" -- ")
        if not separator or not reason.strip():
            raise BaselineError(f"{path.name}:{number}: expected `rule key -- reason`: {line}")
        reasons[entry.strip()] = reason.strip()
    return reasons


def total_amounts(violations: Iterable[Violation]) -> dict[str, int]:
    """Add up the violations by `rule key`."""
    amounts: Counter[str] = Counter()
    for violation in violations:
        amounts[entry_of(violation)] += violation.amount
    return dict(amounts)


def entry_of(violation: Violation) -> str:
    return f"{violation.rule} {violation.key}"


def find_new(violations: Sequence[Violation], baseline: Amounts) -> list[str]:
    """Describe every violation that the baseline does not cover, as `path:line: message`."""
    by_entry: dict[str, list[Violation]] = defaultdict(list)
    for violation in violations:
        by_entry[entry_of(violation)].append(violation)
    messages: list[str] = []
    for entry, found in by_entry.items():
        amount, known = sum(item.amount for item in found), baseline.get(entry, 0)
        if amount > known:
            note = f" (baseline: {known}, now {amount})" if known else ""
            messages += [f"{item.path}:{item.line}: {item.message}{note}" for item in found]
    return messages


def find_stale(found: Amounts, baseline: Amounts) -> list[str]:
    """Describe every baseline line that is fixed, in whole or in part."""
    return [
        f"remove it from the baseline: {entry} = {known}"
        if entry not in found
        else f"lower it in the baseline: {entry} = {known}, now {found[entry]}"
        for entry, known in baseline.items()
        if found.get(entry, 0) < known
    ]


def shrink(found: Amounts, baseline: Amounts) -> dict[str, int]:
    """The baseline without what is fixed. Adds nothing."""
    return {entry: min(known, found.get(entry, 0)) for entry, known in baseline.items() if entry in found}


def check_rebase(found: Amounts, baseline: Amounts) -> None:
    """Raise BaselineError where the violations found are more than those known, for any rule."""
    for rule in sorted({entry.partition(" ")[0] for entry in found}):
        now, known = _totals(found, rule), _totals(baseline, rule)
        if now[0] > known[0] or now[1] > known[1]:
            raise BaselineError(
                f"{rule}: the baseline may only shrink: {known[0]} lines that add up to {known[1]}, "
                f"now {now[0]} lines that add up to {now[1]}"
            )


def _totals(amounts: Amounts, rule: str) -> tuple[int, int]:
    """Number of lines of one rule, and the sum of their amounts."""
    matching = [amount for entry, amount in amounts.items() if entry.startswith(f"{rule} ")]
    return len(matching), sum(matching)


def _read_lines(path: Path) -> list[tuple[int, str]]:
    if not path.exists():
        return []
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return [(number, line.strip()) for number, line in lines if line.strip() and not line.startswith("#")]
