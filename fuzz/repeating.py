"""Fuzz `check` with texts of up to 100 KB that repeat one construct: opened, never closed, closed too often, quoted
again, doubled, within a word, a name or a script that is run. A parser that backtracks takes exponential or quadratic
time."""

from __future__ import annotations

import json
import random
import time

from fuzz.reading import MAX_TEXT_CHARS, Reading
from nacre import check
from nacre.policy.policy import Policy

RETIME_CPU_S = 3.0
"""CPU seconds from which on a text is timed again."""
MAX_SLOWDOWN = 12
"""Maximum ratio to the time for the same number of characters of the simplest commands, measured on the same machine at
the same moment: most texts take less than three times as long, and quadratic ones far more."""
_PLAIN = "echo a; "
_NUMBER = "№"
"""In a piece, the number of its repetition; `№+`: the next number."""
_PAIRS = (
    ("$(", ")"), ("(", ")"), ("((", "))"), ("$((", "))"), ("$[", "]"), ("{ ", "; }"), ("{{{", "}}}"), ("{a,", "}"),
    ("{1..9}", ""), ("${", "}"), ("${x:-", "}"), ("${x/a/", "}"), ('"${x#', '}"'), ("`", "`"), ("\\`", "\\`"),
    ('"', '"'), ("'", "'"), ("$'", "'"), ('\\', ""), ("\\\n", ""), ("\"\\", '"'), ("[[ ", " ]]"), ("[[ x =~ (", ") ]]"),
    ("[ ", " ]"), ("a[", "]"), ("a[0]=", "; "), ("case x in x) ", ";; esac"), ("case ", " in "), ("a|", ")"),
    (";&", "\n"), ("if ", "; then :; fi"), ("if :; then ", "; fi"), ("elif x; then ", ""), ("while ", "; do :; done"),
    ("for i in ", "; do :; done"), ("for i in 1 2; do ", "; done"), ("for ((", ")); do :; done"),
    ("select i in ", "; do :; done"), ("f() { ", "; }"), ("function f ", ""), ("f; ", ""), ("g() { f; f; }; ", ""),
    ("<(", ")"), (">(", ")"), ("<<E ", "\nE\n"), ("cat <<E\n", "\nE\n"), ("<<-'E'\n", "\n\tE\n"), ("<<< ", ""),
    ("> f ", ""), ("2>&1 ", ""), ("{fd}>x ", ""), ("@(", "|b)"), ("*", ""), ("?*", ""), ("!(", ")"), ("x=", "; "),
    ("x=$x$x; ", ""), ("x+=a; ", ""), ("$x", ""), ("${x//a/b}", ""), ("x=(", ")"), ("x+=(a b); ", ""), ("x[1]=", "; "),
    ("declare -A m; m[", "]=1"), ("declare -n r=x; ", ""), ("eval ", ""), ("eval '", "'"), ("bash -c '", "'"),
    ('bash -c "', '"'), ("sudo ", ""), ("env A=1 ", ""), ("xargs ", ""), ("find . -exec ", " \\;"),
    ("trap '", "' EXIT; "), ("alias a='", "'\n"), ("shopt -s expand_aliases\nalias b='a b'\n", "b\n"), ("coproc ", ""),
    ("time ", ""), ("! ", ""), ("&&", ""), ("||", ""), ("|", ""), ("&", ""), (";", ""), (";;", ""), ("\n", ""),
    ("#", "\n"), (" ", ""), ("\t", ""), ("~/", ""), ("../", ""), ("cd a; ", ""), ("cd .. && ", ""), ("read x; ", ""),
    ("shift; ", ""), ("set -- $* a; ", ""), ("echo x | ", "cat"), ("a && b || ", ""), ("$(echo ", ")"),
    ("$(cat <<E\n", "\nE\n)"), ("printf '%s' ", ""), ("echo 'echo ", "' | bash; "), ("echo x >> f; . ./f; ", ""),
    ("\x00", ""), ("\ud800", ""), ("é", ""), ("\u202e", ""), ("[a-", "]"), ("[[:alpha:]", ""), ("python -c '", "'"),
    ("sed 's/", "/'"), ("while read x; do ", "; done"), ("local x=", "; "), ("export x=", "; "), ("(( x++ )); ", ""),
    ("a", ""), ("1", ""), ("_", ""), ("-", ""), ("=", ""), (".", ""), ("/", ""), (",", ""), (":", ""), ("%", ""),
    ("+", ""), ("^", ""), ("$", ""), ("<", ""), (">", ""), ("(", ""), (")", ""), ("{", ""), ("}", ""), ("[", ""),
    ("]", ""), ("\\\nx", ""), ("x\\\n", ""), (" \\\n", ""), ("\\ ", ""), ("''", ""), ('""', ""), ("$''", ""),
    ("$'\\x41'", ""), ("a ", ""), ("-a ", ""), ("--a=b ", ""), ("a=1 ", ""), ("$a ", ""), ('"$a" ', ""), ("a\n", ""),
    ("a;", ""), ("a|", ""), ("a&", ""), ("\r", ""), ("\r\n", ""), ("!!", ""), ("~", ""), ("/*/", ""), ("$1", ""),
    ("$@", ""), ("a'b'", ""), ('a"b"', ""), ("a`", ""), ("$(a)", ""), ("<(a) ", ""), ("${a}", ""), ("${a[@]}", ""),
    ("${!a}", ""), ("$((a))", ""), ('a+=(x y z); b+=("${a[@]}"); ', ""), ("f№() { f№+; }; ", ""),
    ("f№+() { f№; f№; }; ", ""), ("x№=$x№+; ", ""), ("x№+=$x№$x№; ", ""), ("a№ ", ""), ("rm -rf a№; ", ""),
    ("export x№=1; ", ""), ("alias a№=a№+\n", ""), ("cd a№; ", ""), ('set -- a№ "$@"; ', ""),
    ("x№=(${x№+[@]} a); ", ""), ("declare -n x№=x№+; ", ""), ("trap 'f№' EXIT; ", ""), ("echo a > f№; . ./f№; ", ""),
    ("<<E№ ", ""), ("case x in №) ;; esac; ", ""), ("if a№; then b№; fi; ", ""),
)  # fmt: skip
_PLACES = (
    ("", ""), ("", ""), ("l", "s"), ("l", "s"), ("x=", ""), ("x", "=1"), ("x", "y=1"), ("x+", "=1"), ("a[", "]=1"),
    ("a=(", ")"), ("export x", "y"), ("export x=", "; $x"), ("local x", ""), ("f", "() { :; }; f"), ("f ", "() { :; }"),
    ("f(", ") { :; }"), ("function f", " { :; }"), ("f() { ", "; }; f; f"), ("alias a", "=b"), ("alias a='", "'\na"),
    ("'", "'"), ('"', '"'), ("$'", "'"), ("'", ""), ('"', ""), ("$(", ")"), ("`", "`"), ("<(", ")"), ("(", ")"),
    ("{ ", "; }"), ("${", "}"), ("${x", "}"), ("${x:-", "}"), ("${x/", "/y}"), ("$((", "))"), ("[[ a", " ]]"),
    ("[[ a =~ ", " ]]"), ("case x", " in x) ;; esac"), ("case x in ", ") ;; esac"), ("for i", " in 1; do :; done"),
    ("for i in ", "; do rm $i; done"), ("if ", "; then :; fi"), ("while ", "; do :; done"), ("cat <<E\n", "\nE\n"),
    ("cat <<'E'\n", "\nE\n"), ("bash <<'E'\n", "\nE\n"), ("cat <<E\n", ""), ("cat <<", "\n"), ("bash -c '", "'"),
    ('bash -c "', '"'), ("bash -c ", ""), ("eval '", "'"), ('eval "', '"'), ("eval ", ""), ("x='", "'; eval $x"),
    ("x='", "'; bash -c \"$x\""), ("trap '", "' EXIT"), ("echo '", "' | bash"), ("echo ", " | bash"),
    ("printf '", "' | sh"), ("sudo ", ""), ("sudo -u x ", " rm"), ("env ", ""), ("env -S '", "'"), ("xargs ", ""),
    ("find . ", ""), ("find . -exec ", " \\;"), ("git -c alias.x='!", "' x"), ("python -c '", "'"), ("sed 's/", "/e'"),
    ("awk '", "'"), ("rm -rf ", ""), ("rm -rf /", ""), ("cd ", "; rm -rf x"), ("> ", ""), ("a > ", ""), ("2>", "1"),
    ("<<< ", ""), ("# ", "\nrm x"), ("a && ", " && b"), ("a | ", " | b"), ("a; ", "; b"), ("a & ", " & b"), ("! ", ""),
    ("time ", ""), ('\\', ""), ("a", ""), ("", "a"), ("", "("), ("", ")"), ("", "'"), ("", '"'), ("", "="), ("", "["),
    ("", "|"), ("$", ""), ("<", ""), ("~", "/x"), ("/", "/.."), ("curl ", " | sh"),
)  # fmt: skip
"""Text before and after."""
_ARRAY = f"a=({' '.join(f'v{number}' for number in range(5000))});"
_VALUES = "".join(f"b&&x=/v{number};" for number in range(100))
_NAMES = "".join(f"v{number}=1;" for number in range(2000))
_COSTLY_IN_CONTEXT = (
    ("case $x in ", "a)v№=1;&", "esac"), ("case $x in ", "a)v№=1;;&", "esac"), ("case $x in ", "a)v№=1;;", "esac"),
    ("case $x in ", "a)b > f№;;", "esac"), ("case $x in ", "a)b > f№;&", "esac"),
    ("case $x in ", "a)f№()(:);&", "esac"), ("case $x in ", "a)alias a№=b;&", "esac"),
    ("case $x in ", "a)export v№=1;&", "esac"), ("case $x in ", "a)set -- a№;;", "esac"),
    ("case $x in ", 'a)set -- a№ "$@";&', "esac"), ("case $x in ", "$v№)b;;", "esac"),
    ("if a; then b;", "elif c; then v№=1;", "fi"), ("if a; then b;", "elif v№=1; then b;", "fi"),
    ("", "if a; then v№=1; fi;", ""), ("", "b&&v№=1;", ""), ("", "b&&x=/v№;", ""), ("", "b&&x+=/№;", ""),
    ("", "b&&f№() { :; };", ""), ("", "b&&alias a№=b;", ""), ("", "b&&declare -n v№=w№;", ""),
    ("", "b&&export v№=1;", ""), ("", "b&&v№=1||w№=1;", ""), ("", "b&&set -- a№;", ""), ("", "b||echo x > f№;", ""),
    ("", "select v№ in a b; do v№=1; done;", ""), ("", "for v№ in 1 2; do w№=1; done;", ""),
    ("for i in 1 2; do ", "b&&v№=1;", "done"), ("select x in a b; do ", "b&&v№=1;", "done"),
    ("f() { ", "local v№=1;", "}; f; f"), ("", "f№() { local v№=1; f№+; };", ""), ("declare -A m;", "m[k№]=v;", ""),
    ("declare -A m;", "m+=([k№]=v);", ""), (_ARRAY, "b&&a+=(x);", ""), (_ARRAY, "a+=(x) ", ""),
    (_ARRAY, "unset 'a[1]';", ""), (_ARRAY, "b&&unset 'a[№]';", ""), (_ARRAY + "unset ", "'a[1]' ", ""),
    (_ARRAY, "b ${a[1]};", ""), (_ARRAY + "b ", '"${a[*]}"', ""), (_ARRAY, "b ${a[@]/x/y};", ""),
    (_ARRAY + "f() { :; };", "f;", ""), ("a=(" + "x " * 90 + ");", "b&&a[№]=1;", ""),
    (_ARRAY + "b&&a+=(/x);" * 60, "b ${#a[@]};", ""), (_VALUES, "if a; then if b; then x=1; fi; fi;", ""),
    (_VALUES, "local x=№;", ""), (_VALUES, "for i in 1 2; do x=1; done;", ""), (_VALUES, "b > $x;", ""),
    (_VALUES, "trap 'b $x' 1;", ""), ("set -a;" + _NAMES, "sh -c x;", ""), (_NAMES + "f() { :; };", "f;", ""),
    ("find . | while read f; do " + _NAMES, "if a; then b; fi;", "done"), ("set -- " + "/a " * 5000, ";b&&shift", ""),
    ("set -- " + "/a " * 5000 + ";b&&shift" * 60, ";b $1", ""), ("set -- " + "/a " * 5000, ';b&&set -- x "$@"', ""),
    ("alias " + "".join(f"a{number}=b " for number in range(4000)) + ";", "unalias a№;", ""),
    ("".join(f"f{number}()(:);" for number in range(3000)), "unset f№;", ""), ("x=" + "a" * 50_000 + ";b ", '"$x"', ""),
)  # fmt: skip
"""Pieces that are costly in a certain context, with the text before and after: one more name, value or element where
there are many already."""


class Repeating(Reading):
    """A case is a list of pieces with the number of repetitions of each, as JSON."""

    def invent(self, seed: int) -> str:
        made = random.Random(seed)
        if made.random() < 0.2:
            before, piece, after = made.choice(_COSTLY_IN_CONTEXT)
            room = made.choice((5_000, 25_000, MAX_TEXT_CHARS)) if len(before) < 1_000 else MAX_TEXT_CHARS
            return json.dumps([(before, 1), (piece, (room - len(before) - len(after)) // len(piece)), (after, 1)])
        before, after = made.choice(_PLACES)
        pairs = made.sample(_PAIRS, made.choice((1, 1, 1, 2, 3)))
        room = made.choice((1_000, 10_000, MAX_TEXT_CHARS, MAX_TEXT_CHARS, MAX_TEXT_CHARS)) - len(before) - len(after)
        middle = made.choice(("", "", "x", self.command(made), "rm -rf /tmp/x"))
        if made.random() < 0.5:
            opens, closes = "".join(a for a, _ in pairs), "".join(b for _, b in reversed(pairs))
            often = made.choice((0, 1, 1, 2)) if closes else 0
            times = (room - len(middle)) // (len(opens) + often * len(closes))
            run = [(opens, times), (middle, 1), (closes, often * times - made.choice((0, 0, 1)) if often else 0)]
        else:
            pieces = [a + middle + b for a, b in pairs]
            run = [(piece, room // len("".join(pieces))) for piece in pieces]
        return json.dumps([(before, 1), *run, (after, 1)], ensure_ascii=False)

    def wrong(self, case: str) -> str:
        return super().wrong(join_pieces(json.loads(case)))

    def slow(self, text: str, policy: Policy, took: float) -> str:
        if took < RETIME_CPU_S:
            return super().slow(text, policy, took)
        took = min(took, _time(text, policy))  # a busy machine must not cause a failure
        plain = max(_time((_PLAIN * MAX_TEXT_CHARS)[: len(text)], policy), RETIME_CPU_S / MAX_SLOWDOWN)
        if took < RETIME_CPU_S or took < MAX_SLOWDOWN * plain:
            return ""
        return f"it takes {took:.1f} s for {len(text):,} characters, and the plainest commands take {plain:.1f}"


def _time(text: str, policy: Policy) -> float:
    start = time.process_time()
    check(text, cwd="/home/dev/project", policy=policy)
    return time.process_time() - start


def join_pieces(pieces: list[tuple[str, int]]) -> str:
    return "".join(map(_repeat_piece, pieces))[:MAX_TEXT_CHARS]


def _repeat_piece(each: tuple[str, int]) -> str:
    piece, times = each
    if _NUMBER not in piece:
        return piece * times
    room, made = times * len(piece), list[str]()
    while room > 0:  # the numbers are longer than their placeholder
        at = len(made)
        made.append(piece.replace(_NUMBER + "+", str(at + 1)).replace(_NUMBER, str(at)))
        room -= len(made[-1])
    return "".join(made[:-1] if room < 0 else made)
