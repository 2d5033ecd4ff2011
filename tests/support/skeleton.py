"""Skeletons of syntax trees: equal for trees that bash prints differently but that mean the same."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from nacre.shell.syntax.nodes import (
    Arithmetic,
    ArithmeticCommand,
    Assignment,
    Block,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Node,
    ParameterExpansion,
    Pipeline,
    Redirect,
    SimpleCommand,
    Substitution,
    Test,
    Word,
)

Skeleton: TypeAlias = tuple[Any, ...]

_ALL_ARGUMENTS = ("w", ("$", "@", "", None, None, False, False, True))


def skeleton(block: Block) -> Skeleton:
    return tuple((item.operator or ";", _node(item.node), item.background) for item in block.items)


def _node(node: Node) -> Skeleton:
    if isinstance(node, Function):
        return _bare(node)
    return (*_bare(node), tuple(sorted(map(_redirect, node.redirects), key=repr)))


def _bare(node: Node) -> Skeleton:
    match node:
        case SimpleCommand():
            assigned = tuple(map(_assignment, node.assignments))
            words = tuple(_assignment(w) if isinstance(w, Assignment) else _word(w) for w in node.words)
            return ("simple", assigned, words)
        case Group():
            return ("(" if node.subshell else "{", skeleton(node.body))
        case If():
            return _if(node.branches)
        case Loop():
            if node.expressions:
                head: Skeleton = ("for((", _expressions(node.expressions))
            elif node.name:
                words = (_ALL_ARGUMENTS,) if node.words is None else tuple(map(_word, node.words))
                head = ("for", node.name, words)
            else:
                head = ("while", skeleton(node.condition) if node.condition else None)
            return (*head, skeleton(node.body))
        case Case():
            arms = tuple((tuple(map(_word, patterns)), skeleton(body)) for patterns, body in node.arms)
            return ("case", _word(node.word), arms)
        case Test():
            words = tuple(_word(w) for w in node.words if w.unquoted_text() not in ("-n", "!", "(", ")"))
            return ("[[", words)
        case ArithmeticCommand():
            return ("((", _squeeze_word(node.expression))
        case Function():
            body, others = node.body, tuple(map(_redirect, node.redirects))
            if isinstance(body, Group) and not body.subshell:
                *group, redirects = _node(body)
                return ("function", _word(node.name), *group, tuple(sorted(redirects + others, key=repr)))
            return ("function", _word(node.name), "{", ((";", _node(body), False),), others)
        case Pipeline():
            return ("|", tuple(map(_node, node.stages)))
        case Coprocess():
            kind, *rest = _node(node.command)
            if kind == "simple" and rest[1][0] == ("w", (False, "COPROC")):
                rest[1] = rest[1][1:]  # the name that bash prints even where it is not valid syntax
            return ("coproc", kind, *rest)
    raise TypeError(node)


def _if(branches: list[tuple[Block, Block]]) -> Skeleton:
    """Return an `if`, with `elif` as an `if` within the `else`, as bash prints it."""
    (condition, body), *others = branches
    if not others:
        return ("if", skeleton(condition), skeleton(body), None)
    if not others[0][0].items:
        return ("if", skeleton(condition), skeleton(body), skeleton(others[0][1]))
    return ("if", skeleton(condition), skeleton(body), ((";", (*_if(others), ()), False),))


def _redirect(redirect: Redirect) -> Skeleton:
    operator, descriptor = redirect.operator, redirect.descriptor
    if not descriptor and not operator.startswith("&"):
        descriptor = "0" if operator.startswith("<") else "1"
    if redirect.target.unquoted_text() == "-":
        operator = operator.replace("<", ">")  # bash prints `<&-` as `>&-`
    return (descriptor, operator.removesuffix("-"), redirect.quoted, _word(redirect.target))


def _assignment(assignment: Assignment) -> Skeleton:
    elements = assignment.elements
    return (
        "=",
        assignment.name,
        assignment.append,
        _word(assignment.subscript) if assignment.subscript else None,
        _word(assignment.value),
        None if elements is None else tuple(map(_word, elements)),
    )


def _word(word: Word) -> Skeleton:
    parts: list[Any] = []
    for part in word.parts:
        match part:
            case Literal():
                if parts and parts[-1][0] == part.quoted:
                    parts[-1] = (part.quoted, parts[-1][1] + part.text)
                else:
                    parts.append((part.quoted, part.text))
            case ParameterExpansion():
                argument = _word(part.argument) if part.argument and part.argument.parts else None
                subscript = _word(part.subscript) if part.subscript else None
                parts.append(
                    ("$", part.name, part.operator, argument, subscript, part.indirect, part.length, part.quoted)
                )
            case Substitution():
                parts.append((part.kind, skeleton(part.body), part.quoted))
            case Arithmetic():
                parts.append(("((", _squeeze_word(part.expression), part.quoted))
    return ("w", *parts)


def _squeeze_word(word: Word) -> Skeleton:
    """Return an arithmetic word without whitespace, which has no meaning there."""
    return tuple(p if p[0] not in (True, False) else re.sub(r"\s+", "", p[1]) for p in _word(word)[1:])


def _expressions(word: Word) -> Skeleton:
    """Return the three expressions of `for ((…))`; bash prints 1 for one that is missing."""
    parts = _squeeze_word(word)
    text = "".join(part if isinstance(part, str) else "$" for part in parts)
    return (tuple(one or "1" for one in text.split(";")), tuple(part for part in parts if not isinstance(part, str)))
