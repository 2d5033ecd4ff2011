"""Recognition of binary data."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import sqlite3
import sys
import tarfile
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.output.binary import Binary, describe, find, is_binary, kind


def make_zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "b")
    return file.getvalue()


def make_tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    return file.getvalue()


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table a (b)")
    try:
        return connection.serialize()
    finally:
        connection.close()


def program() -> bytes:
    with open(sys.executable, "rb") as file:
        return file.read(100_000)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "JPEG image"),
        (b"GIF89a\1\0\1\0", "GIF image"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "PDF document"),
        (b"%PDF-1.4\n1 0 obj\n", "PDF document"),
        (gzip.compress(b"hello" * 100, mtime=0), "gzip archive"),
        (make_zip(), "ZIP archive (or docx, jar, whl …)"),
        (lzma.compress(b"hello"), "xz archive"),
        (b"\x28\xb5\x2f\xfd\x04\x58", "zstd archive"),
        (b"BZh91AY&SY\x94$|\x0e\0\0", "bzip2 archive"),
        (make_tar(), "tar archive"),
        (database(), "SQLite database"),
        (b"\xca\xfe\xba\xbe\0\0\0\x34", "Java class or Mach-O program"),
        (b"\0asm\1\0\0\0", "WebAssembly module"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0", "MP4 video"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "WebP image"),
        (bytes(1000), "nothing but NULs"),
        ("Привет, мир, как дела\n".encode("koi8-r"), "text that is not UTF-8"),
        ("hello world\n".encode("utf-16-le"), "text in UTF-16 without its mark"),
        (random.Random(1).randbytes(5000), ""),
        (zlib.compress(b"".join(b"%d" % number for number in range(5000))), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_binary_kind_is_recognised_by_its_content(data: bytes, name: str) -> None:
    assert find(data) == Binary(0, 0, name)


@pytest.mark.skipif(sys.platform != "linux", reason="programs have another format elsewhere")
def test_elf_program_is_recognised_as_binary() -> None:
    assert find(program()) == Binary(0, 0, "ELF program or library")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain\n",
        "häßlich 日本 👋\n".encode(),
        b"name one\0name two\0name three\0",
        "café, déjà vu, garçon\n".encode("latin-1"),
        b"\x1b[31mred\x1b[0m\r\n\x07",
        b"BMW is a car\n",
        b"MZ is a beginning of a line that goes on\n\x01",
        b"PKG list\n",
        b"one bad byte \xff in a line of text\n",
    ],
)
def test_text_is_not_taken_for_binary(data: bytes) -> None:
    assert find(data) is None


def test_text_lines_around_binary_data_stay_text() -> None:
    png = b"\x89PNG\r\n\x1a\n" + random.Random(2).randbytes(3000)
    assert find(b"here it is:\n" + png + b"\nthat was it\n") == Binary(12, 12, "PNG image")
    assert find(b"here it is:\n" + png, b"\nthat was it\n") == Binary(12, 12, "PNG image")


@given(st.binary())
@settings(deadline=None)
def test_text_before_and_after_binary_data_never_overlaps(data: bytes) -> None:
    found = find(data)
    assert (found is not None) == (is_binary(data) if data else False)
    if found:
        assert found.before + found.after <= len(data)


def test_binary_description_names_kind_size_and_first_bytes() -> None:
    assert kind(b"\x7fELF") == "ELF program or library"
    assert describe("PNG image", 12345, b"") == "[binary output, not shown: PNG image, 12,345 bytes]"
    assert describe("", 3, b"\x01\x02\xff") == "[binary output, not shown: 3 bytes, the first are 01 02 ff]"
