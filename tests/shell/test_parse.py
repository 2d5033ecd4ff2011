"""The parser: its trees as text, recovery after errors, and what never happens."""

from __future__ import annotations

import contextlib
import random
import time
from pathlib import Path

import pytest

from nacre.shell.syntax.nodes import Block, ParameterExpansion, SimpleCommand, Word
from nacre.shell.syntax.parser import TooDeep, parse
from tests.support.notation import notate_block

NASTY = (Path(__file__).parent / "nasty.txt").read_text().split("\n%%\n")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", ""),
        ("# nothing", ""),
        ("ls -la /tmp", "[ls -la /tmp]"),
        ("git commit -m 'a b' && git push", "[git commit -m «a b»] && [git push]"),
        ("a; b & c || d", "[a] ; [b]& ; [c] || [d]"),
        ("a | b |& c > f", "[a] | [b 2>&1] | [c >f]"),
        ("a\\\nb c \\\n d", "[ab c d]"),
        ("i\\\nf a; the\\\nn b; fi", "if [a] then [b]"),
        ("a 2\\\n>&1 &\\\n& b", "[a 2>&1] && [b]"),
        ("x=1 y+=2 a b=3", "[x=1 y+=2 a b=3]"),
        ("a[b c]=d a[1]e f[ g", "[a[«b c»]=d a[«1»]e f[ g]"),
        ("a=(1 [x y]=2) declare -a b=(3)", "[a=(1 [«x y»]=2) declare -a b=(3)]"),
        ('a "b$c`d`"e\\ f', "[a «b»$c$([d])e« »f]"),
        ("a ${b:-c} ${#d} ${!e} ${f[g]} ${h b}", "[a ${b:-c} ${#d} ${!e} ${f[«g»]} ${ b}]"),
        ("a $((1+$b)) $[2] $((c); (d))", "[a $((«1+»$b)) $((«2»)) $(([c]) ; ([d]))]"),
        ("a <(b) >(c | d)", "[a <([b]) >([c] | [d])]"),
        ("a ${b:-<(c)}", "[a ${b:-<([c])}]"),
        ("a <<E b\n$c\nE\nd", "[a b <<$c«\n»] ; [d]"),
        ("a <<'E'\n$c\nE", "[a <<«$c\n»]"),
        ("a <<-E\n\tb\n\tE\nc", "[a <<-«b\n»] ; [c]"),
        ("a <<E $(b\nc)\nd\nE", "[a $([b] ; [c]) <<«d\n»]"),
        ("a $(b <<E\nc\nE) d", "[a $([b <<«c\n»]) d]"),
        ("a >b 2>&1 {c}<d <<<e &>f", "[a >b 2>&1 {c}<d <<<e &>f]"),
        ("{ a; }; (b)", "{[a]} ; ([b])"),
        ("if a; then b; elif c; then d; else e; fi >f", "if [a] then [b] | [c] then [d] | else [e] >f"),
        ("while a; do b; done", "while [a] do [b]"),
        ("for a in b c; do d; done", "for a in b c do [d]"),
        ("for a do b; done", "for a do [b]"),
        ("for ((a;b;c)) { d; }", "for ((«a;b;c»)) do [d]"),
        ("case a in (b|c) d;; *) esac", "case a b|c) [d] *) "),
        ("[[ a =~ (b|c d) && e < f ]]", "[[ a =~ (b|c d) && e < f ]]"),
        ("((a+b)) || ((c); d)", "((«a+b»)) || (([c]) ; [d])"),
        ("f() { a; }; function g (b)", "f() {[a]} ; g() ([b])"),
        ("! a; time -p b; time", "[a] ; [b] ; []"),
        ("coproc a b; coproc c { d; }", "coproc [a b] ; coproc {[d]}"),
        ("a $'\\t\\x41\\u00e9\\0b' $\"c\"", "[a «\tAé» «c»]"),
    ],
)
def test_text_is_parsed_into_the_expected_tree(text: str, tree: str) -> None:
    block, broken = parse(text)
    assert (notate_block(block), broken) == (tree, False)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a\nb )\nc", "[a] ; [b] ; [c]"),
        ("a; if b; then c", "[a] ; [b] ; [c]"),
        ("a && (b; c", "[a] ; [b] ; [c]"),
        ("a 'b; c", ""),
        ("a | | b > f", "[a] ; [b >f]"),
        ("{ a; b", "[a] ; [b]"),
        ("a $(b; c", "[a $] ; [b] ; [c]"),
        ("a &&", "[a]"),
        ("f() a", "[f] ; [a]"),
        ("( )", ""),
    ],
)
def test_possible_commands_in_broken_text_are_parsed(text: str, tree: str) -> None:
    block, broken = parse(text)
    assert (notate_block(block), broken) == (tree, True)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a `b; if` c", "[a $([b]) c]"),
        ("a <<E\nx $(b; c\nE\nd", "[a <<«x »$([b] ; [c])] ; [d]"),
        ("a ${b[}; c", "[a ${b[]}] ; [c]"),
    ],
)
def test_error_that_bash_finds_only_at_run_time_is_no_syntax_error(text: str, tree: str) -> None:
    block, broken = parse(text)
    assert (notate_block(block), broken) == (tree, False)


def test_quote_in_a_quoted_default_hides_no_command() -> None:
    block, broken = parse("""a "${x:-'"'}"; b # }\"""")
    assert (notate_block(block), broken) == ("[a ${x:-«'»«\"'»}] ; [b]", False)


def test_node_positions_match_the_text() -> None:
    text = 'a "$(b  cc)" `d ee`; (ff)'
    found: list[str] = []

    def visit(block: Block) -> None:
        for item in block.items:
            found.append(text[item.node.start : item.node.end])
            for word in getattr(item.node, "words", []):
                for part in word.parts:
                    visit(getattr(part, "body", Block()))
            visit(getattr(item.node, "body", Block()))

    visit(parse(text)[0])
    assert found == ['a "$(b  cc)" `d ee`', "b  cc", "d ee", "(ff)", "ff"]


def test_statement_holds_the_commands_that_and_or_operators_join() -> None:
    block, _ = parse("a && ! b || c & d\ne")
    statements = [[(item.operator, item.negated, item.background) for item in each.items] for each in block.statements]
    first = [("", False, False), ("&&", True, False), ("||", False, True)]
    assert statements == [first, [("", False, False)], [("", False, False)]]


def test_bad_substitution_has_no_name() -> None:
    block, _ = parse("a ${b c}")
    node = block.items[0].node
    assert isinstance(node, SimpleCommand)
    word = node.words[1]
    assert isinstance(word, Word)
    assert [part.name for part in word.parts if isinstance(part, ParameterExpansion)] == [""]


# the result is a tree or TooDeep, and soon

PIECES = (
    *(
        "(",
        "$(",
        '"',
        "`",
        "${",
        "((",
        "$((",
        "<<E",
        "{ ",
        "case x in ",
        "case x in x) ",
        "[[ ",
        "\\\n",
        "\\",
        "|\\\n|",
    ),
    *(
        "i\\\nf",
        "a=(",
        "a[",
        "a[ ",
        "x=([ ",
        "$[",
        "@(",
        "! ",
        "time ",
        "if a; then ",
        "for ((",
        "f() ",
        "coproc ",
        "a|",
    ),
    *("a\n", "<(", "${x:-", '"${x:-', "\"${x:-'", '"$(', "`\\`", "'", "$'", "#", "cat <<E\n", "$(cat <<E\n", "((a)"),
    *(
        "{a}>",
        "2>",
        "[[ a =~ (",
        "${x[",
        "((1))",
        "a\\\n=",
        "\0",
        "\r",
        "é",
        "cat <<E\n$(",
        "esac ",
        "done ",
        ";;",
        "$((1)",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
def test_long_repetition_does_not_take_quadratic_time(piece: str) -> None:
    began = time.process_time()
    for text in (piece * (100_000 // len(piece)), piece * 38 + "x " * 20_000, piece * 38 + "x" + ")" * 38 + "}" * 38):
        with contextlib.suppress(TooDeep):
            parse(text)
    assert time.process_time() - began < 30  # quadratic time would take minutes


def test_nested_errors_are_not_parsed_repeatedly() -> None:
    text = "if " + "x " * 2_000
    for _ in range(9):
        text = "if `" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"
    parse(text)
    parse("cat <<E\n$(" * 30 + "x " * 2_000)


@pytest.mark.parametrize("seed", range(5))
def test_mangled_text_raises_no_unexpected_error(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(1_000):
        letters = list(chance.choice(NASTY))
        for _ in range(chance.randint(1, 4)):
            at = chance.randint(0, len(letters))
            match chance.randrange(3):
                case 0:
                    del letters[at : at + chance.randint(1, 3)]
                case 1:
                    letters[at:at] = chance.choice(PIECES)
                case _:
                    letters[at:at] = chance.choice(NASTY)[: chance.randint(0, 20)]
        with contextlib.suppress(TooDeep):
            parse("".join(letters))
