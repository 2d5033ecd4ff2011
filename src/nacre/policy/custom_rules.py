"""Custom rules: by the first words, by a glob on the words, or by a predicate. Their examples are checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from nacre.errors import InvalidPolicy
from nacre.policy.evaluate import MAX_MESSAGE_CHARS
from nacre.policy.permissions.globs import matches_pieces
from nacre.policy.policy import decision_of
from nacre.policy.rule import CheckContext, Hit, MatchCommand, MatchScript, Rule
from nacre.shell import Command, Script, read
from nacre.shell.symbolic import has_glob, may_equal, to_display
from nacre.verdict import Decision

_ANY = ("ls", "> f", "x=1", "a=(1 2)", '"$X" "$@"', "./* -- -x", "f() { :; }; f", "cat <<< x | sh")
"""Commands that every predicate is tried on when its rule is made."""


class InvalidRule(InvalidPolicy):
    """A custom rule does not match its examples, or is incomplete."""


def rule(
    id: str,
    decision: Decision,
    *,
    prefix: str | Sequence[str] = (),
    words: str = "",
    predicate: Callable[[Command], bool] | None = None,
    reason: str = "is blocked by a rule of this project",
    instead: str = "ask the user how to continue",
    hits: Sequence[str] = (),
    passes: Sequence[str] = (),
) -> Rule:
    """Return a custom rule, from one of `prefix`, `words` and `predicate`.

    `prefix`: the first words ("npm publish"). `words`: a glob on all words ("terraform * -auto-approve*"). `predicate`:
    gets every command, also one without words (`> file`).

    The rule must match every example in `hits` and none in `passes`; InvalidRule names the one that fails. A predicate
    is also tried on a few commands at once; if it raises later, the check fails and nothing is run.
    """
    if sum((bool(prefix), bool(words), predicate is not None)) != 1:
        raise InvalidRule(f"rule {id!r} needs one of prefix=, words= and predicate=")
    first = tuple(prefix.split() if isinstance(prefix, str) else prefix)
    first = (first[0].rsplit("/", 1)[-1], *first[1:]) if first else ()
    made = Rule(
        id=id,
        decision=decision_of(decision),
        reason=reason,
        instead=instead,
        commands=first[:1],
        match=_make_match(id, first, words, predicate),
        hits=tuple(hits),
        passes=tuple(passes),
    )
    if len(reason) + len(instead) > MAX_MESSAGE_CHARS - 60:
        raise InvalidRule(f"the reason of rule {id!r} and what to do instead are too long for a message")
    if not hits:
        raise InvalidRule(f"rule {id!r} needs an example in hits= that it matches")
    for example in _ANY if predicate else ():
        _matches_example(made, example)
    for example in hits:
        if not _matches_example(made, example):
            raise InvalidRule(f"rule {id!r} does not match its own example {example!r}")
    for example in passes:
        if _matches_example(made, example):
            raise InvalidRule(f"rule {id!r} matches {example!r}, which it should not")
    return made


def text_rule(
    id: str, *pieces: str, regex: bool = False, lower: bool = False, wording: str = "", ends: str = "\n"
) -> Rule:
    """Return a rule on the script's text, in quotes and comments too. It knows nothing of shells, unlike the other
    rules.

    `pieces`: texts, or regular expressions with `regex`, that must follow each other, each beginning on the line on
    which the previous one ends. `lower`: match in lower case. `ends`: the characters that end a line.
    """
    patterns = [re.compile(piece if regex else re.escape(piece.lower() if lower else piece)) for piece in pieces]
    line_end = re.compile(f"[{re.escape(ends)}]")

    def match_script(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
        text = script.text.lower() if lower else script.text
        first, *others = [_ForwardSearch(pattern, text) for pattern in patterns]
        newline, place = _ForwardSearch(line_end, text), 0
        while (begun := first.search_from(place)) is not None:
            end = begun.end()
            place = max(end, begun.start() + 1)
            for other in others:
                found = other.search_from(end)
                if found is None:
                    return None
                stop = newline.search_from(end)
                if stop is not None and stop.start() < found.start():
                    break
                end = found.end()
            else:
                return _locate_hit(begun.start(), end, text, script)
        return None

    return _about_text(id, match_script, wording)


def texts_rule(id: str, *pieces: str, wording: str = "") -> Rule:
    """Return a rule on the script's text: it contains all of these pieces, anywhere, in any case."""
    wanted = [piece.lower() for piece in pieces]

    def match_script(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
        text = script.text.lower()
        if not all(piece in text for piece in wanted):
            return None
        start = text.find(wanted[0])
        return _locate_hit(start, start + len(wanted[0]), text, script)

    return _about_text(id, match_script, wording)


def _locate_hit(start: int, end: int, text: str, script: Script) -> tuple[int, int, Hit]:
    """Return the hit with its position.

    In lower case, a few letters become two; the position is then unknown, and the hit is the whole text.
    """
    return (start, end, Hit()) if len(text) == len(script.text) else (0, len(script.text), Hit())


def _about_text(id: str, match_script: MatchScript, wording: str) -> Rule:
    return Rule(
        id=id,
        decision=Decision.REFUSE,
        reason="is text that this policy forbids in commands",
        instead="" if wording else "leave it out, or ask the user how to continue",
        match_script=match_script,
        exact_message=wording,
    )


class _ForwardSearch:
    """Search a pattern from increasing positions, so that the text is read only once."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self._found = pattern.search(text)

    def search_from(self, place: int) -> re.Match[str] | None:
        if self._found is not None and self._found.start() < place:
            self._found = self._pattern.search(self._text, place)
        return self._found


def _make_match(
    id: str, prefix: tuple[str, ...], words: str, predicate: Callable[[Command], bool] | None
) -> MatchCommand:
    def match(command: Command, context: CheckContext) -> Hit | None:
        if words:
            found = matches_pieces(
                words.split("*"), " ".join(_word_for_glob(word, words) for word in (command.name, *command.args))
            )
        elif predicate is not None:
            try:
                found = predicate(command)
            except Exception as error:
                raise InvalidRule(f"the predicate of rule {id!r} failed: {error!r}") from error
        else:
            given = (command.name, *command.args[: len(prefix) - 1])
            found = len(given) == len(prefix) and all(map(may_equal, given, prefix))
        return Hit() if found else None

    return match


def _word_for_glob(word: str, glob: str) -> str:
    """Return a word as in source code. A word that is a glob is taken for a word of the rule that it may match."""
    if not has_glob(word):
        return to_display(word)
    return next((name for name in glob.replace("*", " ").split() if may_equal(word, name)), to_display(word))


def _matches_example(made: Rule, example: str) -> bool:
    script = read(example, cwd="/home/dev/project", home="/home/dev")
    context = CheckContext("/home/dev/project", "/home/dev")
    return any(made.match is not None and made.match(command, context) for command in script.commands)
