"""`nacre explain`: the tree of what would run, and the findings of the checker."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nacre import check
from nacre.approval.check import check_script
from nacre.cli.check.tree import tree
from nacre.cli.check.tree_drawing import draw
from tests.cli.nacre_program import NACRE, Nacre
from tests.support.waiting import HANG_TIMEOUT_S


def draw_lines(command: str, *, colour: bool = False) -> list[str]:
    script, verdict = check_script(command, cwd="/home/dev/project")
    return list(draw(script, verdict, tree(script, verdict), colour=colour))


def branches(command: str) -> list[str]:
    lines = draw_lines(command)
    return lines[: lines.index("")]


def test_explain_nests_wrapped_commands_and_underlines_the_finding(nacre: Nacre) -> None:
    done = nacre("explain", "sudo bash -c 'rm -rf /'")
    assert (done.code, done.err) == (2, b"")
    assert done.out.decode() == (
        "sudo\n"
        "└─ bash -c\n"
        "   └─ rm -rf /    ← refuse: rm-root-or-home\n"
        "\n"
        "refuse rm-root-or-home\n"
        "  sudo bash -c 'rm -rf /'\n"
        "                ^^^^^^^^\n"
        "  `rm -rf /` would delete the whole file system.\n"
        "  Instead: name the one directory that has to go, as in `rm -rf ./build`\n"
        "\n"
        "unknown: nothing\n"
        "plain: no, not provably harmless\n"
    )


def test_explain_says_when_a_command_is_allowed_and_harmless(nacre: Nacre) -> None:
    done = nacre("explain", "ls -la | head")
    assert done.out.decode() == (
        "ls -la\nhead\n\nallow: no rule stops it\nunknown: nothing\nplain: yes, provably harmless\n"
    )


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("env A=1 timeout 5 make -j2", ["env A=1", "└─ timeout 5", "   └─ make -j2"]),
        ("bash -c 'ls; pwd'; id", ["bash -c", "├─ ls", "└─ pwd", "id"]),
        ("bash -c 'echo $1' x y", ["bash -c … x y", "└─ echo y"]),
        ("bash -c 'sudo ls; id'", ["bash -c", "├─ sudo", "│  └─ ls", "└─ id"]),
        ("ls > out.txt 2>&1", ["ls > out.txt 2>& 1"]),
        ("X=1", ["(nothing would run)"]),
        ("echo 'a\nb'", ["echo a b"]),
        ("echo " + "x" * 200, ["echo " + "x" * 94 + "…"]),
    ],
)
def test_explain_tree_shows_the_commands_that_would_run(command: str, lines: list[str]) -> None:
    assert branches(command) == lines


def test_explain_tree_is_cut_at_200_branches() -> None:
    lines = branches("\n".join(["true"] * 300))
    assert lines == ["true"] * 200 + ["…"]


def test_explain_lists_each_finding_with_its_line() -> None:
    assert draw_lines("cd /tmp\n\tgit stash drop\ncd x && git push -f")[4:] == [
        "",
        "refuse git-push-force",
        "   3 │ cd x && git push -f",
        "     │         ^^^^^^^^^^^",
        *(f"  {line}" for line in finding_lines("git push -f")),
        "",
        "ask git-stash-drop",
        "   2 │  git stash drop",
        "     │  ~~~~~~~~~~~~~~",
        *(f"  {line}" for line in finding_lines("git stash drop")),
        "",
        "unknown: nothing",
        "plain: no, not provably harmless",
    ]


def finding_lines(command: str) -> list[str]:
    (finding,) = check(command).findings
    return [f"{finding.what}.", f"Instead: {finding.instead}"]


def test_explain_draws_50_findings_and_counts_the_rest() -> None:
    lines = draw_lines("\n".join(f"git push -f origin b{number}" for number in range(2000)))
    assert lines.count("refuse git-push-force") == 50
    assert "… and 1,950 more: --json has them all" in lines


def test_explain_underlines_a_finding_on_each_of_its_lines() -> None:
    lines = draw_lines("rm \\\n  -rf /")
    assert lines[3:7] == ["   1 │ rm \\", "     │ ^^^^", "   2 │   -rf /", "     │ ^^^^^^^"]


def test_explain_shows_only_the_part_of_a_long_line_around_a_finding() -> None:
    lines = draw_lines(f"echo {'x' * 300}; rm -rf /; echo {'y' * 300}")
    text, mark = lines[5:7]
    assert text.startswith("  …xxx")
    assert text.endswith("yyy…")
    assert text[mark.index("^") : mark.rindex("^") + 1] == "rm -rf /"


def test_wide_characters_do_not_shift_the_explain_underline() -> None:
    lines = draw_lines("echo 日本; rm -rf /")
    assert lines[4:6] == ["  echo 日本; rm -rf /", "  " + " " * 11 + "^" * 8]


def test_explain_names_unknown_words() -> None:
    lines = draw_lines('echo "$NAME" $(date)')
    assert lines[-2].startswith("unknown: ")
    assert "$(…)" in lines[-2]


def test_explain_reports_a_syntax_error() -> None:
    assert "syntax: bash would report a syntax error here, after running what comes before" in draw_lines("ls; if")


def test_explain_marks_findings_in_text_built_at_run_time() -> None:
    lines = branches("X='git push'; eval \"ls; $X -f\"")
    assert [line for line in lines if "←" in line] == ["└─ git push -f    ← refuse: git-push-force"]


def test_explain_json_contains_the_tree(nacre: Nacre) -> None:
    command = "sudo rm -rf / > log"
    done = nacre("explain", "--json", "--cwd", "/srv", command)
    assert (done.code, done.err) == (2, b"")
    data: dict[str, Any] = json.loads(done.out)
    (root,) = data.pop("tree")
    rm = {"words": "rm -rf /", "argv": ["rm", "-rf", "/"], "span": [0, 19], "cwd": "/srv"}
    assert root == {
        "words": "sudo > log",
        "argv": ["sudo", "rm", "-rf", "/"],
        "span": [0, 19],
        "cwd": "/srv",
        "rules": [],
        "runs": [{**rm, "rules": ["rm-root-or-home"], "runs": []}],
    }
    assert (data.pop("broken"), data.pop("unread")) == (False, "")
    assert data == {"command": command, **check(command, cwd="/srv").to_dict()}


def test_explain_json_marks_certain_syntax_errors_as_broken(nacre: Nacre) -> None:
    for command, broken in (("if ls", True), ("eval 'if ls'", True), ('eval "$X (" ls', False)):
        assert json.loads(nacre("explain", "--json", command).out)["broken"] is broken, command


def test_explain_colours_the_underline_of_a_finding() -> None:
    assert "\x1b[31m^^^^^^^^\x1b[0m" in "\n".join(draw_lines("rm -rf /", colour=True))


def on_a_terminal(home: Path, **env: str) -> bytes:
    ours, theirs = pty.openpty()
    try:
        subprocess.run(
            [*NACRE, "explain", "rm -rf /"],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            env={**os.environ, "HOME": str(home), "TERM": "xterm", **env},
            timeout=HANG_TIMEOUT_S,
            check=False,
        )
        return os.read(ours, 65536)
    finally:
        os.close(ours)
        os.close(theirs)


def test_explain_is_coloured_only_on_terminals_that_support_it(nacre: Nacre, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert b"\x1b[31m" in on_a_terminal(nacre.home)
    assert b"\x1b" not in on_a_terminal(nacre.home, NO_COLOR="1")
    assert b"\x1b" not in on_a_terminal(nacre.home, TERM="dumb")
    assert b"\x1b" not in nacre("explain", "rm -rf /", env={"TERM": "xterm"}).out
