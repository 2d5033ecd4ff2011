"""Mask secret values in text. Pure.

Values are also found in base64 (at all three alignments, both alphabets, padded or not, wrapped or not), in
hexadecimal, in URL encoding and in a JSON string; of a value of several lines, each long line separately. Values
shorter than `MIN_SECRET_CHARS` characters are not masked: they occur in too many other words. At an end where text is
missing, the beginning or the end of a value counts as well. Secrets are not detected: only the given values are masked.
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from urllib.parse import quote, quote_plus

from nacre.ansi.render import INVISIBLE
from nacre.base.lazy_regex import lazy_regex
from nacre.redact.hex_dumps import find_in_dumps, partial_match_in_dump

MIN_SECRET_CHARS = 6
"""Minimum length of a value that is masked, in characters."""
MASK = "[secret]"
_MIN_LINE_CHARS = 16
"""Minimum length of a line of a value that is masked separately, in characters."""
_MIN_PART_CHARS = 4
"""Minimum length of a part of a value that is masked at an end where text is missing, in characters."""
_SEARCH_EACH_UP_TO_FORMS = 128
"""Up to this number, forms are searched one by one; above it, by their first characters."""
_KEY_CHARS = MIN_SECRET_CHARS - 1
_BLOCK_CHARS = 64 * 1024
_SAFE = ("", "/", "!'()*~", "!*'();:@&=+$,/?#[]~")
"""Characters that are not escaped: by Python's `quote`, in paths, by JavaScript's encodeURIComponent and encodeURI."""
_PEM = lazy_regex(r"-----(?:BEGIN|END) [A-Z ]+-----")

_MAX_MASK_DOTS = 500
"""With more of them, the text was not cut by nacre."""


def mask(text: str, secrets: Iterable[str], *, starts_cut: bool = False, ends_cut: bool = False) -> str:
    """Return the text with every secret masked.

    `starts_cut`, `ends_cut`: text is missing at that end, so that a part of a secret is masked there, too.
    """
    spans = _spans(text, secrets, starts_cut, ends_cut)
    return _apply_masks(text, spans) if spans else text


def mask_ansi(text: str, secrets: Iterable[str], *, starts_cut: bool = False, ends_cut: bool = False) -> str:
    """Mask a text that still has its escape sequences: a colour code within a secret is replaced with it."""
    spans = _spans(text, secrets := tuple(secrets), starts_cut, ends_cut)
    if "\x1b" in text:
        hidden = [found.span() for found in INVISIBLE.finditer(text)]
        gone = [0, *accumulate(end - start for start, end in hidden)]
        places = [start - before for (start, _), before in zip(hidden, gone, strict=False)]
        spans += [
            (start + gone[bisect_right(places, start)], end + gone[bisect_right(places, end - 1)])
            for start, end in _spans(INVISIBLE.sub("", text), secrets, starts_cut, ends_cut)
        ]
    return _apply_masks(text, spans) if spans else text


def mask_note(text: str, secrets: Iterable[str]) -> str:
    """Mask a text written by nacre: next to each `…`, where it was cut, there may be a part of a secret."""
    masked = mask_ansi(text, secrets := tuple(secrets))
    if not 0 < masked.count("…") <= _MAX_MASK_DOTS:
        return masked
    first, *others = masked.split("…")
    parts = [mask(first, secrets, ends_cut=True)]
    parts += [mask(part, secrets, starts_cut=True, ends_cut=True) for part in others[:-1]]
    return "…".join((*parts, mask(others[-1], secrets, starts_cut=True)))


def partial_match_length(text: str, secrets: Iterable[str]) -> int:
    """Return the number of characters at the end of an incomplete text that may be part of a secret.

    They may be the beginning of one, or a secret that is the beginning of another. A caller that shows text in pieces
    keeps them for the next piece.
    """
    hidden = tuple(sorted({each for each in secrets if len(each) >= MIN_SECRET_CHARS}))
    forms, encoded = _forms(hidden)
    if not forms or not text:
        return 0
    place = len(text) - max(_prefix_length(form, text, 1) for form in forms)
    if encoded:  # it may be wrapped over lines
        letters = [at for at, letter in enumerate(text) if not letter.isspace()]
        together = "".join([text[at] for at in letters])
        if part := max(_prefix_length(form, together) for form in encoded):
            place = min(place, letters[-part])
    place = min(place, partial_match_in_dump(text, _in_bytes(hidden)))
    for start, end in sorted(_spans(text, secrets, False, False), reverse=True):
        if start < place < end:  # the end of one secret may begin another
            place = start
    return len(text) - place


def _spans(text: str, secrets: Iterable[str], starts_cut: bool, ends_cut: bool) -> list[tuple[int, int]]:
    hidden = tuple(sorted({each for each in secrets if len(each) >= MIN_SECRET_CHARS}))
    forms, encoded = _forms(hidden)
    if not forms or not text:
        return []
    spans = [*_find_forms(text, forms), *_find_wrapped_base64(text, encoded)]
    spans += find_in_dumps(text, _in_bytes(hidden), starts_cut=starts_cut, ends_cut=ends_cut)
    if ends_cut and (part := max(_prefix_length(form, text) for form in forms)):
        spans.append((len(text) - part, len(text)))
    if starts_cut and (part := max(_suffix_length(form, text) for form in forms)):
        spans.append((0, part))
    return spans


def _apply_masks(text: str, spans: list[tuple[int, int]]) -> str:
    """Replace the spans by masks. Each line of a secret gets its own mask, so that line numbers stay correct."""
    parts: list[str] = []
    covered = 0
    for start, end in sorted(spans):
        if start >= covered or not parts:
            parts += [text[covered:start], MASK]
        parts.append(f"\n{MASK}" * text.count("\n", max(start, covered), end))
        covered = max(covered, end)
    parts.append(text[covered:])
    return "".join(parts)


def _find_forms(text: str, forms: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    if len(forms) > _SEARCH_EACH_UP_TO_FORMS:
        first = {form[:_KEY_CHARS] for form in forms}
        met = set()
        for block in range(0, len(text), _BLOCK_CHARS):
            part = text[block : block + _BLOCK_CHARS + _KEY_CHARS]
            met |= first.intersection([part[place : place + _KEY_CHARS] for place in range(len(part))])
        forms = tuple(form for form in forms if form[:_KEY_CHARS] in met)
    for form in forms:
        place = text.find(form)
        while place >= 0:
            yield place, place + len(form)
            place = text.find(form, place + len(form))


def _find_wrapped_base64(text: str, encoded: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield the spans of base64 text that `base64` has wrapped over lines."""
    if not encoded or "\n" not in text:
        return
    ends: list[int] = []
    for start, end in _find_forms(text.replace("\n", ""), encoded):
        ends = ends or [place - count for count, place in enumerate(_newlines(text))]
        yield _position_with_newlines(start, ends), _position_with_newlines(end - 1, ends) + 1


def _newlines(text: str) -> Iterator[int]:
    place = text.find("\n")
    while place >= 0:
        yield place
        place = text.find("\n", place + 1)


def _position_with_newlines(place: int, ends: list[int]) -> int:
    """Convert an offset in the text without newlines to an offset in the text. `ends` are the offsets of the removed
    newlines."""
    return place + bisect_right(ends, place)


def _prefix_length(form: str, text: str, least: int = _MIN_PART_CHARS) -> int:
    """Return the length of the longest proper prefix of the form that ends the text."""
    first, end = form[:least], text[max(0, len(text) - len(form) + 1) :]
    place = end.find(first)
    while place >= 0 and not form.startswith(end[place:]):
        place = end.find(first, place + 1)
    return len(end) - place if place >= 0 else 0


def _suffix_length(form: str, text: str) -> int:
    """Return the length of the longest proper suffix of the form that starts the text."""
    last, start = form[-_MIN_PART_CHARS:], text[: len(form) - 1]
    place = start.rfind(last)
    while place >= 0 and not form.endswith(start[: place + _MIN_PART_CHARS]):
        place = start.rfind(last, 0, place + _MIN_PART_CHARS - 1)
    return place + _MIN_PART_CHARS if place >= 0 else 0


@lru_cache(maxsize=16)
def _in_bytes(secrets: tuple[str, ...]) -> tuple[bytes, ...]:
    """Return the values as bytes, as they are in a dump."""
    return tuple({value.encode("utf-8", "surrogateescape") for secret in secrets for value in _variants(secret)})


@lru_cache(maxsize=16)
def _forms(secrets: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all forms to search for, longest first; and those in base64."""
    forms: set[str] = set()
    encoded: set[str] = set()
    for secret in secrets:
        for value in _variants(secret):
            forms |= _plain(value)
            bases = set(_bases(value.encode("utf-8", "surrogateescape")))
            forms |= bases
            encoded |= bases
    return _sort_forms(forms), _sort_forms(encoded)


def _variants(secret: str) -> set[str]:
    """Return the value as it may be printed, and its long lines."""
    printed = secret.replace("\r\n", "\n")
    lines = [line for line in printed.split("\n") if len(line) >= _MIN_LINE_CHARS and not _PEM.fullmatch(line)]
    return {value for value in (secret, printed, printed.strip(), *lines) if len(value) >= MIN_SECRET_CHARS}


def _sort_forms(forms: set[str]) -> tuple[str, ...]:
    return tuple(
        sorted((form for form in forms if len(form) >= MIN_SECRET_CHARS - 1), key=lambda form: (-len(form), form))
    )


def _plain(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogateescape")
    urls = {quote_plus(data), *(quote(data, safe=safe) for safe in _SAFE)}
    lower = {_lower_escapes(url) for url in urls}
    strings = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    slashes = {string.replace("/", "\\/") for string in strings}
    hexes = {binascii.hexlify(data).decode(), binascii.hexlify(data).decode().upper()}
    return {value, *urls, *lower, *strings, *slashes, *hexes}


def _lower_escapes(url: str) -> str:
    first, *rest = url.split("%")
    return "%".join((first, *(part[:2].lower() + part[2:] for part in rest)))


def _bases(data: bytes) -> Iterator[str]:
    """Yield the parts of its base64 encoding that do not depend on what surrounds it, and the whole encoding."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        yield whole
        yield whole.rstrip("=")
        for before in range(3):
            first = (before * 8 + 5) // 6
            last = (before + len(data)) * 8 // 6
            yield encode(b"\0" * before + data).decode()[first:last]
