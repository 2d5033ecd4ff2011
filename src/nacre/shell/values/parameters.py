"""Operations of `${…}` on texts: fields, slices, case changes, replacements, trimming. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from nacre.shell.symbolic import STAR, UNKNOWN, glob_to_regex, is_fully_known, to_source
from nacre.shell.values.values import Value

BLANKS = " \t\n"
_MAX_STEPS = 1_000_000


def split_fields(text: str, ifs: str) -> list[str | None]:
    """Split a text into fields by `IFS`; None where there is no field."""
    if not any(each in text for each in ifs):
        return [text or None]
    pieces: list[str | None] = []
    start = 0
    for found in re.finditer(separator(ifs), text):
        pieces.append(text[start : found.start()] or (None if found[0].isspace() else ""))
        start = found.end()
    return [*pieces, text[start:] or None]


@lru_cache(16)
def separator(ifs: str) -> str:
    """Return a regex for field separators: consecutive blanks, or another character with blanks around it."""
    blanks = re.escape("".join(each for each in ifs if each in BLANKS))
    others = re.escape("".join(each for each in ifs if each not in BLANKS))
    around = f"[{blanks}]*+" if blanks else ""
    return "|".join(filter(None, (others and f"{around}[{others}]{around}", blanks and f"[{blanks}]+")))


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def slice_value(value: Value, found: re.Match[str]) -> Value:
    start = int(found[1] or 0)
    length = None if found[2] is None else int(found[2])
    rest = value[start:]
    if length is None:
        return rest
    return rest[:length]


def change_case(value: str, operator: str, glob: str) -> str:
    """Change the case of a value. `glob`: matches the characters to change, if not all are."""
    change = {"^": str.upper, ",": str.lower, "~": str.swapcase}[operator[0]]
    if glob:
        if not is_fully_known(glob):
            return UNKNOWN
        regex = re.compile(glob_to_regex(glob), re.DOTALL)
        changed = [change(each) if regex.fullmatch(each) else each for each in value]
        return "".join(changed if len(operator) == 2 else (*changed[:1], value[1:]))
    return change(value) if len(operator) == 2 else change(value[:1]) + value[1:]


def replace_pattern(value: str, operator: str, searched: str, replacement: str, *, literally: bool) -> str:
    """Apply `${x/searched/replacement}`.

    `&` in a replacement is the matched text since bash 5.2; in older versions, and with `literally`, it is itself.
    """
    anchor = searched[:1] if operator == "/" and searched[:1] in "#%" else ""
    searched = searched[len(anchor) :]
    if not searched and not anchor:
        return value
    if not is_fully_known(searched) or _is_slow_pattern(value, searched):
        return UNKNOWN
    regex = glob_to_regex(searched)
    regex = {"#": f"\\A(?:{regex})", "%": f"(?:{regex})\\Z"}.get(anchor, regex)
    text = to_source(replacement)

    def replacement_for(found: re.Match[str]) -> str:
        return text if literally else text.replace("&", found[0])

    try:
        return re.sub(regex, replacement_for, value, count=0 if operator == "//" else 1, flags=re.DOTALL)
    except re.error:
        return UNKNOWN


def trim_pattern(value: str, operator: str, given: str) -> str:
    """Remove the shortest or longest prefix or suffix that matches: `#`, `##`, `%`, `%%`."""
    if not is_fully_known(given) or _is_slow_pattern(value, given):
        return UNKNOWN
    try:
        regex = re.compile(glob_to_regex(given), re.DOTALL)
    except re.error:
        return UNKNOWN
    lengths = range(len(value) + 1) if len(operator) == 1 else range(len(value), -1, -1)
    for length in lengths:
        if operator[0] == "#" and regex.fullmatch(value, 0, length):
            return value[length:]
        if operator[0] == "%" and regex.fullmatch(value, len(value) - length):
            return value[: len(value) - length]
    return value


def pattern_cost(value: str, glob: str) -> int:
    """Return the steps it takes to try a pattern: each star multiplies them."""
    return min(len(value) ** (min(glob.count(STAR), 8) + 1), _MAX_STEPS + 1) if value else 0


def _is_slow_pattern(value: str, glob: str) -> bool:
    return pattern_cost(value, glob) > _MAX_STEPS
