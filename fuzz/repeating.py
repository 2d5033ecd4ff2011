"""Texts of up to 100 KB that are one thing over and over: what is opened, never closed, closed too often, quoted again,
doubled. They are where a reader that goes back and forth takes for ever."""

from __future__ import annotations

import json
import random

from fuzz.reading import LARGEST, Reading

_PAIRS = (
    ("$(", ")"), ("(", ")"), ("((", "))"), ("$((", "))"), ("$[", "]"), ("{ ", "; }"), ("{{{", "}}}"), ("{a,", "}"),
    ("{1..9}", ""), ("${", "}"), ("${x:-", "}"), ("${x/a/", "}"), ('"${x#', '}"'), ("`", "`"), ("\\`", "\\`"),
    ('"', '"'), ("'", "'"), ("$'", "'"), ("\\", ""), ("\\\n", ""), ('"\\', '"'), ("[[ ", " ]]"),
    ("[[ x =~ (", ") ]]"), ("[ ", " ]"), ("a[", "]"), ("a[0]=", "; "), ("case x in x) ", ";; esac"),
    ("case ", " in "), ("a|", ")"), (";&", "\n"), ("if ", "; then :; fi"), ("if :; then ", "; fi"),
    ("elif x; then ", ""), ("while ", "; do :; done"), ("for i in ", "; do :; done"), ("for i in 1 2; do ", "; done"),
    ("for ((", ")); do :; done"), ("select i in ", "; do :; done"), ("f() { ", "; }"), ("function f ", ""),
    ("f; ", ""), ("g() { f; f; }; ", ""), ("<(", ")"), (">(", ")"), ("<<E ", "\nE\n"), ("cat <<E\n", "\nE\n"),
    ("<<-'E'\n", "\n\tE\n"), ("<<< ", ""), ("> f ", ""), ("2>&1 ", ""), ("{fd}>x ", ""), ("@(", "|b)"), ("*", ""),
    ("?*", ""), ("!(", ")"), ("x=", "; "), ("x=$x$x; ", ""), ("x+=a; ", ""), ("$x", ""), ("${x//a/b}", ""),
    ("x=(", ")"), ("x+=(a b); ", ""), ("x[1]=", "; "), ("declare -A m; m[", "]=1"), ("declare -n r=x; ", ""),
    ("eval ", ""), ("eval '", "'"), ("bash -c '", "'"), ('bash -c "', '"'), ("sudo ", ""), ("env A=1 ", ""),
    ("xargs ", ""), ("find . -exec ", " \\;"), ("trap '", "' EXIT; "), ("alias a='", "'\n"),
    ("shopt -s expand_aliases\nalias b='a b'\n", "b\n"), ("coproc ", ""), ("time ", ""), ("! ", ""), ("&&", ""),
    ("||", ""), ("|", ""), ("&", ""), (";", ""), (";;", ""), ("\n", ""), ("#", "\n"), (" ", ""), ("\t", ""),
    ("~/", ""), ("../", ""), ("cd a; ", ""), ("cd .. && ", ""), ("read x; ", ""), ("shift; ", ""),
    ("set -- $* a; ", ""), ("echo x | ", "cat"), ("a && b || ", ""), ("$(echo ", ")"), ("$(cat <<E\n", "\nE\n)"),
    ("printf '%s' ", ""), ("echo 'echo ", "' | bash; "), ("echo x >> f; . ./f; ", ""), ("\x00", ""), ("\ud800", ""),
    ("é", ""), ("\u202e", ""), ("[a-", "]"), ("[[:alpha:]", ""), ("python -c '", "'"), ("sed 's/", "/'"),
    ("while read x; do ", "; done"), ("local x=", "; "), ("export x=", "; "), ("(( x++ )); ", ""),
)  # fmt: skip


class Repeating(Reading):
    """A case is pieces and how often each is repeated, as JSON."""

    def invent(self, seed: int) -> str:
        made = random.Random(seed)
        pairs = made.sample(_PAIRS, made.choice((1, 1, 2, 3)))
        times = made.choice((100, 1_000, 10_000, LARGEST)) // max(1, sum(len(a) + len(b) for a, b in pairs))
        closed = made.choice((0, times, times, times - 1, times * 2))
        middle = made.choice(("", "", "x", self.command(made), "rm -rf /tmp/x"))
        if made.random() < 0.5:
            text = [
                ("".join(a for a, _ in pairs), times),
                (middle, 1),
                ("".join(b for _, b in reversed(pairs)), closed),
            ]
        else:
            text = [(a + middle + b, times) for a, b in pairs]
        return json.dumps(text)

    def wrong(self, case: str) -> str:
        return super().wrong("".join(piece * times for piece, times in json.loads(case))[:LARGEST])
