"""Globs as command names: `/bin/r?`."""

from __future__ import annotations

import subprocess

import pytest

from nacre import check
from nacre.shell.symbolic import mark_globs, may_equal
from tests.support.waiting import HANG_TIMEOUT_S

GLOBS = "[rR]m [!a]m [^a]m [z-a]m []r]m [!]]m [a-z]m [!a-z]m [[:lower:]]m [[:alpha:][:digit:]]m [[r]m [r-]m".split()
GLOBS += "[-r]m r[m r]m [!!]m [x--z]m r? r* ?? [r][m] [!r]m []m [!] [".split()


@pytest.mark.parametrize("glob", GLOBS)
def test_may_equal_agrees_with_bash_pattern_matching(glob: str) -> None:
    words = ["bash", "-c", f"case rm in {glob}) echo yes;; *) echo no;; esac"]
    bash = subprocess.run(words, capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S).stdout
    assert may_equal(mark_globs(glob), "rm") is (bash == "yes\n")


@pytest.mark.parametrize("word", ["/bin/r?", "/bin/[[:lower:]]m", "/bin/[!a]m", "/*/rm"])
def test_command_named_by_a_glob_is_judged_as_what_it_may_be(word: str) -> None:
    assert check(f"{word} -rf /").rule == "rm-root-or-home"


@pytest.mark.parametrize("text", ["find", "kill -", "[z-a]rm -rf x", "[!]?z-]", "$'\\1\ud800'", "[a&&b]x", "[a--b]x"])
def test_odd_text_gets_a_verdict(text: str) -> None:
    assert check(text).allowed
