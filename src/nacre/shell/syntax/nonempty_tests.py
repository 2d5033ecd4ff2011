"""Tests that show a variable not to be empty: `[ -n "$D" ]`, `[ -d "$D" ]`, `[[ $D ]]`; `[ -z "$D" ]` if it fails."""

from __future__ import annotations

from nacre.shell.syntax.nodes import Assignment, Block, ListItem, ParameterExpansion, SimpleCommand, Test, Word

_EXISTS_TESTS = frozenset(("-n", "-d", "-e", "-f", "-s", "-r", "-w", "-x", "-L", "-h", "-O", "-G"))
"""Operators that are false for an empty text."""
_OR_OPERATORS = frozenset(("||", "-o", "!", "(", ")"))
"""Operators that make a test too complex for this module."""
_NOTHING: tuple[str, ...] = ()


def nonempty_if(item: ListItem, *, succeeds: bool) -> tuple[str, ...]:
    """Return the variables that are not empty if this command succeeds, or if it fails."""
    node = item.node
    if isinstance(node, Test):
        words: list[Word | Assignment] = list(node.words)
    elif isinstance(node, SimpleCommand) and node.argv is None and node.name in ("[", "test"):
        words = node.words[1:-1] if node.name == "[" else node.words[1:]
        if not all((isinstance(word, Word) and word.literal is not None) or _is_quoted(word) for word in words):
            return _NOTHING  # `[ -n $D ]` succeeds if D is empty
    else:
        return _NOTHING
    if item.background or node.redirects:
        return _NOTHING
    texts = [_literal(word) for word in words]
    if texts[:1] == ["!"]:
        texts, words, succeeds = texts[1:], words[1:], not succeeds
    if not _OR_OPERATORS.isdisjoint(texts):
        return _NOTHING
    succeeds = succeeds is not item.negated
    if not succeeds:
        return _names(words[1:]) if len(words) == 2 and texts[0] == "-z" else _NOTHING
    if len(words) == 1:
        return _names(words)
    found = [
        name for text, word in zip(texts, words[1:], strict=False) if text in _EXISTS_TESTS for name in _names([word])
    ]
    for index, operator in enumerate(texts[1:-1], 1):
        other = texts[index + 1]
        if (operator == "!=" and other == "") or (operator in ("=", "==") and other and other[0] not in "*?["):
            found += _names(words[index - 1 : index])
    return tuple(found)


def nonempty_if_true(block: Block) -> tuple[str, ...]:
    """Return the variables that are not empty if a whole condition is true."""
    if any(item.operator == "||" for statement in block.statements for item in statement.rest):
        return _NOTHING
    last = block.statements[-1].items if block.statements else []
    return tuple(name for item in last for name in nonempty_if(item, succeeds=True))


def nonempty_if_false(block: Block) -> tuple[str, ...]:
    """Return the variables that are not empty if a whole condition is false."""
    if not block.statements or any(item.operator == "&&" for statement in block.statements for item in statement.rest):
        return _NOTHING
    return nonempty_if(block.statements[-1].last, succeeds=False)


def _is_quoted(word: Word | Assignment) -> bool:
    return isinstance(word, Word) and all(part.quoted for part in word.parts)


def _literal(word: Word | Assignment) -> str | None:
    if isinstance(word, Assignment):
        return None
    return word.literal if word.literal is not None else word.unquoted_text()


def _names(words: list[Word | Assignment]) -> tuple[str, ...]:
    """Return the variable of `$D` or `"$D"`, if there is nothing else."""
    if len(words) != 1 or isinstance(words[0], Assignment):
        return _NOTHING
    match words[0].parts:
        case [ParameterExpansion(operator="", subscript=None, indirect=False, length=False) as parameter]:
            return (parameter.name,)
    return _NOTHING
