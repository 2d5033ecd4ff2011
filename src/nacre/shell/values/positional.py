"""Positional parameters: what `"$@"` may be here, one list of words or another. Pure."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from nacre.shell.command import EVERY
from nacre.shell.symbolic import BELOW, SOME, UNKNOWN
from nacre.shell.values.values import MOST, WAYS, matters


class Arguments(NamedTuple):
    words: tuple[str, ...]
    firm: int = EVERY
    """As in `Command.firm`; less than 0 if one that may be none or several was shifted out: all may be others."""

    def shifted(self, number: int | None) -> Arguments:
        """After `shift`; None: by a number that is not known."""
        if number is None or (number >= len(self.words) and UNKNOWN in self.words):  # `"$@"`, perhaps several
            return ANY
        if self.firm < EVERY:
            return Arguments(self.words[number:], max(-1, self.firm - number))
        return Arguments(self.words[number:]) if number <= len(self.words) else self  # or it fails, and they stay


Lists: TypeAlias = tuple[Arguments, ...]
"""One of these; none at all where nobody has given any."""
ANY = Arguments((UNKNOWN,), -1)


def together(*ways: Lists) -> Lists:
    """What they may be after one way or another. Of very many the latest are kept and, of the others that may matter,
    the shortest; what the rest was is not known."""
    found = list(dict.fromkeys(each for lists in ways for each in lists or (ANY,)))
    if len(found) <= MOST:
        return tuple(found)
    others = sorted((each for each in found[:-MOST] if matters(each.words)), key=lambda each: len(each.words))
    kept = dict.fromkeys((*others[:WAYS], *found[-MOST:]))
    return tuple(kept) if len(kept) == len(found) else tuple(dict.fromkeys((*kept, ANY)))


def ends(lists: Lists) -> Lists:
    """What may be left after any number of `shift`s; of lists that are very long, the first."""
    return tuple(each.shifted(number) for each in lists for number in range(min(len(each.words), WAYS) + 1))


def chosen(lists: Lists) -> Lists:
    """On a condition: of what was found somewhere, no longer all."""
    if not any(BELOW in word for each in lists for word in each.words):
        return lists
    return tuple(Arguments(tuple(word.replace(BELOW, SOME) for word in each.words), each.firm) for each in lists)


def effort(lists: Lists) -> int:
    """What it counts as, in characters, to look at them all."""
    return sum(len(each.words) for each in lists)
