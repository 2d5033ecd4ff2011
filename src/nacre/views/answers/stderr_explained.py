"""What a failed command said on stderr → what it means and what to do about it, in a sentence (T-10). Pure.

For the common complaints that nothing better is known of; `nacre.hints` looks things up.
"""

from __future__ import annotations

from nacre.base.lazy_regex import later

_END = 4000
"""Characters of the end that are looked at."""
_KNOWN = (
    (
        later(r"(?i)command not found|: not found$", 8),  # MULTILINE
        "There is no such command: check how it is spelt, install it, or give its full path.",
    ),
    (
        later(r"(?i)permission denied|operation not permitted"),
        "This user may not do that: look with `ls -l`; to run a file, `chmod +x` it first.",
    ),
    (
        later(r"(?i)no such file or directory"),
        "A path in it does not exist: look with `ls`; relative paths begin in the working directory.",
    ),
    (later(r"(?i)is a directory"), "It takes a file, and was given a directory."),
    (later(r"(?i)not a directory"), "A part of the path is a file, not a directory."),
    (later(r"(?i)file exists"), "Something of that name is there already."),
    (later(r"(?i)no space left on device|disk quota exceeded"), "The disk is full: `df -h` shows it."),
    (later(r"(?i)address already in use"), "Another process listens on that port: use another one, or end it."),
    (later(r"(?i)connection refused"), "Nothing listens there: is the server running, and on this port?"),
    (
        later(r"(?i)could not resolve host|name or service not known"),
        "The host's name is unknown, or there is no network.",
    ),
    (
        later(r"(?i)syntax error|unexpected end of file|unexpected EOF"),
        "Check quotes and brackets, each has to be closed.",
    ),
    (later(r"(?i)out of memory|cannot allocate memory"), "There was not enough memory: work on less at a time."),
)


def explained(err: str) -> list[str]:
    """The last common complaint in it, explained; or nothing."""
    end = err[-_END:]
    found = [
        (places[-1], said) for pattern, said in _KNOWN if (places := [each.end() for each in pattern.finditer(end)])
    ]
    return [max(found)[1]] if found else []
