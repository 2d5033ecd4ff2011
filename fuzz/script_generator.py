"""Generate harmless bash scripts that run programs: a seed in, a script out. The only programs they run are `STUBS`.

The scripts are executed by bash, and the executed commands are compared with what nacre has parsed (`fuzz.running`). So
every word that may become a command is a stub, a builtin, or a wrapper around one, and files are written only in the
working directory of the script.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

STUBS = ("alpha", "beta", "gamma", "delta")
"""`beta` fails; `gamma` prints its arguments, `delta` the name of a stub."""
FILES = ("a.txt", "b.txt", "c d.txt", "sub/e.txt", "sub/f.log")
"""Existing files, for globs."""
_MAX_DEPTH = 3
_MARK = re.compile("@([swcq])")
_LINE = "⏎"


def _idioms() -> list[str]:
    """Return the pieces in idioms.txt, without the headings. Lines of a piece are separated by `⏎`."""
    lines = (Path(__file__).parent / "idioms.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("== ")]


IDIOMS = _idioms()
_INLINE_PIECES = [piece for piece in IDIOMS if _LINE not in piece]
"""Pieces that can stand in the middle of a line."""


class ScriptGenerator:
    """A generator of one script."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._depth = 0
        self._documents: list[str] = []

    def script(self) -> str:
        lines = [self._setting() for _ in range(self._random.randint(0, 2))]
        lines += [self._line() for _ in range(self._random.randint(1, 3))]
        return "\n".join(lines) + "\n"

    def _any(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _one_of(self, *choices: Callable[[], str]) -> str:
        return self._random.choice(choices)()

    def _odds(self, chance: float) -> bool:
        return self._random.random() < chance

    # words

    def _stub(self) -> str:
        return self._random.choice(STUBS)

    def _name(self) -> str:
        return self._any("x", "y", "z")

    def _value(self) -> str:
        """Return a word with a known or a computable value, in one of many notations."""
        return self._any(
            "one", "'two words'", '"three  words"', "-f", "--long=v", "a\\ b", "''", '""', "$'t\\tb'", "'*'",
            "{p,q}", "{1..3}", "p{q,r}s", "*.txt", "sub/*", "no*match", "[ab].txt", "?.txt", "~", "$x", '"$x"',
            "${y}", '"${y}"', "${z:-alpha}", "${x:+set}", '"${x:-d e}"', "${#x}", "${x%.*}", "${x#*a}", "${x/a/b}",
            "${x^^}", "$((1+2))", '"$((${#x}+1))"', "$@", '"$@"', "$#", "$*", "${arr[@]}", '"${arr[@]}"', "${arr[1]}",
            '"${arr[*]}"', "$?", "a#b", "\\$x", "'$x'", "x'y'\"z\"", "a\\\nb", "${!x}", '"a  $x  b"', "${x:0:2}",
            '"${@:1}"', "$1", '"$1"', "=", "a=b",
        )  # fmt: skip

    def _substitution(self) -> str:
        said = self._any("alpha", "one two", "'beta'", "x", "$x", "-n k", "a b c")
        inner = self._any(f"echo {said}", f"printf %s {said}", f"printf '%s\\n' {said}", f"{self._stub()} {said}")
        text = self._any(f"$({inner})", f"$( {inner} )", f"`{inner}`")
        return self._any(text, f'"{text}"')

    def _word(self) -> str:
        if self._depth < _MAX_DEPTH and self._odds(0.12):
            return self._substitution()
        return self._value()

    def _words(self, most: int = 3) -> str:
        return "".join(
            self._any(" ", " ", "  ", "\t", " \\\n") + self._word() for _ in range(self._random.randint(0, most))
        )

    # commands

    def _simple(self) -> str:
        before = f"{self._name()}={self._word()} " if self._odds(0.1) else ""
        return before + self._stub_call() + self._words() + self._redirects()

    def _stub_call(self) -> str:
        """Return a stub, named in one of the ways that a word can name it."""
        stub = self._stub()
        if self._odds(0.6):
            return stub
        return self._any(
            f"'{stub}'", f'"{stub}"', f"{stub[0]}\\{stub[1:]}", f"{stub[:2]}''{stub[2:]}", f"$'{stub}'",
            f"$(echo {stub})", f"`echo {stub}`", f"${{nothing:-{stub}}}", f"$(printf '%s' {stub})",
            f"{stub[:2]}\\\n{stub[2:]}", '$run', '"$run"', "${run}", "${runs[0]}", '"${runs[@]}"', f"{{{stub},one}}",
        )  # fmt: skip

    def _redirects(self) -> str:
        if self._odds(0.85):
            return ""
        if self._odds(0.3):
            return self._document()
        return self._any(
            " > out", " >> out", " 2> err", " 2>&1", " < a.txt", " &> out", ' <<< "$x"', " 3> out", " > /dev/null"
        )

    def _document(self) -> str:
        body = self._any("text", "$x", "$(echo k)", "`alpha in document`", "\\$x")
        quoted = self._any("E", "E", "'E'")
        self._documents.append(f"{body}\nE\n")
        return f" <<{quoted}"

    def _wrapped_command(self) -> str:
        inner = f"{self._stub()}{self._words(2)}"
        quoted = _quote_text(self._piece())
        return self._any(
            f"env {inner}", f"env A=1 {inner}", f"env -u B {inner}", f"nice {inner}", f"nice -n 3 {inner}",
            f"nohup {inner}", f"timeout 9 {inner}", f"timeout -s TERM 9 {inner}", f"command {inner}",
            f"builtin eval {inner}", f"eval {inner}", f"eval {quoted}", f"bash -c {quoted}",
            f"bash -c {quoted} name one two", f"sh -c '{self._stub()} k \"$1\"' n m", f"bash -ec {quoted}",
            f"time {inner}", f"! {inner}", f"exec {inner}", f"setsid -w {inner}", f"stdbuf -oL {inner}",
            f"echo one two | xargs {inner}", f"printf '%s\\n' p q | xargs -n1 {inner}",
            f"echo k | xargs -I{{}} {inner} {{}}", f"find sub -name '*.txt' -exec {self._stub()} {{}} \\;",
            f"find sub -type f -exec {self._stub()} {{}} +", f"echo {quoted} | bash", f"bash <<< {quoted}",
            f"source /dev/stdin <<< {quoted}", f"trap {quoted} EXIT", f"coproc {self._stub()}",
            f"bash -c 'exec \"$@\"' n {inner}", f"env -S '{self._stub()} k'", f"timeout 9 env A=1 nice {inner}",
            f"command -v {self._stub()}", f"xargs -a a.txt {self._stub()}",
        )  # fmt: skip

    def _piece(self) -> str:
        """Return a short script for another shell to run."""
        self._depth += 1
        kept, self._documents = self._documents, []
        text = self._any(
            self._simple(), f"{self._simple()}; {self._simple()}", f'{self._stub()} "$@"', f"{self._stub()} $0 $1"
        )
        text += "\n" + "".join(self._documents) if self._documents else ""
        self._documents = kept
        self._depth -= 1
        return text

    def _command(self) -> str:
        if self._depth >= _MAX_DEPTH or self._odds(0.3):
            return self._simple()
        if self._odds(0.25):
            return self._wrapped_command()
        self._depth += 1
        if self._odds(0.6):
            text = self._idiom(_INLINE_PIECES)
            self._depth -= 1
            return text
        text = self._one_of(
            self._group, self._if, self._for, self._while, self._case, self._function, self._and, self._pipe,
            self._test, self._read_command, self._background, self._arithmetic,
        )  # fmt: skip
        self._depth -= 1
        return text

    def _body(self) -> str:
        kept, self._documents = self._documents, []
        text = self._command()
        end = "\n" + "".join(self._documents) if self._documents else self._any("; ", "\n")
        self._documents = kept
        return text + end

    def _group(self) -> str:
        return self._any(f"{{ {self._body()}}}", f"( {self._body()})")

    def _if(self) -> str:
        test = self._any(
            "true", "false", "[ -f a.txt ]", "[[ $x == a* ]]", "alpha c", "beta c", "! beta", "(( 1 < 2 ))"
        )
        tail = f"else {self._body()}" if self._odds(0.5) else ""
        return f"if {test}; then {self._body()}{tail}fi"

    def _for(self) -> str:
        name = self._name()
        words = self._any("1 2", "*.txt", '"p q" r', "$x", '"${arr[@]}"', "alpha gamma", "{1..3}", "$(echo i j)")
        body = self._any(
            self._body(),
            f'{self._stub()} "${name}"; ',
            f"${name} in_loop; " if "alpha" in words else f"alpha ${name}; ",
        )
        return f"for {name} in {words}; do {body}done"

    def _while(self) -> str:
        n = f"n{self._depth}"
        return f"{n}=0; while (( {n}++ < 2 )); do {self._any(self._body(), f'alpha ${n}; ', 'beta || break; ')}done"

    def _case(self) -> str:
        word = self._any("$x", "one", '"$y"', "a.txt")
        return f"case {word} in one|*.txt) {self._body()};; *) {self._body()};; esac"

    def _function(self) -> str:
        name = self._any("f", "g", "alpha")
        inner = self._any('"$@"', "$1", '"$#"', "$*", '"${@:2}"', "fixed")
        before = self._any("", "local x=k; ", "shift; ", "set -- m n; ")
        return f"{name}() {{ {before}{self._any('command gamma', 'beta', 'gamma')} {inner}; }}; {name}{self._words()}"

    def _and(self) -> str:
        left = self._simple()
        if self._documents:
            return left
        return left + self._any(" && ", " || ", "; ", " && \\\n") + self._command()

    def _pipe(self) -> str:
        return (
            self._any("echo one", "printf 'a\\nb\\n'", "gamma p q", "cat a.txt")
            + self._any(" | ", " |& ")
            + self._command()
        )

    def _test(self) -> str:
        test = self._any(
            '[ -n "$x" ]', "[[ -n $(alpha t) ]]", "test one = one", "[[ a.txt == *.txt ]]", "[ $(echo 1) -eq 1 ]"
        )
        return f"{test} && {self._command()}"

    def _read_command(self) -> str:
        read = self._any("read -r x y", "IFS= read -r x", "IFS=: read -r x y")
        return f"printf 'k:l m\\nn\\n' | while {read}; do {self._stub()} \"$x\" $y; done"

    def _background(self) -> str:
        kept, self._documents = self._documents, []
        text = self._simple()
        text = f"{text} & wait" if not self._documents else f"{text} &\n{''.join(self._documents)}wait"
        self._documents = kept
        return text

    def _arithmetic(self) -> str:
        return self._any(
            "(( x = 2 )); alpha $x", "let y=3+4; alpha $y", "alpha $(( 3 * 4 )) $((x++))", "x=$((x+1)); alpha $x"
        )

    def _idiom(self, pieces: list[str]) -> str:
        """Return another bash idiom: `@s` is a stub, `@w` a word, `@c` a command, `@q` a script in single quotes."""
        filled: dict[str, Callable[[], str]] = {
            "s": self._stub,
            "w": self._value,
            "c": self._simple,
            "q": lambda: _quote_text(self._piece()),
        }
        return _MARK.sub(lambda mark: filled[mark[1]](), self._random.choice(pieces)).replace(_LINE, "\n")

    # script

    def _setting(self) -> str:
        return self._any(
            "x=one", "x='two words'", "y=a.txt", 'y="$x more"', "arr=(p 'q r' s)", "set -- first 'second one' third",
            "run=alpha", "runs=(gamma 'an arg')", "x=$(echo sub)", "export x=env", "z=", "run='gamma k'",
            "shopt -s extglob", "x=*.txt", "x=~",
        )  # fmt: skip

    def _line(self) -> str:
        text = self._idiom(IDIOMS) if self._odds(0.4) else self._command()
        documents, self._documents = "".join(self._documents), []
        return text if not documents else f"{text}\n{documents}".rstrip("\n")


def _quote_text(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
