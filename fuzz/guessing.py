"""Texts that hypothesis makes up: characters and bytes of any kind, tokens in any order, and whatever nests."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fuzz.reading import PIECES, SIGNS, Reading

_BATCH = 50
_LEAST = 6
"""Characters of a text that says anything."""
_ROUNDS = 20
"""Times that hypothesis is asked for more: it repeats itself, and begins with what is small."""
_SAID = ("a", "rm", "-rf", "/", "~", "$x", '"$@"', "x=1", "1", "*", "{a,b}", "git", "push", "in", "''")
_WORDS = st.sampled_from(_SAID)
_TOKENS = st.one_of(st.sampled_from(PIECES), st.sampled_from(SIGNS), _WORDS)
_NESTS = (
    "$(%s)", "(%s)", "{ %s; }", '"%s"', "'%s'", "`%s`", "$((%s))", "${x:-%s}", "${x/%s/y}", "[[ %s ]]", "a[%s]=1",
    "x=(%s)", "if %s; then %s; fi", "for i in %s; do %s; done", "while %s; do %s; done", "case %s in %s) %s;; esac",
    "f() { %s; }; f", "cat <<E\n%s\nE\n", "<(%s)", "eval %s", "bash -c '%s'", "sudo %s", "trap '%s' EXIT",
    "coproc %s", "echo %s | %s", "! %s", "%s &", "%s && %s", "%s; %s", "%s > %s", "%s <<< %s", "alias a='%s'\na",
)  # fmt: skip


def _nested_strategy(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def filled(form: str) -> st.SearchStrategy[str]:
        return st.tuples(*[inner] * form.count("%s")).map(lambda texts: form % texts)

    return st.sampled_from(_NESTS).flatmap(filled)


def _long(number: int) -> str:
    """Some kilobytes, of which hypothesis only chooses the seed: to draw each sign would take it a second."""
    made = random.Random(number)
    parts = made.choice((SIGNS + "ab1 ", PIECES, (*PIECES, *SIGNS, *_SAID), tuple(f"{each} " for each in _SAID)))
    return made.choice(("", " ")).join(made.choices(parts, k=made.randint(100, 1_500)))


_TEXTS = st.one_of(
    st.text(min_size=_LEAST),
    st.binary(min_size=_LEAST, max_size=500).map(lambda data: data.decode(errors="surrogateescape")),
    st.lists(_TOKENS, min_size=5, max_size=60).map("".join),
    st.lists(_TOKENS, min_size=5, max_size=60).map(" ".join),
    st.recursive(_WORDS, _nested_strategy, max_leaves=25),
    *(st.integers(first, 2**62).map(_long) for first in range(3)),
)


class Guessing(Reading):
    """Cases come in batches, each from one seed of hypothesis's."""

    def __init__(self) -> None:
        super().__init__()
        self._batch: tuple[int, list[str]] = -1, []

    def invent(self, seed: int) -> str:
        number, at = divmod(seed, _BATCH)
        if self._batch[0] != number:
            self._batch = number, _draw_texts(number)
        return self._batch[1][at]


def _draw_texts(number: int) -> list[str]:
    """Texts that are all different, and none of them next to nothing."""
    found: dict[str, None] = {}
    for turn in range(_ROUNDS):
        _draw(found, number * _ROUNDS + turn)
        if len(found) >= _BATCH:
            return list(found)[-_BATCH:]  # those that it begins with are the same every time
    raise AssertionError(f"hypothesis has made up no more than {len(found)} texts of {_BATCH}")


def _draw(found: dict[str, None], number: int) -> None:
    @seed(number)
    @settings(
        max_examples=2 * _BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_TEXTS)
    def take(text: Any) -> None:
        if len(text.strip()) >= _LEAST and len(found) < 2 * _BATCH:
            found[text] = None

    take()
