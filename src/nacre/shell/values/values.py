"""Of many alike (a loop's values, an input's lines, a function's calls), which have to be followed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import TypeAlias, TypeVar

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.registry import is_known
from nacre.shell.symbolic import TOO_LONG, is_fully_known, is_literal

Value: TypeAlias = str | tuple[str, ...]
"""A variable's text, or an array's. Elements that have a key are written `key KEYED value`."""
_Value = TypeVar("_Value", bound=Value)

MAX_FOLLOWED_ALWAYS = 24
"""So many are followed however long the script is."""
MAX_LOOP_VALUES = 256
"""So many values a loop has, whatever they are."""
MAX_VALUES = 64
"""Values of one variable from different ways through the script, besides the latest."""
_MAX_DANGEROUS_CHARS = 100
"""Characters of what can be precious."""
_MAX_CHECKED_ELEMENTS = 100
"""Elements of an array up to which each is looked at; a longer one may always hold something."""
_TELLS = lazy_regex(
    r"""(?:\A|[\s=:,'"(@+])(?:[/~.*?\[!:+-]|\Z)|[;&|<>`$(){}\\*?\[]|/\.|\b(?:mkfs|newfs)|\A-?[01]\Z|\A0?777\Z"""
)
"""Not found in plain relative names, in numbers and in sentences."""
_DESTROYERS = frozenset(
    "rm rmdir unlink shred srm truncate wipefs fdisk sfdisk gdisk sgdisk parted mkswap blkdiscard kill killall pkill "
    "chmod chown chgrp shutdown reboot halt poweroff init telinit crontab userdel deluser docker podman kubectl "
    "terraform tofu pulumi dropdb dropuser redis-cli mongo mongosh iptables ufw nft drop destroy delete prune".split()
)


def may_be_dangerous(value: Value) -> bool:
    """Whether it may be more than a plain name: a place, an option, a program, a text to be read, something unknown."""
    if not isinstance(value, str):
        return len(value) > _MAX_CHECKED_ELEMENTS or any(map(may_be_dangerous, value))
    if not is_literal(value) or _TELLS.search(value):
        return True
    return any(word in _DESTROYERS or is_known(word) for word in value.lower().split())


def limit_values(values: list[_Value]) -> list[_Value]:
    """The first of them, and those of the others that may matter."""
    if len(values) <= MAX_LOOP_VALUES:
        return values
    return [*values[:MAX_LOOP_VALUES], *filter(may_be_dangerous, dict.fromkeys(islice(values, MAX_LOOP_VALUES, None)))]


def union(mine: list[Value], values: list[Value]) -> list[Value]:
    """The values that a variable may have after one way or another."""
    return union_of((mine, values))


def union_of(alternatives: Iterable[list[Value]]) -> list[Value]:
    """After any of these. Of very many the latest are kept and, of the others that may matter, the shortest: what is
    precious has a short name, what grows in a loop is long."""
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
