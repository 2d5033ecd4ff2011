"""Sandbox messages between host and keeper: encoding and decoding are inverse, and other bytes are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.sandbox.kernel.ruleset import HIDDEN, READ_ONLY, SHM, WRITABLE, Ruleset

naturals = st.integers(min_value=0, max_value=2**63)
texts = st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"")).filter(bool)
paths = texts.map(lambda text: b"/" + text)
words = st.from_regex(rb"[A-Za-z_]{1,20}", fullmatch=True)
parts = st.fixed_dictionaries(
    {},
    optional={
        "drop_privileges": st.booleans(),
        "landlock": st.none() | st.tuples(naturals, naturals, naturals),
        "grants": st.lists(st.tuples(naturals, paths)),
        "ports": st.lists(st.integers(1, 65535)),
        "filter": st.binary(max_size=64),
        "read_only_root": st.booleans(),
        "mounts": st.lists(st.tuples(st.sampled_from([WRITABLE, READ_ONLY, HIDDEN, SHM]), paths)),
        "loopback": st.booleans(),
        "private_tmpdir": st.just(b"") | paths,
        "redirects": st.lists(st.tuples(words, texts)),
        "limits": st.lists(st.tuples(st.integers(0, 15), naturals)),
        "watched_limits": st.lists(st.tuples(st.sampled_from([b"memory", b"cpu", b"processes"]), naturals)),
    },
)


def fields(made: Ruleset) -> dict[str, Any]:
    return {name: getattr(made, name) for name in Ruleset.__slots__ if not name.startswith("_")}


@given(parts)
def test_encoded_ruleset_decodes_to_the_same_fields(given: dict[str, Any]) -> None:
    made = Ruleset(**given)
    told = made.encode()
    assert fields(Ruleset.decode(told)) == fields(made)
    assert Ruleset.decode(told).encode() == told


@given(parts, parts)
def test_rulesets_are_equal_exactly_when_their_bytes_are(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = Ruleset(**one), Ruleset(**other)
    assert (first.encode() == second.encode()) == (fields(first) == fields(second))


def test_empty_ruleset_encodes_to_nothing() -> None:
    assert Ruleset().encode() == b""
    assert fields(Ruleset.decode(b"")) == fields(Ruleset())


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"=",
        b"\0",
        b"drop_privileges=\0",
        b"root=1",
        b"landlock=1 2",
        b"landlock=1 2 3 4",
        b"landlock=a b c",
        b"grant=",
        b"grant=/ 3",
        b"port=http",
        b"port=",
        b"filter=0",
        b"filter=zz",
        b"filter=\xff",
        b"limit=1",
        b"limit=x 1",
        b"watch=memory",
        b"watch=memory lots",
        b"\xff\xfe",
    ],
)
def test_invalid_ruleset_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Ruleset.decode(data)
