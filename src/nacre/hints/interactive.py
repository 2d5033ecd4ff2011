"""Hints for commands that waited for a person: a prompt that read EOF, a password, a disabled editor or pager."""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.hints.failure import Complaint, Failure

_EOF = lazy_regex(
    r"EOF when reading a line|EOFError|(?i:unexpected EOF|end of (?:file|input)) .{0,20}\b(?:stdin|input)\b"
)
_EDITOR = lazy_regex(r"(?i)empty commit message|problem with the editor|terminal is dumb|supply the message using")
_PASSWORD = lazy_regex(
    r"(?i)(?:terminal|password) is required|no askpass|no tty present|can't open /dev/tty|cannot open /dev/tty|"
    r"no such device or address: '?/dev/tty"
)
_LOGIN = lazy_regex(r"(?i)could not read (?:username|password) for|terminal prompts disabled")
_HOST_KEY = lazy_regex(r"(?i)host key verification failed")
_TTY = lazy_regex(r"(?i)(?:not a tty|not a terminal|inappropriate ioctl for device|must be run (?:in|from) a terminal)")


def prompt(complaint: Complaint, failure: Failure) -> str | None:
    line = complaint.line
    if _EOF.search(line):
        if failure.stdin:
            return "It read past the end of its `stdin`."
        return "It asked a question, and its stdin is empty: pass answers by flags (such as --yes) or as `stdin`."
    if _LOGIN.search(line):
        return "git needs a login, which cannot be typed here: set up a credential helper, a token or ssh first."
    if _HOST_KEY.search(line):
        return "ssh does not know this host and cannot ask: add the key with ssh-keyscan first."
    if _PASSWORD.search(line):
        return (
            "It needs a password, which cannot be typed here: avoid it, or use a command that never asks (`sudo -n`)."
        )
    if _TTY.search(line):
        return "It needs a terminal, and there is none: leave out -t or --tty, or use its non-interactive options."
    return None


def editor(complaint: Complaint, failure: Failure) -> str | None:
    if not _EDITOR.search(complaint.line):
        return None
    if failure.env.get("GIT_EDITOR") != "true" and failure.env.get("EDITOR") != "true":
        return None
    return "Editors are disabled here: pass the text with -m or -F (`git commit -m`, `git tag -m`)."


PROVIDERS = (editor, prompt)
