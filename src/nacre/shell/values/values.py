"""Of many alike (a loop's values, an input's lines, a function's calls), which have to be followed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import TypeAlias, TypeVar

from nacre.base.lazy_regex import later
from nacre.shell.registry import is_known
from nacre.shell.symbolic import LOST, plain, whole

Value: TypeAlias = str | tuple[str, ...]
"""A variable's text, or an array's. Elements that have a key are written `key KEYED value`."""
_Value = TypeVar("_Value", bound=Value)

MOST = 24
"""So many are followed however long the script is."""
ALL = 256
"""So many values a loop has, whatever they are."""
WAYS = 64
"""Values of one variable from different ways through the script, besides the latest."""
_SHORT = 100
"""Characters of what can be precious."""
_FEW = 100
"""Elements of an array up to which each is looked at; a longer one may always hold something."""
_TELLS = later(
    r"""(?:\A|[\s=:,'"(@+])(?:[/~.*?\[!:+-]|\Z)|[;&|<>`$(){}\\*?\[]|/\.|\b(?:mkfs|newfs)|\A-?[01]\Z|\A0?777\Z"""
)
"""Not found in plain relative names, in numbers and in sentences."""
_DESTROYERS = frozenset(
    "rm rmdir unlink shred srm truncate wipefs fdisk sfdisk gdisk sgdisk parted mkswap blkdiscard kill killall pkill "
    "chmod chown chgrp shutdown reboot halt poweroff init telinit crontab userdel deluser docker podman kubectl "
    "terraform tofu pulumi dropdb dropuser redis-cli mongo mongosh iptables ufw nft drop destroy delete prune".split()
)


def matters(value: Value) -> bool:
    """Whether it may be more than a plain name: a place, an option, a program, a text to be read, something unknown."""
    if not isinstance(value, str):
        return len(value) > _FEW or any(map(matters, value))
    if not plain(value) or _TELLS.search(value):
        return True
    return any(word in _DESTROYERS or is_known(word) for word in value.lower().split())


def foremost(values: list[_Value]) -> list[_Value]:
    """The first of them, and those of the others that may matter."""
    if len(values) <= ALL:
        return values
    return [*values[:ALL], *filter(matters, dict.fromkeys(islice(values, ALL, None)))]


def either(mine: list[Value], values: list[Value]) -> list[Value]:
    """The values that a variable may have after one way or another."""
    return either_of((mine, values))


def either_of(ways: Iterable[list[Value]]) -> list[Value]:
    """After any of these. Of very many the latest are kept and, of the others that may matter, the shortest: what is
    precious has a short name, what grows in a loop is long."""
    both = list(dict.fromkeys(chain.from_iterable(ways)))
    if len(both) <= MOST:
        return both
    others = sorted(filter(matters, both[:-MOST]), key=len)
    if any(isinstance(each, str) and len(each) < _SHORT and whole(each) for each in others[WAYS:]):
        return [*others[:WAYS], LOST, *both[-MOST:]]
    return others[:WAYS] + both[-MOST:]
