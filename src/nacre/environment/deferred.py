"""Select the variables that take effect while bash starts. Pure.

The dynamic loader, the C library and bash itself act on them before bash reads its script, and so before the keeper has
set the tag and the limits of a run. When they come with a call, they come from a model: the keeper withholds them until
the run may begin. Variables in the embedding program's own environment are that program's responsibility.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LOADER = re.compile(r"(?:LD|DYLD|MALLOC)_[A-Za-z0-9_]+")
_FUNCTION = "BASH_FUNC_"
_NAMES = frozenset(
    (
        "GLIBC_TUNABLES GCONV_PATH LOCPATH MUSL_LOCPATH NLSPATH "
        "ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT BASH_COMPAT BASH_XTRACEFD BASH_LOADABLES_PATH PS4 TMOUT"
    ).split()
)
"""BASH_ENV is not listed: the keeper withholds it in any case."""


def deferred_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that bash may get only after its tag and limits are set."""
    return tuple(name for name in names if _acts_at_start(name))


def _acts_at_start(name: str) -> bool:
    return name in _NAMES or name.startswith(_FUNCTION) or _LOADER.fullmatch(name) is not None
