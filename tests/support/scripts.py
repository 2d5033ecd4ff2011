"""Shell scripts to parse: those that are installed here, and random ones."""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import Iterable, Iterator

_COMMANDS = (
    "/etc",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/lib/git-core",
    "/usr/libexec",
    "/var/lib/dpkg/info",
)
_OTHERS = ("/usr/lib", "/usr/share", "/usr/local", sys.base_prefix)
_NAMED = re.compile(r".*(\.sh|\.bash|\.bats|/configure|/bash-completion/.*)\Z")
_SHEBANG = re.compile(rb"#! ?/\S*/(env )?(ba|da)?sh\b")
_LARGEST = 200_000


def installed_scripts() -> Iterator[tuple[str, str]]:
    """Yield name and text of every shell script in the usual places, each text once."""
    seen = set()
    for path in dict.fromkeys([*_files(_COMMANDS), *filter(_NAMED.match, _files(_OTHERS))]):
        text = _script(path)
        if text and text not in seen:
            seen.add(text)
            yield path, text


def _files(places: Iterable[str]) -> Iterator[str]:
    for place in places:
        for folder, _, names in os.walk(place):
            yield from (f"{folder}/{name}" for name in names)


def _script(path: str) -> str | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
            return None
        with open(path, "rb") as file:
            start = file.read(64)
            if not _SHEBANG.match(start) and (start.startswith(b"#!") or not _NAMED.match(path)):
                return None
            data = start + file.read()
    except OSError:
        return None
    return None if b"\0" in data else data.decode(errors="surrogateescape")


class Inventor:
    """Generator of valid bash scripts with unusual nesting and spacing."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._depth = 0
        self._documents: list[str] = []
        self._documented = True

    def script(self) -> str:
        return "".join(self._list() + self._newline() for _ in range(self._random.randint(1, 2)))

    def _any(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _odds(self, chance: float) -> bool:
        return self._random.random() < chance

    # spacing

    def _blank(self) -> str:
        return self._any(" ", " ", " ", "  ", "\t", " \\\n", " \\\n\t ")

    def _gap(self) -> str:
        return self._any("", "", " ", "\t", "\\\n")

    def _newline(self) -> str:
        """Return the end of a line, with the bodies of the here-documents that the line opened."""
        documents, self._documents = "".join(self._documents), []
        return (
            self._any("", " ", " # it's a (comment", " #") + "\n" + documents + self._any("", "", "\n", "  # x `\n\t\n")
        )

    def _break(self) -> str:
        return self._any(";", " ; ", "\n") if not self._documents and self._odds(0.5) else self._newline()

    # words

    def _name(self) -> str:
        return self._any("a", "b1", "_c", "PATH", "in_", "do_x")

    def _word(self) -> str:
        self._depth += 1
        word = "".join(self._part() for _ in range(self._random.choice((1, 1, 1, 2, 3))))
        self._depth -= 1
        return word

    def _part(self) -> str:
        simple = (
            *(
                "x",
                "foo",
                "-l",
                "a.b",
                "/etc/x",
                "*.c",
                "[a-z]",
                "{a,b}",
                "~",
                "%",
                "a#b",
                "if",
                "done",
                "in",
                "+",
                "é",
            ),
            *("'q r'", "'a\"$b'", "'x\\'", "''", "'\n'", "'#'", "';'"),
            *('"d e"', '""', '"it\'s"', '"\\"\\$\\`\\\\"', '"a\\\nb"', '"#)"', '"$a$"'),
            *("\\ ", "\\'", "\\;", "\\\\", "\\(", "\\$", "x\\\ny", "\\#"),
            *(
                "$a",
                "$1",
                "$@",
                "$#",
                "$$",
                "${a}",
                "${#a}",
                "${!a}",
                "${a[0]}",
                "${a[@]}",
                "${10}",
                "$'\\t\\'x'",
                '$"t"',
            ),
            *("$((1+2))", "$(( (a<<2) | b ))", "$[1+1]", "`a b`", "`a \\`b\\``", "$(a b)", "$()", "$(<f)"),
        )
        if self._depth > 2 or self._odds(0.85):
            return self._random.choice(simple)
        return self._nested_part()

    def _nested_part(self) -> str:
        documents, self._documents = self._documents, []
        match self._random.randrange(7):
            case 0:
                part = "$(" + self._gap() + self._list() + self._end() + ")"
            case 1:
                part = '"x$(' + self._list() + self._end() + ') y"'
            case 2:
                part = "${a" + self._any(":-", "-", ":+", "#", "%%", "/", "//", "^") + self._word() + "}"
            case 3:
                part = (
                    '"${a'
                    + self._any(":-", "=", "##", "%", "/b/")
                    + self._any("x", "$b", '"c d"', "\\}", "$(e)")
                    + '}"'
                )
            case 4:
                part = self._any("<(", ">(") + self._list() + self._end() + ")"
            case 5:
                part = "$(( " + self._any("a", "$b", "$(c d)", "(1)", "${#e}") + " + 1 ))"
            case _:
                part = "$( (" + self._list() + self._end() + ") )"
        self._documents = documents
        return part

    def _end(self) -> str:
        """Return text before a closing parenthesis; ends the line first if here-documents are pending."""
        return self._newline() if self._documents else self._any("", " ", "\n", ";", " # )\n")

    # commands

    def _list(self) -> str:
        text = self._pipeline()
        for _ in range(self._random.choice((0, 0, 0, 0, 0, 1, 2))):
            if self._documents:  # bash prints what follows a here-document on its line in the wrong place
                break
            joint = self._any("&&", "||", " && ", " || ", ";", "; ", " & ", "&\\\n& ", " |\\\n| ")
            if joint.strip() in ("&&", "||") and self._odds(0.3):
                joint += self._any("\n", " # c\n\n")
            text += joint + self._pipeline()
        return text

    def _pipeline(self) -> str:
        before = ("! ", "time ", "time -p ") if not self._depth else ("! ",)  # `$(time` is no keyword for bash
        text = (self._random.choice(before) if self._odds(0.2) else "") + self._command()
        for _ in range(self._random.choice((0, 0, 0, 0, 0, 1, 2))):
            text += self._any("|", " | ", " |& ", " |\\\n ") + self._command() if not self._documents else ""
        return text

    def _command(self) -> str:
        if self._depth > 1 or self._odds(0.6):
            return self._simple()
        self._depth += 1
        text = self._compound() + "".join(self._redirect() for _ in range(self._random.choice((0, 0, 1))))
        self._depth -= 1
        return text

    def _simple(self) -> str:
        pieces = [self._assignment() for _ in range(self._random.choice((0, 0, 0, 0, 0, 1, 2)))]
        pieces.append(
            self._any("a", "echo", "git", "\\ls", '"x y"', "$a", "./b", "[", ":", "e\\\ncho", "'if'", 'do"ne"')
        )
        pieces += [self._word() for _ in range(self._random.randint(0, 3))]
        text = self._blank().join(pieces)
        return text + "".join(self._redirect() for _ in range(self._random.choice((0, 0, 0, 0, 0, 1, 2))))

    def _assignment(self) -> str:
        value = self._any(
            "", "x", '"y z"', "$(a)", "`b`", "(1 2)", "( 'c d' $e )", "([0]=x [k l]=y)", "(\n1 # one\n2\n)"
        )
        subscript = "" if value.startswith("(") else self._any("", "", "[0]", "[a b]", "[$(c d)]")
        return self._name() + subscript + self._any("=", "+=") + value

    def _redirect(self) -> str:
        self._depth += 2
        kind = self._random.randrange(4)
        if kind == 0 and self._documented:
            text = self._here_document()
        elif kind == 1:
            text = self._blank() + self._any("2>&1", ">&2", "<&-", "3>&-", "&>f", "&>>f", "{fd}>f", "3<>f", "2\\\n>f")
        else:
            text = self._blank() + self._any(">", ">>", "<", "2>", ">|", "<<<", "10<") + self._gap() + self._word()
        self._depth -= 2
        return text

    def _here_document(self) -> str:
        mark = self._any("E", "EOF", "a-b")
        quoted = self._any(mark, mark, f"'{mark}'", f'"{mark}"', f"\\{mark}")
        operator = self._any("<<", "<<-")
        tab = "\t" if operator == "<<-" else ""
        lines = [
            "text",
            "it's \"x",
            "$a ${b:-c}",
            "$(d e) `f`",
            "\\$ \\\\",
            "back\\\nslash",
            ")",
            "}",
            "#",
            "$((1+2))",
            "",
        ]
        body = "".join(tab + self._any(*lines) + "\n" for _ in range(self._random.randint(0, 3)))
        self._documents.append(body + tab + mark + "\n")
        return self._blank() + self._any("", "", "3") + operator + self._gap() + quoted

    def _body(self) -> str:
        return self._list() + self._break()

    def _condition(self) -> str:
        """Return a condition without here-documents: bash prints their bodies among the commands that depend on it."""
        before, self._documented = self._documented, False
        condition = self._body()
        self._documented = before
        return condition

    def _compound(self) -> str:
        match self._random.randrange(13):
            case 0:
                return "{" + self._any(" ", "\n", " \\\n") + self._body() + "}"
            case 1:
                return "(" + self._gap() + self._list() + self._end() + ")"
            case 2:
                text = self._any("if", "i\\\nf") + " " + self._condition() + "then " + self._body()
                for _ in range(self._random.choice((0, 0, 1, 2))):
                    text += "elif " + self._condition() + "then\n" + self._body()
                return text + (self._any("else ", "else\n") + self._body() if self._odds(0.5) else "") + "fi"
            case 3:
                return self._any("while ", "until\n") + self._condition() + "do " + self._body() + "done"
            case 4:
                words = "".join(self._blank() + self._word() for _ in range(self._random.randint(0, 3)))
                return f"for {self._name()} in{words}" + self._break() + "do\n" + self._body() + "done"
            case 5:
                return self._any("for a", "select b") + self._any("; ", "\n", " ") + "do " + self._body() + "done"
            case 6:
                head = self._any("i=0;i<3;i++", ";;", " i = (1+2) ; i < $n ; i++ ")
                return f"for (({head}))" + self._any("; do ", "\ndo ") + self._body() + "done"
            case 7:
                return self._case()
            case 8 | 9:
                return self._test()
            case 10:
                return self._any("((a = 1))", "(( (a+b) * 2 > $c ))", "((a<<1))", "(( a[0]++ ))")
            case 11:
                head = self._any("f() ", "f ( )\n", "function f ", "function g-h () ")
                return head + "{ " + self._body() + "}"
            case _:
                return "f() " + self._any("( ", "(\n") + self._list() + self._end() + ")"

    def _case(self) -> str:
        text = f"case{self._blank()}{self._word()}{self._blank()}in" + self._any(" ", "\n", " # c )\n")
        for _ in range(self._random.randint(0, 3)):
            patterns = self._any("|", " | ").join(
                self._any("a", "*", "b*", "'c)'", '"d"', "$e", "\\)", "for", "?")
                for _ in range(self._random.randint(1, 3))
            )
            text += self._any("", "(", "( ") + patterns + self._any(")", " )") + self._any("", " ", "\n")
            text += (self._list() if self._odds(0.8) else "") + (
                self._newline() if self._documents else self._any("", "\n")
            )
            text += self._any(";;", " ;;", ";&", ";;&", ";\\\n;") + self._any(" ", "\n")
        return text + "esac"

    def _test(self) -> str:
        tests = (
            *("$a", "-f $b", "! -e x", "a == b*", '"$a" != [c-d]', "x < y", "1 -lt $n", "( a || b )", "-z $(c d)"),
            *("$x =~ ^a(b|c d)+$", "$x =~ [[:space:]]", '$x =~ "a b"', "a =~ $re", "-v a[1]"),
        )
        joint = self._any(" && ", " || ", " &&\n", " ||\n")
        return "[[ " + joint.join(self._random.choice(tests) for _ in range(self._random.randint(1, 3))) + " ]]"
