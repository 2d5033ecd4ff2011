"""Positional parameters: the lists of words that `"$@"` may be. Pure."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from nacre.shell.command import MAX_ARGUMENTS
from nacre.shell.symbolic import ALL_FOUND, UNKNOWN, UNKNOWN_NONEMPTY
from nacre.shell.values.values import MAX_FOLLOWED_ALWAYS, MAX_VALUES, may_be_dangerous


class PositionalArguments(NamedTuple):
    words: tuple[str, ...]
    certain_args: int = MAX_ARGUMENTS
    """As in `Command.certain_args`; negative if a word that may be none or several was shifted out: none is certain."""

    def shift(self, number: int | None) -> PositionalArguments:
        """Return the parameters after `shift`. `number`: None if it is not known."""
        if number is None or (number >= len(self.words) and UNKNOWN in self.words):  # `"$@"` may be several
            return ANY
        if self.certain_args < MAX_ARGUMENTS:
            return PositionalArguments(self.words[number:], max(-1, self.certain_args - number))
        return (
            PositionalArguments(self.words[number:]) if number <= len(self.words) else self
        )  # or it fails and changes nothing


Lists: TypeAlias = tuple[PositionalArguments, ...]
"""The lists that `"$@"` may be; empty if no arguments were given."""
ANY = PositionalArguments((UNKNOWN,), -1)


def merge_lists(*alternatives: Lists) -> Lists:
    """Return the lists that `"$@"` may be after several alternatives.

    Of very many, the latest are kept and, of the others that may be dangerous, the shortest; `ANY` stands for the rest.
    """
    found = list(dict.fromkeys(each for lists in alternatives for each in lists or (ANY,)))
    if len(found) <= MAX_FOLLOWED_ALWAYS:
        return tuple(found)
    others = sorted(
        (each for each in found[:-MAX_FOLLOWED_ALWAYS] if may_be_dangerous(each.words)),
        key=lambda each: len(each.words),
    )
    kept = dict.fromkeys((*others[:MAX_VALUES], *found[-MAX_FOLLOWED_ALWAYS:]))
    return tuple(kept) if len(kept) == len(found) else tuple(dict.fromkeys((*kept, ANY)))


def all_shifts(lists: Lists) -> Lists:
    """Return what may be left after any number of `shift`s; of very long lists only the first `MAX_VALUES` shifts."""
    return tuple(each.shift(number) for each in lists for number in range(min(len(each.words), MAX_VALUES) + 1))


def without_all_found(lists: Lists) -> Lists:
    """Return the lists after a condition was met: the paths in them are no longer all that `find` found."""
    if not any(ALL_FOUND in word for each in lists for word in each.words):
        return lists
    return tuple(
        PositionalArguments(tuple(word.replace(ALL_FOUND, UNKNOWN_NONEMPTY) for word in each.words), each.certain_args)
        for each in lists
    )


def merge_cost(lists: Lists) -> int:
    """Return the cost, in characters, of looking at all lists."""
    return sum(len(each.words) for each in lists)
