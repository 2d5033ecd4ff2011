"""Detect bytes that are not text and name what they are. Pure.

Text is UTF-8 with little else in it. An occasional NUL is a separator (`find -print0`), and a few bytes of another
encoding are replaced. Four NULs in a row, many bytes that no terminal would show, or a magic number together with any
of these are binary. Lines of text before and after the binary part stay text.
"""

from __future__ import annotations

import re

from nacre.base.frozen import frozen

_SAMPLE_BYTES = 64 * 1024
"""Bytes sampled at each end."""
_UNUSUAL = bytes([*range(1, 7), *range(14, 27), *range(28, 32), 127])
_STRANGE = rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]"
_TEXT_MAGIC = rb"(?m)^(?:%PDF-|!<arch>\n|dex\n\d{3}\x00)"
"""Magic numbers that are lines of text."""
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF87a", "GIF image"),
    (0, b"GIF89a", "GIF image"),
    (8, b"WEBP", "WebP image"),
    (8, b"WAVE", "WAV audio"),
    (0, b"BM", "BMP image"),
    (0, b"II*\x00", "TIFF image"),
    (0, b"MM\x00*", "TIFF image"),
    (0, b"\x00\x00\x01\x00", "icon"),
    (4, b"ftypavif", "AVIF image"),
    (4, b"ftyphei", "HEIF image"),
    (4, b"ftypqt", "QuickTime video"),
    (4, b"ftyp", "MP4 video"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (0, b"OggS", "Ogg media"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"ID3", "MP3 audio"),
    (0, b"%PDF-", "PDF document"),
    (0, b"\x1f\x8b", "gzip archive"),
    (0, b"PK\x03\x04", "ZIP archive (or docx, jar, whl …)"),
    (0, b"PK\x05\x06", "empty ZIP archive"),
    (0, b"\xfd7zXZ\x00", "xz archive"),
    (0, b"\x28\xb5\x2f\xfd", "zstd archive"),
    (0, b"BZh", "bzip2 archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (0, b"Rar!\x1a\x07", "RAR archive"),
    (0, b"\x04\x22\x4d\x18", "LZ4 archive"),
    (257, b"ustar", "tar archive"),
    (0, b"!<arch>\n", "ar archive (static library or deb)"),
    (0, b"\x7fELF", "ELF program or library"),
    (0, b"MZ", "Windows program or library"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (0, b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (0, b"\x00asm", "WebAssembly module"),
    (0, b"dex\n0", "Android program"),
    (0, b"SQLite format 3\x00", "SQLite database"),
    (0, b"PAR1", "Parquet table"),
    (0, b"\x93NUMPY", "NumPy array"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5 file"),
    (0, b"GGUF", "GGUF model"),
    (0, b"wOFF", "web font"),
    (0, b"wOF2", "web font"),
    (0, b"\x00\x01\x00\x00\x00", "TrueType font"),
    (0, b"OTTO", "OpenType font"),
    (0, b"DIRC", "git index"),
    (0, b"PACK", "git pack"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office document"),
    (0, b"\x80\x04\x95", "Python pickle"),
)


@frozen
class Binary:
    """Binary data and its position between lines of text."""

    before: int
    """Bytes of text at the start."""
    after: int
    """Bytes of text at the end."""
    kind: str


def kind(data: bytes) -> str:
    """Return the file type by its magic number; empty if no known one matches."""
    return next((name for place, magic, name in _MAGIC if data.startswith(magic, place)), "")


def is_binary(data: bytes) -> bool:
    """Return true if a sample of both ends is binary."""
    if len(data) > 2 * _SAMPLE_BYTES:
        data = data[:_SAMPLE_BYTES] + data[-_SAMPLE_BYTES:]
    nuls = data.count(0)
    unusual = len(data) - len(data.translate(None, _UNUSUAL))
    invalid = 0
    if not data.isascii():
        invalid = data.decode("utf-8", "replace").count("\ufffd") - data.count(b"\xef\xbf\xbd")
    strange = nuls + unusual + invalid
    if not strange:
        return data.startswith(b"%PDF-")
    if b"\0\0\0\0" in data or (kind(data) and (not data[:2].isalnum() or nuls or strange > 0.05 * len(data))):
        return True
    if not nuls and not unusual:
        return invalid > 0.3 * len(data)
    if not unusual and not invalid:
        return nuls > 0.4 * len(data)
    return strange > 0.1 * len(data)


def find(head: bytes, tail: bytes = b"") -> Binary | None:
    """Return the binary part of the captured head and tail; None if they are text."""
    data = head + tail
    if not data or not is_binary(data):
        return None
    before = _text_before(data)
    what = kind(data[before:]) or _guess(data[before:])
    after = 0 if what.startswith("PDF") else _text_after(data[before:])  # the trailer of a PDF is lines of text
    return Binary(before, after, what)


def describe(what: str, size: int, start: bytes) -> str:
    """Return a one-line note; with its first bytes if the type is unknown and the bytes may be shown."""
    if what:
        return f"[binary output, not shown: {what}, {size:,} bytes]"
    first = f", the first are {start[:16].hex(' ')}" if start else ""
    return f"[binary output, not shown: {size:,} bytes{first}]"


def _guess(data: bytes) -> str:
    data = data[:_SAMPLE_BYTES]
    if not data.strip(b"\0"):
        return "nothing but NULs"
    if b"\0" not in data and len(data.translate(None, _UNUSUAL)) == len(data):
        return "text that is not UTF-8"
    even, odd = data[::2].count(0), data[1::2].count(0)
    if max(even, odd) > 0.3 * len(data) and min(even, odd) < 0.05 * len(data):
        return "text in UTF-16 without its mark"
    return ""


def _text_before(data: bytes) -> int:
    """Return the length of the whole text lines at the start."""
    stop = _first_strange(data)
    if found := re.search(_TEXT_MAGIC, data[:stop]):
        return found.start()
    return data.rfind(b"\n", 0, stop) + 1


def _first_strange(data: bytes) -> int:
    """Return the offset of the first byte that text never contains; the length of the data if it is all text."""
    found = re.search(_STRANGE, data)
    stop = len(data) if found is None else found.start()
    try:
        data[:stop].decode()
    except UnicodeDecodeError as error:
        return error.start
    return stop


def _text_after(data: bytes) -> int:
    """Return the length of the whole text lines at the end; a few matching bytes are chance and count as 0."""
    place, size = len(data), _SAMPLE_BYTES
    while place and size:
        # Take as many lines as possible at once, and fewer if not all of them are text.
        begin = data.rfind(b"\n", 0, max(0, place - size)) + 1
        if begin and _is_text(data[begin:place]):
            place = begin
        else:
            size //= 4
    text = data[place:]
    return len(text) if len(text) >= 8 or (len(text) >= 4 and text.isascii() and text.endswith(b"\n")) else 0


def _is_text(lines: bytes) -> bool:
    return _first_strange(lines) == len(lines)
