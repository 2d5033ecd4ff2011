"""Masking of secrets."""

from __future__ import annotations

import base64
import json
import textwrap
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.redact.mask import MASK, MIN_SECRET_CHARS, mask, mask_ansi, mask_note, partial_match_length

SECRETS = [
    "hunter2-hunter2",
    "p@ss w/rd+?&=%",
    "ghp_" + "Ab3" * 12,
    "日本語のひみつ",
    'quo"te\\back/slash',
    "a\nb of several lines",
    "x" * 100,
    "p@ss!word*1(x)~'y'",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_secret_is_masked_in_every_encoding(secret: str) -> None:
    data = secret.encode()
    escaped = quote(secret, safe="")
    dressed = [
        secret,
        escaped,
        "%".join([escaped.split("%")[0], *(part[:2].lower() + part[2:] for part in escaped.split("%")[1:])]),
        quote(secret),
        quote_plus(secret),
        quote(secret, safe="!'()*~"),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        data.hex(),
        data.hex().upper(),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode(),
        base64.b64encode(data).decode().rstrip("="),
    ]
    for form in dressed:
        assert mask(f"<{form}>", [secret]) == "<" + "\n".join([MASK] * (form.count("\n") + 1)) + ">"


@pytest.mark.parametrize("before", [b"", b"u", b"us", b"user:", b"ab:cd:"])
@pytest.mark.parametrize("after", [b"", b"\n", b":x", b"xyz"])
@pytest.mark.parametrize("secret", SECRETS)
def test_secret_is_masked_inside_a_longer_base64_text(secret: str, before: bytes, after: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(before + secret.encode() + after).decode()
        masked = mask(f"Basic {encoded} ok", [secret])
        assert MASK in masked
        rest = masked.removeprefix("Basic ").removesuffix(" ok").replace(MASK, "")
        assert len(rest) <= (len(before) + len(after)) * 4 / 3 + 6


@pytest.mark.parametrize(
    "secret", ["correct horse battery staple, and some more to make it long", "hunter2hunter2xyz", "sesame"]
)
def test_secret_in_wrapped_base64_is_masked(secret: str) -> None:
    encoded = base64.b64encode(secret.encode()).decode()
    for width in range(3, 80):
        wrapped = "\n".join(textwrap.wrap(encoded, width))
        assert mask(f"<{wrapped}>", [secret]) == "<" + "\n".join([MASK] * (wrapped.count("\n") + 1)) + ">"


def test_secret_in_wrapped_base64_is_masked_at_any_offset() -> None:
    secret = "hunter2hunter2hunter2xyz"
    for before in range(60):
        text = base64.encodebytes(b"x" * before + secret.encode()).decode()
        left = mask(text, [secret]).replace(MASK, "").replace("\n", "").rstrip("=")
        assert len(left) <= before * 4 / 3 + 4


def test_each_line_of_a_multiline_key_is_masked() -> None:
    key = "-----BEGIN KEY-----\n" + "\n".join("Qk" * 16 + str(line) for line in range(3)) + "\n-----END KEY-----\n"
    assert "QkQk" not in mask("\n".join(f"{n}: {line}" for n, line in enumerate(key.splitlines())), [key])
    assert mask(key, [key.replace("\n", "\r\n")]) == "\n".join([MASK] * 6)


def test_secrets_shorter_than_the_minimum_are_not_masked() -> None:
    assert mask("true 12345", ["true", "12345", ""]) == "true 12345"
    assert mask("a" * MIN_SECRET_CHARS, ["a" * MIN_SECRET_CHARS]) == MASK


def test_overlapping_secrets_are_masked_completely() -> None:
    assert mask("xx abcdefghij yy", ["abcdefg", "defghij"]) == f"xx {MASK} yy"
    assert mask("abcdefgh abcdefghijkl", ["abcdefgh", "abcdefghijkl"]) == f"{MASK} {MASK}"
    assert mask("the secret is [secret]", ["secret"]) == f"the {MASK} is [{MASK}]"


def test_partial_secret_is_masked_at_a_cut_end() -> None:
    secret = "correct-horse"
    assert mask("the key is correct-h", [secret], ends_cut=True) == f"the key is {MASK}"
    assert mask("orse and more", [secret], starts_cut=True) == f"{MASK} and more"
    assert mask("the key is correct-h", [secret]) == "the key is correct-h"
    assert mask("cor", [secret], ends_cut=True) == "cor"


def test_longest_partial_secret_is_masked_at_a_cut_end() -> None:
    for secret in ("abcabcabcd" * 3, "aaaaaaaaab", "a" * 30_000, "ab" * 10_000 + "c"):
        for count in (4, 5, 9, len(secret) - 1):
            assert mask(f"key: {secret[:count]}", [secret], ends_cut=True) == f"key: {MASK}"
            assert mask(f"{secret[-count:]} :key", [secret], starts_cut=True) == f"{MASK} :key"


def test_colour_sequence_inside_a_secret_is_masked_with_it() -> None:
    text = "\x1b[31mA\x1b[1mcorrect\x1b[0m-horse\x1b[2m B correct-horse\x1b]0;t\x07"
    assert mask_ansi(text, ["correct-horse"]) == f"\x1b[31mA\x1b[1m{MASK}\x1b[2m B {MASK}\x1b]0;t\x07"
    assert mask_ansi("cor\x1b[1mrec", ["correct-horse"], ends_cut=True) == MASK
    assert mask_ansi("ho\x1b[1mrse!", ["correct-horse"], starts_cut=True) == f"{MASK}!"


def test_partial_secret_is_masked_next_to_an_ellipsis() -> None:
    said = "`rm correct-h…` would delete …rect-horse, and … correct-horse"
    assert mask_note(said, ["correct-horse"]) == f"`rm {MASK}…` would delete …{MASK}, and … {MASK}"


def test_hundreds_of_secrets_are_masked() -> None:
    secrets = [f"secret-value-{number:05}" for number in range(500)]
    text = "line with secret-value-00321 in it\nand nothing\n" * 100
    assert mask(text, secrets) == f"line with {MASK} in it\nand nothing\n" * 100
    assert mask("x" * 200_000 + secrets[7], secrets).endswith(f"x{MASK}")
    for place in range(65_520, 65_540):  # at the end of a block
        assert mask(" " * place + secrets[7], secrets) == " " * place + MASK


@given(st.text(), st.text(), st.lists(st.text(min_size=MIN_SECRET_CHARS), max_size=4))
@settings(deadline=None)
def test_masked_text_contains_no_secret(first: str, last: str, secrets: list[str]) -> None:
    text = first + "|".join(secrets) + last
    masked = mask(text, secrets)
    for secret in secrets:
        assert secret not in masked.replace(MASK, "\0")
    assert masked.count("\n") == text.count("\n")
    if not secrets:
        assert masked == text


PARTS = st.lists(
    st.sampled_from(["hunter2", "secret", "-", "a", "\n", "aHVudGVyMn", "NlY3JldA", "hunter2secrethunter2"])
)


@given(PARTS, st.lists(st.integers(1, 9)))
def test_masking_in_chunks_equals_masking_the_whole_text(parts: list[str], sizes: list[int]) -> None:
    secrets = ("hunter2secrethunter2", "secret-secret")
    text = "".join(parts)
    shown, held, place = "", "", 0
    for size in (*sizes, len(text)):
        held += text[place : place + size]
        place += size
        ready = len(held) - partial_match_length(held, secrets)
        shown += mask(held[:ready], secrets)
        held = held[ready:]
    shown += mask(held, secrets)
    assert not any(secret in shown for secret in secrets)
    assert shown.replace(MASK, "") == mask(text, secrets).replace(MASK, "")


@pytest.mark.parametrize("line", [" " * 300_000, "   a" * 75_000, "12 " * 100_000, "ab" * 150_000])
def test_huge_line_that_resembles_a_dump_is_unchanged(line: str) -> None:
    """A pattern that backtracks to each space would take minutes."""
    assert mask(f"{line}x", ["correct-horse"], starts_cut=True, ends_cut=True) == f"{line}x"
