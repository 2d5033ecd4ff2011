"""Select which of many similar values (of a loop, of input lines, of function calls) have to be followed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import TypeAlias, TypeVar

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.registry import is_known
from nacre.shell.symbolic import TOO_LONG, is_fully_known, is_literal

Value: TypeAlias = str | tuple[str, ...]
"""Text of a variable, or the elements of an array. An element with a key is written `key KEYED value`."""
_Value = TypeVar("_Value", bound=Value)

MAX_FOLLOWED_ALWAYS = 24
"""Values that are followed however long the script is."""
MAX_LOOP_VALUES = 256
"""Values of a loop that are followed, whatever they are."""
MAX_VALUES = 64
"""Values of one variable from different alternatives, in addition to the latest."""
_MAX_DANGEROUS_CHARS = 100
"""Longest text that can name something precious."""
_MAX_CHECKED_ELEMENTS = 100
"""Longest array whose elements are inspected one by one; a longer one always counts as dangerous."""
_TELLS = lazy_regex(
    r"""(?:\A|[\s=:,'"(@+])(?:[/~.*?\[!:+-]|\Z)|[;&|<>`$(){}\\*?\[]|/\.|\b(?:mkfs|newfs)|\A-?[01]\Z|\A0?777\Z"""
)
"""Does not match plain relative names, numbers and sentences."""
_DESTROYERS = frozenset(
    "rm rmdir unlink shred srm truncate wipefs fdisk sfdisk gdisk sgdisk parted mkswap blkdiscard kill killall pkill "
    "chmod chown chgrp shutdown reboot halt poweroff init telinit crontab userdel deluser docker podman kubectl "
    "terraform tofu pulumi dropdb dropuser redis-cli mongo mongosh iptables ufw nft drop destroy delete prune".split()
)


def may_be_dangerous(value: Value) -> bool:
    """Tell whether it may be more than a plain name: a path, an option, a program, code, something unknown."""
    if not isinstance(value, str):
        return len(value) > _MAX_CHECKED_ELEMENTS or any(map(may_be_dangerous, value))
    if not is_literal(value) or _TELLS.search(value):
        return True
    return any(word in _DESTROYERS or is_known(word) for word in value.lower().split())


def limit_values(values: list[_Value]) -> list[_Value]:
    """Return the first values, and those of the others that may be dangerous."""
    if len(values) <= MAX_LOOP_VALUES:
        return values
    return [*values[:MAX_LOOP_VALUES], *filter(may_be_dangerous, dict.fromkeys(islice(values, MAX_LOOP_VALUES, None)))]


def union(mine: list[Value], values: list[Value]) -> list[Value]:
    """Return the values that a variable may have after one alternative or another."""
    return union_of((mine, values))


def union_of(alternatives: Iterable[list[Value]]) -> list[Value]:
    """Return the values that a variable may have after any of these alternatives.

    Of very many, the latest are kept and, of the others that may be dangerous, the shortest: names of precious things
    are short, values that grow in a loop are long. `TOO_LONG` stands for short ones that were dropped.
    """
    both = list(dict.fromkeys(chain.from_iterable(alternatives)))
    if len(both) <= MAX_FOLLOWED_ALWAYS:
        return both
    others = sorted(filter(may_be_dangerous, both[:-MAX_FOLLOWED_ALWAYS]), key=len)
    if any(
        isinstance(each, str) and len(each) < _MAX_DANGEROUS_CHARS and is_fully_known(each)
        for each in others[MAX_VALUES:]
    ):
        return [*others[:MAX_VALUES], TOO_LONG, *both[-MAX_FOLLOWED_ALWAYS:]]
    return others[:MAX_VALUES] + both[-MAX_FOLLOWED_ALWAYS:]
