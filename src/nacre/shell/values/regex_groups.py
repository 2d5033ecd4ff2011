"""The groups that `[[ text =~ regex ]]` stores in BASH_REMATCH."""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.symbolic import UNKNOWN, is_fully_known

_ONE_GROUP = lazy_regex(r"(\^?)([\w :/=@,-]*)\(\.([*+])\)([\w :/=@,-]*)(\$?)")


def regex_groups(text: str, regex: str) -> tuple[str, ...]:
    """Return BASH_REMATCH after `=~`; unknown unless the regex is one group between plain words."""
    form = _ONE_GROUP.fullmatch(regex) if is_fully_known(text) and is_fully_known(regex) else None
    if form is None:
        return (UNKNOWN,) * 10
    starts, before, more, after, ends = form.groups()
    start = 0 if starts else text.find(before)
    inner = start + len(before)
    last = len(text) - len(after) if ends else text.rfind(after, inner)
    fits = start >= 0 and text.startswith(before, start) and last >= inner + (more == "+")
    if not fits or not text.startswith(after, last):
        return (UNKNOWN,) * 10
    return text[start : last + len(after)], text[inner:last]
