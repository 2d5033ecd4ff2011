"""A caller's own rules: by the first words, by a glob on the words, or by a predicate. Their examples are checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from nacre.errors import NacreError
from nacre.policy.rule import Around, Finds, Hit, Rule
from nacre.shell import Command, read
from nacre.shell.text import shown
from nacre.verdict import Decision


class InvalidRule(NacreError):
    """A rule of the caller's does not do what its examples say."""


def rule(
    id: str,
    decision: Decision,
    *,
    prefix: str | Sequence[str] = (),
    words: str = "",
    predicate: Callable[[Command], bool] | None = None,
    reason: str = "is stopped by a rule of this project",
    instead: str = "ask the user how to go on",
    hits: Sequence[str] = (),
    passes: Sequence[str] = (),
) -> Rule:
    """One of `prefix` ("npm publish"), `words` (a glob over all of them: "terraform * -auto-approve*") and `predicate`.

    Every example in `hits` must be found and none in `passes`: InvalidRule says which was not.
    """
    if sum((bool(prefix), bool(words), predicate is not None)) != 1:
        raise InvalidRule(f"rule {id!r} needs one of prefix=, words= and predicate=")
    first = tuple(prefix.split() if isinstance(prefix, str) else prefix)
    made = Rule(
        id=id,
        decision=decision,
        reason=reason,
        instead=instead,
        commands=first[:1],
        finds=_finds(first, words, predicate),
        hits=tuple(hits),
        passes=tuple(passes),
    )
    if not hits:
        raise InvalidRule(f"rule {id!r} needs an example in hits= that it stops")
    for example in hits:
        if not _found(made, example):
            raise InvalidRule(f"rule {id!r} does not find its own example {example!r}")
    for example in passes:
        if _found(made, example):
            raise InvalidRule(f"rule {id!r} finds {example!r}, which it should let pass")
    return made


def _finds(prefix: tuple[str, ...], words: str, predicate: Callable[[Command], bool] | None) -> Finds:
    glob = re.compile(re.escape(words).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL) if words else None

    def finds(command: Command, around: Around) -> Hit | None:
        if glob is not None:
            found = glob.fullmatch(" ".join(shown(word) for word in (command.name, *command.args))) is not None
        elif predicate is not None:
            found = predicate(command)
        else:
            found = (command.name, *command.args[: len(prefix) - 1]) == prefix
        return Hit() if found else None

    return finds


def _found(made: Rule, example: str) -> bool:
    script = read(example, cwd="/home/dev/project", home="/home/dev")
    around = Around("/home/dev/project", "/home/dev")
    return any(made.finds is not None and made.finds(command, around) for command in script.commands)
