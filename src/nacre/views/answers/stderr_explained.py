"""Explains common errors on stderr in a sentence, with what to do about them (T-10). Pure.

For errors about which nothing better is known: `nacre.hints` looks things up.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex

_SEARCHED_END_CHARS = 4000
"""Part of the end that is searched."""
_KNOWN = (
    (
        lazy_regex(r"(?i)command not found|: not found$", 8),  # re.MULTILINE
        "There is no such command: check how it is spelt, install it, or give its full path.",
    ),
    (
        lazy_regex(r"(?i)permission denied|operation not permitted"),
        "This user may not do that: look with `ls -l`; to run a file, `chmod +x` it first.",
    ),
    (
        lazy_regex(r"(?i)no such file or directory"),
        "A path in it does not exist: look with `ls`; relative paths begin in the working directory.",
    ),
    (lazy_regex(r"(?i)is a directory"), "It takes a file, and was given a directory."),
    (lazy_regex(r"(?i)not a directory"), "A part of the path is a file, not a directory."),
    (lazy_regex(r"(?i)file exists"), "Something of that name is there already."),
    (lazy_regex(r"(?i)no space left on device|disk quota exceeded"), "The disk is full: `df -h` shows it."),
    (lazy_regex(r"(?i)address already in use"), "Another process listens on that port: use another one, or end it."),
    (lazy_regex(r"(?i)connection refused"), "Nothing listens there: is the server running, and on this port?"),
    (
        lazy_regex(r"(?i)could not resolve host|name or service not known"),
        "The host's name is unknown, or there is no network.",
    ),
    (
        lazy_regex(r"(?i)syntax error|unexpected end of file|unexpected EOF"),
        "Check quotes and brackets, each has to be closed.",
    ),
    (lazy_regex(r"(?i)out of memory|cannot allocate memory"), "There was not enough memory: work on less at a time."),
)


def explain_stderr(err: str) -> list[str]:
    """Return the explanation of the last known error in `err`, or an empty list."""
    end = err[-_SEARCHED_END_CHARS:]
    found = [
        (places[-1], said) for pattern, said in _KNOWN if (places := [each.end() for each in pattern.finditer(end)])
    ]
    return [max(found)[1]] if found else []
