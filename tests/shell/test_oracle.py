"""Our parser reads scripts as bash does: bash itself is the oracle, and runs nothing.

bash's own print of a script must give the same tree as the script, and a script that bash accepts must parse without an
error. We may accept more: a script that bash refuses as a whole runs nothing that we would have to find.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.oracle import disagreements, valid
from tests.support.scripts import Inventor, installed_scripts

NASTY = (Path(__file__).parent / "nasty.txt").read_text().split("\n%%\n")
SAMPLE = 250
INVENTED = 500

KNOWN = {
    'echo "${a b}" ${a:} "${ x}"': "`${ …}` is a command substitution from bash 5.3 on, and read as such",
}


def test_nasty_snippets_are_parsed_as_bash_parses_them() -> None:
    assert len(NASTY) > 600
    assert disagreements({text: text for text in NASTY}).keys() <= KNOWN.keys()


def test_extended_globs_are_parsed_as_bash_parses_them() -> None:
    globs = {text: text for text in NASTY if any(mark + "(" in text for mark in "?*+@!")}
    assert disagreements(globs, "-O", "extglob") == {}


@pytest.mark.slow
def test_installed_scripts_are_parsed_as_bash_parses_them() -> None:
    scripts = dict(installed_scripts())
    if len(scripts) > SAMPLE:
        names = random.Random(SAMPLE).sample(sorted(scripts), SAMPLE)
        scripts = {name: scripts[name] for name in names}
    found = disagreements(scripts)
    assert len(found) <= len(scripts) * 0.005, found


@pytest.mark.slow
def test_generated_scripts_are_parsed_as_bash_parses_them() -> None:
    scripts = {str(n): Inventor(n).script() for n in range(INVENTED)}
    assert sum(valid(scripts.values())) > INVENTED * 0.9
    assert {name: scripts[name] for name in disagreements(scripts)} == {}
