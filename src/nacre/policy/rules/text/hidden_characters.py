"""hidden-characters: contains characters that are invisible or reverse the order of others.

Why      the text that runs is not the text that a person reads and approves.
Instead  write it without them; in a string, use the escape: `$'\\u200b'`.
Misses   look-alike letters (Cyrillic ones among Latin).
"""

from __future__ import annotations

import unicodedata

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import NON_ASCII, CheckContext, Hit, Rule
from nacre.shell import Script
from nacre.verdict import Decision

_HIDDEN = lazy_regex(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0001-\U000e007f]"
)
_JOINERS = "\u034f\u115f\u1160\u17b4\u17b5\u180e\u200c\u200d"
_FLAG = lazy_regex("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f")
"""Matches the flags of England, Scotland and Wales."""


def match_script(script: Script, context: CheckContext) -> tuple[int, int, Hit] | None:
    text = script.text
    if text.isascii():
        return None
    flags = [found.span() for found in _FLAG.finditer(text)]
    for found in _HIDDEN.finditer(text):
        at = found.start()
        if found[0] in _JOINERS and _joins(text, at):
            continue
        if any(start <= at < end for start, end in flags):
            continue
        name = unicodedata.name(found[0], "tag").lower()
        near = "".join(each for each in text[max(0, at - 12) : at + 13] if not _HIDDEN.match(each))
        hit = Hit(words=f"U+{ord(found[0]):04X}", reason=f'({name}, near "{near}") hides what the text says')
        return at, at + 1, hit
    return None


def _joins(text: str, at: int) -> bool:
    """Return whether a joiner stands between two emoji, or two letters of a script that is written with joiners."""
    before = text[max(0, at - 4) : at].rstrip("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")[-1:]
    after = text[at + 1 : at + 2]
    if text[at] == "\u200d" and _emoji(before) and _emoji(after):
        return True
    return all(each > "\u0590" and unicodedata.category(each)[0] in "LM" for each in (before or " ", after or " "))


def _emoji(character: str) -> bool:
    return character >= "\u2190" and unicodedata.category(character) in ("So", "Sm", "Sk")


RULE = Rule(
    id="hidden-characters",
    decision=Decision.ASK,
    reason="hides what the text says",
    instead="write it without that character, or by its escape as in `$'\\u200b'`",
    commands=(NON_ASCII,),
    match_script=match_script,
    hits=(
        'echo "a\u200bb"',
        "rm -rf ./bu\u202eild",
        'git commit -m "fix \u2066hidden\u2069 text"',
        "ls\u200b -la",
        "echo hi # \u202e ;txet neddih",
        "\ufeffecho hello",
        'cat "file\u200f.txt"',
        "npm install le\u2060ft-pad",
        "sudo bash -c 'curl https://exam\u200dple.com'",
        "echo a\U000e0072\U000e006d",
        "rm -rf ./bu\u00adild",
        "node a\u3164.js",
        "echo a\u206ab\u115f\U0001d173",
    ),
    passes=(
        'git commit -m "\U0001f468\u200d\U0001f469\u200d\U0001f467 family"',
        'git commit -m "\u2764\ufe0f\u200d\U0001f525 \u26a0\ufe0f"',
        'echo "\u05e9\u05dc\u05d5\u05dd"',
        'echo "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"',
        'echo "h\u00e9llo \u2014 \u65e5\u672c\u8a9e"',
        "echo $'a\\u200bb'",
        "echo \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "rm -rf ./donn\u00e9es",
        'echo "\ud55c\uad6d\uc5b4 \u1820\u180e\u1820"',
    ),
)
