"""Paths as words of a command: TMPDIR, the clone and Python may lie where spaces are."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[^\w@%+=:,./-]")


def quote(path: object) -> str:
    r"""Returns the path as one word for bash; `quote(directory) + "/file"` is one word too. By backslashes and not by
    quotes, so that it is the same word within the quotes of `bash -c '…'`."""
    return _SPECIAL.sub(r"\\\g<0>", str(path))
