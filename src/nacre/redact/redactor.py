"""Hidden: values that no rendering of a result may show. They can be asked for a masked text, and for nothing else.

It goes with a `Result` and is printed, compared, copied and pickled as if it were not there (None): whoever logs a
result, or sends it elsewhere, sends no secret with it. What is removed from the environment is looked through by the
first text that is masked; a run whose result nobody renders pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nacre.base.lazy_regex import lazy_regex
from nacre.environment import looks_secret

_PATH = lazy_regex(r"(?:~|\.{1,2})?(?:/[\w.@+-]{1,30})+/?")
"""Of a secret's file (`NETRC`), which is no secret itself."""
_KNOWN_TO_ALL = frozenset("postgres password changeme example default secret production development localhost".split())
"""What people write where a secret is asked for and none is needed. Masked, it would hide every other mention."""
_LOGIN = lazy_regex(r"://[^/?#\s:@]*:([^\s@]{6,500})@")


class Redactor:
    __slots__ = ("_found", "_inherited", "_kept", "explicit")

    def __init__(
        self,
        secrets: Iterable[str] = (),
        inherited: Mapping[str, str] | None = None,
        kept: Mapping[str, str] | None = None,
    ) -> None:
        """The caller's `secrets`, and of what was `inherited` what looks like one and is not `kept`."""
        self.explicit = tuple(secrets)
        self._inherited = {} if inherited is None else inherited
        self._kept = {} if kept is None else kept
        self._found: tuple[str, ...] | None = None

    def values(self) -> tuple[str, ...]:
        """For who masks a text in pieces. Not to be shown."""
        if self._found is None:
            known = set(self._kept.values())
            removed = [
                value
                for name, value in self._inherited.items()
                if name not in self._kept and looks_secret(name, value) and value not in known
            ]
            removed = [value for value in removed if not _PATH.fullmatch(value)]
            removed += [match[1] for value in removed if (match := _LOGIN.search(value))]
            removed = [value for value in removed if value.lower() not in _KNOWN_TO_ALL]
            self._found = tuple(dict.fromkeys((*self.explicit, *removed)))
        return self._found

    def mask(self, text: str, *, starts_cut: bool = False, ends_cut: bool = False) -> str:
        """The text without them, as a command has written it, or as it is shown; `_cut`: there was more of it. Where
        nacre has cut it, which shows by `…`, there may be half of one."""
        values = self.values()
        if not values or not text:
            return text
        from nacre.redact.mask import mask_ansi, mask_note  # not loaded for those who hide nothing

        if starts_cut or ends_cut:
            return mask_ansi(text, values, starts_cut=starts_cut, ends_cut=ends_cut)
        return mask_note(text, values)

    def mask_all(self, data: Any) -> Any:
        """Every text in plain data."""
        if isinstance(data, str):
            return self.mask(data)
        if isinstance(data, dict):
            return {name: self.mask_all(value) for name, value in data.items()}
        return [self.mask_all(value) for value in data] if isinstance(data, list) else data

    def __repr__(self) -> str:
        return "None"

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, Redactor)

    def __hash__(self) -> int:
        return hash(None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _no_values, ()


def _no_values() -> None:
    return None


_task_secrets: dict[str, None] = {}
"""What was named as secret for runs that became tasks of this process: who reads those later has no context."""


def register_task_secrets(redactor: Redactor | None) -> None:
    """Its run goes on as a task."""
    if redactor is not None:
        _task_secrets.update(dict.fromkeys(redactor.explicit))


def task_secrets() -> tuple[str, ...]:
    return tuple(_task_secrets)
