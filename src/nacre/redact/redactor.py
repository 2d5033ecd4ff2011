"""Redactor: secret values that no rendering of a result may show. It only offers masking.

It is attached to a `Result`, whose `repr` and `==` ignore it, and it is copied and pickled without its values, so that
logging or sending a result discloses no secret. Variables removed from the environment are examined when the first text
is masked; a run whose result is not rendered costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nacre.base.lazy_regex import lazy_regex
from nacre.environment import looks_secret

_PATH = lazy_regex(r"(?:~|\.{1,2})?(?:/[\w.@+-]{1,30})+/?")
"""Path of a file with secrets (`NETRC`), which is not a secret itself."""
_KNOWN_TO_ALL = frozenset("postgres password changeme example default secret production development localhost".split())
"""Placeholders used where a secret is required but none is needed. Masking them would hide every other mention."""
_LOGIN = lazy_regex(r"://[^/?#\s:@]*:([^\s@]{6,500})@")


class Redactor:
    """Masks the secrets of a run in text and data."""

    __slots__ = ("_found", "_inherited", "_kept", "explicit")

    def __init__(
        self,
        secrets: Iterable[str] = (),
        inherited: Mapping[str, str] | None = None,
        kept: Mapping[str, str] | None = None,
    ) -> None:
        """Create a redactor for the caller's `secrets` and for `inherited` variables that look like secrets and are not
        `kept`."""
        self.explicit = tuple(secrets)
        self._inherited = {} if inherited is None else inherited
        self._kept = {} if kept is None else kept
        self._found: tuple[str, ...] | None = None

    def values(self) -> tuple[str, ...]:
        """Return the secret values, for callers that mask text in pieces. They must not be shown."""
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
        """Return the text with secrets masked, as a command wrote it or as it is shown.

        `starts_cut`, `ends_cut`: text is missing at that end. Next to `…`, where nacre has cut the text, parts of
        secrets are masked, too.
        """
        values = self.values()
        if not values or not text:
            return text
        from nacre.redact.mask import mask_ansi, mask_note  # imported only if there are secrets

        if starts_cut or ends_cut:
            return mask_ansi(text, values, starts_cut=starts_cut, ends_cut=ends_cut)
        return mask_note(text, values)

    def mask_all(self, data: Any) -> Any:
        """Mask every string in plain data."""
        if isinstance(data, str):
            return self.mask(data)
        if isinstance(data, dict):
            return {name: self.mask_all(value) for name, value in data.items()}
        return [self.mask_all(value) for value in data] if isinstance(data, list) else data

    def __repr__(self) -> str:
        return "Redactor(…)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _no_values, ()


def _no_values() -> None:
    return None


_task_secrets: dict[str, None] = {}
"""Explicit secrets of runs that became tasks of this process: later readers of those tasks have no context."""


def register_task_secrets(redactor: Redactor | None) -> None:
    """Remember the secrets of a run that becomes a task."""
    if redactor is not None:
        _task_secrets.update(dict.fromkeys(redactor.explicit))


def task_secrets() -> tuple[str, ...]:
    """Return the explicit secrets of runs that became tasks of this process."""
    return tuple(_task_secrets)
