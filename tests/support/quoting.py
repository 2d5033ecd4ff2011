"""Paths as shell words: TMPDIR, the clone and Python may be below directories with spaces."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[^\w@%+=:,./-]")


def quote(path: object) -> str:
    r"""Return the path as one word for bash; `quote(directory) + "/file"` is one word, too. It escapes with backslashes
    instead of quotes, so that the word works within the quotes of `bash -c '…'`, too."""
    return _SPECIAL.sub(r"\\\g<0>", str(path))
