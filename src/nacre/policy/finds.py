"""`find` as a rule sees it: where it starts, and whether it deletes everything or what was chosen."""

from __future__ import annotations

from collections.abc import Iterator

from nacre.policy.paths import Place, precious
from nacre.policy.rule import Around
from nacre.shell import Command
from nacre.shell.text import STAR, least
from nacre.shell.wrappers import chosen

_DELETES = frozenset(("rm", "unlink", "shred", "srm"))


def places(command: Command, around: Around) -> Iterator[Place]:
    """What would be lost if everything went where it starts."""
    for start in starts(command):
        unknown = least(start) != start
        if place := precious(start if unknown else f"{start.rstrip('/')}/{STAR}", command, around):
            yield place


def starts(command: Command) -> list[str]:
    words = list(command.args)
    while words and (words[0] in ("-H", "-L", "-P") or words[0].startswith(("-O", "-D"))):
        words = words[2 if words[0] == "-D" else 1 :]
    found: list[str] = []
    for word in words:
        if word[:1] in ("-", "(", "!"):
            break
        found.append(word)
    return found or ["."]


def deletes(command: Command) -> bool:
    return any(True for _ in _deletions(command))


def deletes_all(command: Command) -> bool:
    """Nothing that stands before the deletion chooses among what is found."""
    return any(not chosen(before) for before in _deletions(command))


def _deletions(command: Command) -> Iterator[tuple[str, ...]]:
    """What stands before each deletion, from the last `-o` on."""
    words, since = command.args, 0
    for index, word in enumerate(words):
        if word in ("-o", "-or", ","):
            since = index + 1
        program = "".join(words[index + 1 : index + 2]).rsplit("/", 1)[-1]
        if word == "-delete" or (word in ("-exec", "-execdir") and program in _DELETES):
            yield words[since:index]
