"""Values that nobody is to read."""

from __future__ import annotations

import base64
import json
import textwrap
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.output.secrets import MASK, SHORTEST, mask

SECRETS = [
    "hunter2-hunter2",
    "p@ss w/rd+?&=%",
    "ghp_" + "Ab3" * 12,
    "日本語のひみつ",
    'quo"te\\back/slash',
    "a\nb of several lines",
    "x" * 100,
]


@pytest.mark.parametrize("secret", SECRETS)
def test_it_is_masked_in_every_dress(secret: str) -> None:
    data = secret.encode()
    escaped = quote(secret, safe="")
    dressed = [
        secret,
        escaped,
        "%".join([escaped.split("%")[0], *(part[:2].lower() + part[2:] for part in escaped.split("%")[1:])]),
        quote(secret),
        quote_plus(secret),
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
def test_it_is_masked_inside_of_base64(secret: str, before: bytes, after: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(before + secret.encode() + after).decode()
        masked = mask(f"Basic {encoded} ok", [secret])
        assert MASK in masked
        rest = masked.removeprefix("Basic ").removesuffix(" ok").replace(MASK, "")
        assert len(rest) <= (len(before) + len(after)) * 4 / 3 + 6


def test_base64_may_be_wrapped() -> None:
    secret = "correct horse battery staple, and some more to make it long"
    encoded = base64.b64encode(secret.encode()).decode()
    for width in range(10, 80):
        wrapped = "\n".join(textwrap.wrap(encoded, width))
        assert mask(f"<{wrapped}>", [secret]) == "<" + "\n".join([MASK] * (wrapped.count("\n") + 1)) + ">"


def test_the_lines_of_a_key_are_masked_each() -> None:
    key = "-----BEGIN KEY-----\n" + "\n".join("Qk" * 16 + str(line) for line in range(3)) + "\n-----END KEY-----\n"
    assert "QkQk" not in mask("\n".join(f"{n}: {line}" for n, line in enumerate(key.splitlines())), [key])
    assert mask(key, [key.replace("\n", "\r\n")]) == "\n".join([MASK] * 6)


def test_what_is_short_is_left_alone() -> None:
    assert mask("true 12345", ["true", "12345", ""]) == "true 12345"
    assert mask("a" * SHORTEST, ["a" * SHORTEST]) == MASK


def test_of_two_that_overlap_nothing_is_left() -> None:
    assert mask("xx abcdefghij yy", ["abcdefg", "defghij"]) == f"xx {MASK} yy"
    assert mask("abcdefgh abcdefghijkl", ["abcdefgh", "abcdefghijkl"]) == f"{MASK} {MASK}"
    assert mask("the secret is [secret]", ["secret"]) == f"the {MASK} is [{MASK}]"


def test_a_part_of_it_is_masked_where_text_is_missing() -> None:
    secret = "correct-horse"
    assert mask("the key is correct-h", [secret], ends_cut=True) == f"the key is {MASK}"
    assert mask("orse and more", [secret], starts_cut=True) == f"{MASK} and more"
    assert mask("the key is correct-h", [secret]) == "the key is correct-h"
    assert mask("cor", [secret], ends_cut=True) == "cor"


def test_many_secrets_are_found_as_few_are() -> None:
    secrets = [f"secret-value-{number:05}" for number in range(500)]
    text = "line with secret-value-00321 in it\nand nothing\n" * 100
    assert mask(text, secrets) == f"line with {MASK} in it\nand nothing\n" * 100
    assert mask("x" * 200_000 + secrets[7], secrets).endswith(f"x{MASK}")
    for place in range(65_520, 65_540):  # where a block ends
        assert mask(" " * place + secrets[7], secrets) == " " * place + MASK


@given(st.text(), st.text(), st.lists(st.text(min_size=SHORTEST), max_size=4))
@settings(deadline=None)
def test_no_secret_is_left_in_any_text(first: str, last: str, secrets: list[str]) -> None:
    text = first + "|".join(secrets) + last
    masked = mask(text, secrets)
    for secret in secrets:
        assert secret not in masked.replace(MASK, "\0")
    assert masked.count("\n") == text.count("\n")
    if not secrets:
        assert masked == text
