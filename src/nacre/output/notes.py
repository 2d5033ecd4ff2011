"""Notes of nacre in a text that a model reads, and the escape for lines of output that imitate them. Pure.

Every note of nacre is a line of its own that begins with `[nacre: `, with `[…` (`markers`, `fold`) or with
`[binary output` (`binary`). A line of output that looks to a reader as if it began like one of these is shown with a
backslash before it, and so is one that already has such backslashes. Nothing else is ever added to output: without its
first backslash, such a line is as it was printed.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex

_NOTHING = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
"""Invisible characters; some of them count as letters."""
_UNSEEN_LETTER = rf"(?=\w)[{_NOTHING}]"
"""Only those that count as letters: if one character could match in two ways, a line of n of them would be matched in
2ⁿ ways."""
_BETWEEN = rf"(?:[^\w\n!-/:-@\[-`{{-~]|{_UNSEEN_LETTER})*"
"""Combining marks and any number of spaces and tabs of any kind: a reader still sees the letters around them. Not
possessive: Python before 3.11.5 matches possessive groups wrongly, and no letter that follows is one of these."""
_NACRE_NOTE = f"(?:…|{_BETWEEN.join('nacre')}|{_BETWEEN.join('binaryoutput')})"
_IMITATION = lazy_regex(
    rf"(?im)(?:^|(?<=[\u2028\u2029]))(?=(?:[^\w\n\[\u2028\u2029]|{_UNSEEN_LETTER})*"
    rf"\[(?:(?:[^\w\n]|{_UNSEEN_LETTER}){{0,10}}?|(?:[^\w\n…\]]|{_UNSEEN_LETTER})*){_NACRE_NOTE})"
)


def nacre_note(text: str) -> str:
    """Return `text` as a note of nacre."""
    return f"[nacre: {text}]"


def mark_spoofed(text: str) -> str:
    """Escape every line of the text that imitates a note."""
    return _IMITATION.sub("\\\\", text) if "[" in text else text
