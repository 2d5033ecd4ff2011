"""A syntax tree as text: commands in brackets, quoted characters in «…», the rest much as bash writes it."""

from __future__ import annotations

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
    Part,
    Pipeline,
    SimpleCommand,
    Substitution,
    Test,
    Word,
)


def notate_block(block: Block) -> str:
    text = ""
    for n, item in enumerate(block.items):
        text += (f" {item.operator or ';'} " if n else "") + _node(item.node) + ("&" if item.background else "")
    return text


def _node(node: Node) -> str:
    redirects = [f"{each.descriptor}{each.operator}{_word(each.target)}" for each in node.redirects]
    if isinstance(node, SimpleCommand):
        return "[" + " ".join([*map(_word, node.assignments), *map(_word, node.words), *redirects]) + "]"
    return " ".join([_compound(node), *redirects])


def _compound(node: Node) -> str:
    match node:
        case Group():
            return ("(%s)" if node.subshell else "{%s}") % notate_block(node.body)
        case If():
            branches = (
                f"{notate_block(a)} then {notate_block(b)}" if a.items else f"else {notate_block(b)}"
                for a, b in node.branches
            )
            return "if " + " | ".join(branches)
        case Loop():
            if node.condition:
                head = f"while {notate_block(node.condition)}"
            elif node.expressions:
                head = f"for (({_word(node.expressions)}))"
            else:
                head = " ".join(
                    ["for", node.name] + (["in", *map(_word, node.words)] if node.words is not None else [])
                )
            return f"{head} do {notate_block(node.body)}"
        case Case():
            arms = ("|".join(map(_word, patterns)) + ") " + notate_block(body) for patterns, body in node.arms)
            return " ".join(["case", _word(node.word), *arms])
        case Test():
            return " ".join(["[[", *map(_word, node.words), "]]"])
        case ArithmeticCommand():
            return f"(({_word(node.expression)}))"
        case Function():
            return f"{_word(node.name)}() {_node(node.body)}"
        case Pipeline():
            return " | ".join(map(_node, node.stages))
        case Coprocess():
            return f"coproc {_node(node.command)}"
    raise TypeError(node)


def _word(word: Word | Assignment) -> str:
    if isinstance(word, Word):
        return "".join(map(_part, word.parts))
    name = word.name + (f"[{_word(word.subscript)}]" if word.subscript else "") + ("+=" if word.append else "=")
    return name + (_word(word.value) if word.elements is None else f"({' '.join(map(_word, word.elements))})")


def _part(part: Part) -> str:
    match part:
        case Literal():
            return f"«{part.text}»" if part.quoted else part.text
        case Arithmetic():
            return f"$(({_word(part.expression)}))"
        case Substitution():
            return f"{part.kind}({notate_block(part.body)})"
        case ParameterExpansion():
            subscript = f"[{_word(part.subscript)}]" if part.subscript else ""
            sign = "#" if part.length else "!" if part.indirect else ""
            argument = _word(part.argument) if part.argument else ""
            inside = sign + part.name + subscript + part.operator + argument
            return f"${{{inside}}}" if part.argument is not None else f"${part.name}"
