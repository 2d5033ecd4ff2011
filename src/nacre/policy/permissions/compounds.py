"""Split a compound command into parts, with single spaces, for rules that name a compound. Pure.

Not a parser: it knows only quotes and the operators between commands.
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.base.lazy_regex import lazy_regex

_TOKEN = lazy_regex(
    r"""(?s:'[^']*'|"(?:\\.|[^"\\])*"|\\.)|&?>+[&|]?|<+&?|(\|\||&&|;;?|\n)|(\|&?)|(&)|[^'"\\&>|<;\n]+|."""
)
_OPENING = lazy_regex(r"(?:(?:[({!]|if|then|elif|else|do|while|until|time) ?)*")
_CLOSING = " )}"


def parts(text: str) -> tuple[list[str], list[str]]:
    """Return the pipelines of a text, and the operators between them."""
    found: list[list[str]] = [[]]
    between = []
    for token in _TOKEN.finditer(text):
        if token[1] or token[3]:
            found.append([])
            between.append(token[0])
        else:
            found[-1].append(" | " if token[2] else token[0])
    return [" ".join("".join(part).split()) for part in found], between


def compounds(text: str, length: int) -> Iterator[str]:
    """Yield each sequence of `length` pipelines as normalised text, with and without the shell syntax around it."""
    found, between = parts(text)
    for start in range(len(found) - length + 1):
        run = found[start]
        for place in range(start, start + length - 1):
            run += f" {between[place]} {found[place + 1]}"
        yield run
        yield run[_OPENING.match(run).end() :].rstrip(_CLOSING)  # type: ignore[union-attr]  # it also matches ""
