"""Texts that hypothesis makes up: characters and bytes of any kind, tokens in any order, and whatever nests."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fuzz.reading import PIECES, SIGNS, Reading

_BATCH = 50
_WORDS = st.sampled_from(
    ("a", "rm", "-rf", "/", "~", "$x", '"$@"', "x=1", "1", "*", "{a,b}", "git", "push", "in", "''")
)
_TOKENS = st.one_of(st.sampled_from(PIECES), st.sampled_from(SIGNS), _WORDS)
_NESTS = (
    "$(%s)", "(%s)", "{ %s; }", '"%s"', "'%s'", "`%s`", "$((%s))", "${x:-%s}", "${x/%s/y}", "[[ %s ]]", "a[%s]=1",
    "x=(%s)", "if %s; then %s; fi", "for i in %s; do %s; done", "while %s; do %s; done", "case %s in %s) %s;; esac",
    "f() { %s; }; f", "cat <<E\n%s\nE\n", "<(%s)", "eval %s", "bash -c '%s'", "sudo %s", "trap '%s' EXIT",
    "coproc %s", "echo %s | %s", "! %s", "%s &", "%s && %s", "%s; %s", "%s > %s", "%s <<< %s", "alias a='%s'\na",
)  # fmt: skip


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def filled(form: str) -> st.SearchStrategy[str]:
        return st.tuples(*[inner] * form.count("%s")).map(lambda texts: form % texts)

    return st.sampled_from(_NESTS).flatmap(filled)


_TEXTS = st.one_of(
    st.text(),
    st.binary(max_size=500).map(lambda data: data.decode(errors="surrogateescape")),
    st.lists(_TOKENS, max_size=60).map("".join),
    st.lists(_TOKENS, max_size=60).map(" ".join),
    st.recursive(_WORDS, _nested, max_leaves=25),
)


class Guessing(Reading):
    """Cases come in batches, each from one seed of hypothesis's."""

    def __init__(self) -> None:
        super().__init__()
        self._batch: tuple[int, list[str]] = -1, []

    def invent(self, seed: int) -> str:
        number, at = divmod(seed, _BATCH)
        if self._batch[0] != number:
            self._batch = number, _drawn(number)
        return self._batch[1][at % len(self._batch[1])]


def _drawn(number: int) -> list[str]:
    found: list[str] = []

    @seed(number)
    @settings(
        max_examples=_BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_TEXTS)
    def take(text: Any) -> None:
        found.append(text)

    take()
    return found
