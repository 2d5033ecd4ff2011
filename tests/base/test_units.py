"""Sizes and durations as people write and read them."""

from __future__ import annotations

import pytest

from nacre.base.units import describe_duration, describe_size, format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("number", "shows"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0K"),
        (1234, "1.2K"),
        (64 * 2**20, "64M"),
        (2**40 - 1, "1.0T"),
        (10**15, "909T"),
    ],
)
def test_format_size_is_short(number: int, shows: str) -> None:
    assert format_size(number) == shows


@pytest.mark.parametrize(
    ("seconds", "shows"),
    [
        (0.04, "0.0s"),
        (9.96, "9s"),
        (59.9, "59s"),
        (60, "1m00s"),
        (3599.9, "59m59s"),
        (8000, "2h13m"),
        (273600, "3d04h"),
    ],
)
def test_format_duration_is_short(seconds: float, shows: str) -> None:
    assert format_duration(seconds) == shows


def test_parse_size_and_parse_duration_take_units() -> None:
    assert [parse_size(word) for word in ("1000", "1.5k", "4GiB", "x", "-1", "")] == [
        1000,
        1536,
        4 * 2**30,
        None,
        None,
        None,
    ]
    assert [parse_duration(word) for word in ("90", "1.5", "300ms", "5m", "7d", "soon", "")] == [
        90,
        1.5,
        0.3,
        300,
        604800,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("seconds", "shows"), [(0.0123, "12ms"), (4.2126, "4213ms"), (10, "10.0s"), (59.94, "59.9s"), (65, "1m05s")]
)
def test_precise_duration_has_milliseconds_and_tenths(seconds: float, shows: str) -> None:
    assert format_duration(seconds, precise=True) == shows


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1536, "1.5 KB"),
        (30_000, "29.3 KB"),
        (1000 * 2**20, "1000 MB"),
        (1023.6 * 2**20, "1024 MB"),
        (2 * 2**30, "2 GB"),
        (5000 * 2**30, "5000 GB"),
    ],
)
def test_size_in_a_sentence_has_three_digits_and_its_unit(count: float, words: str) -> None:
    assert describe_size(count) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "1 byte"), (999, "999 bytes"), (1024, "1 KB"), (1536, "1.5 KB"), (30_000, "30,000 bytes")],
)
def test_exact_size_is_not_rounded(count: int, words: str) -> None:
    assert describe_size(count, exact=True) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (4.24, "4.2 s"), (12.4, "12 s"), (119, "119 s"), (125, "2 min 5 s"), (7300, "2 h 1 min")],
)
def test_duration_in_a_sentence_has_its_unit(seconds: float, words: str) -> None:
    assert describe_duration(seconds) == words
