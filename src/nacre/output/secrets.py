"""Masks values that nobody is to read, in text. Pure.

Also as they look in base64 (at all three alignments, both alphabets, padded or not, wrapped or not), in hexadecimal,
in a URL and in a JSON string; of a value of several lines, each long line by itself. Values of less than `SHORTEST`
characters are left alone: they are part of too many other words. At an end where text is missing, the beginning or the
end of a value counts as well. Knows no secrets by their looks: it masks what it is given.
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote, quote_plus

from nacre.patterns import later

SHORTEST = 6
"""Characters of a value that is masked."""
MASK = "[secret]"
_LINE = 16
"""Characters of a line that is masked by itself."""
_PART = 4
"""Characters of a part of a value, at an end where text is missing, that is masked."""
_FEW = 128
"""So many forms are searched one by one; more of them by their first letters."""
_LETTERS = SHORTEST - 1
_BLOCK = 64 * 1024
_WRAPPED = 40
_PEM = later(r"-----(?:BEGIN|END) [A-Z ]+-----")


def mask(text: str, secrets: Iterable[str], *, starts_cut: bool = False, ends_cut: bool = False) -> str:
    """The text with every secret in it masked."""
    forms, encoded = _forms(tuple(sorted({each for each in secrets if len(each) >= SHORTEST})))
    if not forms or not text:
        return text
    spans = [*_found(text, forms), *_found_wrapped(text, encoded)]
    if ends_cut and (part := max(_begun(form, text) for form in forms)):
        spans.append((len(text) - part, len(text)))
    if starts_cut and (part := max(_finished(form, text) for form in forms)):
        spans.append((0, part))
    return _masked(text, spans) if spans else text


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    """Each line of a secret has a mask of its own: lines stay countable."""
    parts: list[str] = []
    covered = 0
    for start, end in sorted(spans):
        if start >= covered or not parts:
            parts += [text[covered:start], MASK]
        parts.append(f"\n{MASK}" * text.count("\n", max(start, covered), end))
        covered = max(covered, end)
    parts.append(text[covered:])
    return "".join(parts)


def _found(text: str, forms: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    if len(forms) > _FEW:
        first = {form[:_LETTERS] for form in forms}
        met = set()
        for block in range(0, len(text), _BLOCK):
            part = text[block : block + _BLOCK + _LETTERS]
            met |= first.intersection([part[place : place + _LETTERS] for place in range(len(part))])
        forms = tuple(form for form in forms if form[:_LETTERS] in met)
    for form in forms:
        place = text.find(form)
        while place >= 0:
            yield place, place + len(form)
            place = text.find(form, place + len(form))


def _found_wrapped(text: str, encoded: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """`base64` breaks its lines."""
    if not encoded or "\n" not in text:
        return
    flat = text.replace("\n", "")
    ends: list[int] = []
    for form in encoded:
        place = flat.find(form)
        while place >= 0:
            if not ends:
                ends = [place - count for count, place in enumerate(_newlines(text))]
            yield _unflat(place, ends), _unflat(place + len(form) - 1, ends) + 1
            place = flat.find(form, place + len(form))


def _newlines(text: str) -> Iterator[int]:
    place = text.find("\n")
    while place >= 0:
        yield place
        place = text.find("\n", place + 1)


def _unflat(place: int, ends: list[int]) -> int:
    """The place in the text of a place in the text without its newlines, of which each is known by where it stood."""
    return place + bisect_right(ends, place)


def _begun(form: str, text: str) -> int:
    """Characters at the end of the text that begin the form."""
    lengths = range(min(len(form) - 1, len(text)), _PART - 1, -1)
    return next((count for count in lengths if text.endswith(form[:count])), 0)


def _finished(form: str, text: str) -> int:
    """Characters at the start of the text that end the form."""
    lengths = range(min(len(form) - 1, len(text)), _PART - 1, -1)
    return next((count for count in lengths if text.startswith(form[-count:])), 0)


@lru_cache(maxsize=16)
def _forms(secrets: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Everything to be searched, the long before the short; and the long ones in base64."""
    forms: set[str] = set()
    encoded: set[str] = set()
    for secret in secrets:
        printed = secret.replace("\r\n", "\n")
        lines = [line for line in printed.split("\n") if len(line) >= _LINE and not _PEM.fullmatch(line)]
        for value in {secret, printed, printed.strip(), *lines}:
            if len(value) < SHORTEST:
                continue
            forms |= _plain(value)
            bases = set(_bases(value.encode("utf-8", "surrogateescape")))
            forms |= bases
            encoded |= {base for base in bases if len(base) > _WRAPPED}
    ordered = tuple(sorted((form for form in forms if len(form) >= SHORTEST - 1), key=lambda form: (-len(form), form)))
    return ordered, tuple(sorted(encoded))


def _plain(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogateescape")
    urls = {quote(data, safe=""), quote(data, safe="/"), quote_plus(data), quote(data, safe="!*'();:@&=+$,/?#[]~")}
    lower = {_lower_escapes(url) for url in urls}
    strings = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    slashes = {string.replace("/", "\\/") for string in strings}
    hexes = {binascii.hexlify(data).decode(), binascii.hexlify(data).decode().upper()}
    return {value, *urls, *lower, *strings, *slashes, *hexes}


def _lower_escapes(url: str) -> str:
    first, *rest = url.split("%")
    return "%".join((first, *(part[:2].lower() + part[2:] for part in rest)))


def _bases(data: bytes) -> Iterator[str]:
    """What is the same in base64 whatever stands before and after, and the whole of it when nothing does."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        yield whole
        yield whole.rstrip("=")
        for before in range(3):
            first = (before * 8 + 5) // 6
            last = (before + len(data)) * 8 // 6
            yield encode(b"\0" * before + data).decode()[first:last]
