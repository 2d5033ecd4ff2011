"""Brace expansion: `{rm,-rf,/}` is three words before anything else happens to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nacre.shell.syntax import Literal, Part

MOST = 64
"""Words that one word may become; further ones are left out."""

LONGEST = 4096
"""Characters of a word whose braces are looked at."""

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?$|([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?$")

_ONE_OF = re.compile(r"@\(([^()]*\|[^()]*)\)")

_Token = str | Part


def braced(parts: Sequence[Part]) -> list[list[Part]]:
    """The words that a word stands for; `@(a|b)` counts as `{a,b}`."""
    for part in parts:
        if isinstance(part, Literal) and not part.quoted and ("{" in part.text or "@(" in part.text):
            break
    else:
        return [list(parts)]
    parts = [_one_of(part) for part in parts]
    if sum(len(part.text) for part in parts if isinstance(part, Literal)) > LONGEST:
        return [list(parts)]
    tokens: list[_Token] = []
    for part in parts:
        if isinstance(part, Literal) and not part.quoted:
            tokens += part.text
        else:
            tokens.append(part)
    done: list[list[_Token]] = []
    waiting = [tokens]
    while waiting and len(done) + len(waiting) <= MOST:
        word = waiting.pop(0)
        choices = _first(word)
        if choices is None:
            done.append(word)
        else:
            waiting = choices + waiting
    return [_joined(word) for word in (done + waiting)[:MOST]]


def _one_of(part: Part) -> Part:
    if not isinstance(part, Literal) or part.quoted:
        return part
    return Literal(_ONE_OF.sub(lambda found: "{" + found[1].replace("|", ",") + "}", part.text), quoted=False)


def _first(tokens: list[_Token]) -> list[list[_Token]] | None:
    """The word once for each choice of its first brace; None if it has none."""
    for start, commas, end in sorted(_pairs(tokens)):
        if commas:
            edges = [start, *commas, end]
            chosen = [tokens[a + 1 : b] for a, b in pairwise(edges)]
        elif not (chosen := _sequence(tokens[start + 1 : end])):
            continue
        return [tokens[:start] + choice + tokens[end + 1 :] for choice in chosen]
    return None


def _pairs(tokens: list[_Token]) -> Iterator[tuple[int, list[int], int]]:
    """Braces that belong together, and the commas that are theirs."""
    opened: list[tuple[int, list[int]]] = []
    for index, token in enumerate(tokens):
        if token == "{" and not (index and tokens[index - 1] == "$"):
            opened.append((index, []))
        elif token == "," and opened:
            opened[-1][1].append(index)
        elif token == "}" and opened:
            yield (*opened.pop(), index)


def _sequence(tokens: list[_Token]) -> list[list[_Token]]:
    text = "".join(token for token in tokens if isinstance(token, str))
    found = _RANGE.match(text) if len(text) == len(tokens) else None
    if found is None:
        return []
    if found[1]:
        first, last, step = int(found[1]), int(found[2]), abs(int(found[3] or 1)) or 1
        numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        return [list(str(number)) for number in numbers[: MOST - 1]]
    first, last, step = ord(found[4]), ord(found[5]), abs(int(found[6] or 1)) or 1
    letters = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [[chr(letter)] for letter in letters]


def _joined(tokens: list[_Token]) -> list[Part]:
    parts: list[Part] = []
    letters: list[str] = []
    for token in [*tokens, None]:
        if isinstance(token, str):
            letters.append(token)
            continue
        if letters:
            parts.append(Literal("".join(letters), quoted=False))
            letters.clear()
        if token is not None:
            parts.append(token)
    return parts
