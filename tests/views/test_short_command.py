"""The command on one line: what is left out is counted and named, and in a prompt for approval nothing is left out."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nacre.ansi.width import columns
from nacre.policy.facts.writes import changes
from nacre.shell import read
from nacre.views.console.escape import escape_text
from nacre.views.console.short_command import shorten

PIECES = ["cd ", "/w", " && ", "rm ", "<<E\n", "E\n", "\x1b", "\u202e", *"abc /.;&|<>(){}$\"'`\\#!=*~\n\t-"]
SHELL = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
ANY = st.text(max_size=200) | SHELL


@pytest.mark.req("P-011")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("cd /w && ls", "ls"),
        ("cd /w; ls", "ls"),
        ("cd /w\nls", "ls"),
        ("cd '/w' && ls", "ls"),
        ("cd /w/ && cd . && ls", "ls"),
        ("cd -- /w && ls", "ls"),
        ("cd /w && a || b", "a || b"),
        ("cd /w && ! grep -q x y", "! grep -q x y"),
        ("cd /other && ls", "cd /other && ls"),
        ("cd /w/.. && ls", "cd /w/.. && ls"),
        ("cd /w/x/.. && ls", "cd /w/x/.. && ls"),
        ("cd /w || exit 1; make", "cd /w || exit 1; make"),
        ("cd /w | ls", "cd /w | ls"),
        ("cd /w & ls", "cd /w & ls"),
        ("! cd /w && ls", "! cd /w && ls"),
        ("cd /w > x && ls", "cd /w > x && ls"),
        ("X=1 cd /w && ls", "X=1 cd /w && ls"),
        ("cd $PWD && ls", "cd $PWD && ls"),
        ("echo 'cd /w && ls'", "echo 'cd /w && ls'"),
        ("(cd /w && ls)", "(cd /w && ls)"),
        ("cd /w", "cd /w"),
        ("cd /w &&", "cd /w &&"),
        ("cd /w &&& rm x", "cd /w &&& rm x"),
    ],
)
def test_short_command_omits_only_cd_to_the_working_directory(command: str, shown: str) -> None:
    assert shorten(command, "/w") == shown


@pytest.mark.req("P-011")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (
            "cat > x.py <<'EOF'\nimport os\nos.remove('y')\nEOF\npython x.py && rm x.py",
            "cat > x.py <<'EOF' … +4 lines, 2 of them input; also runs rm, python",
        ),
        ("set -e\nmkdir b\nmake", "set -e; mkdir b; make"),
        ("for i in 1 2; do\n  rm $i\ndone", "for i in 1 2; do … +2 lines; also runs rm"),
        ("# what it is for\nls\nrm x", "ls; rm x"),
        ("ls # all\nrm x", "ls # all … +1 line; also runs rm"),
        ("f() {\n rm x\n}\nf", "f() { … +3 lines; also runs rm, f"),
        ("x" * 130, f"{'x' * 69} … +61 characters"),
        ("a " * 60 + "&& rm x", f"{('a ' * 60)[:69]} … +58 characters; also runs rm"),
        ("echo 'x\ny", "echo 'x … +1 line; not all of it is understood"),
    ],
)
def test_short_command_counts_and_names_what_it_leaves_out(command: str, shown: str) -> None:
    assert shorten(command, "/w") == shown


@pytest.mark.req("P-011")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("echo hi" + " " * 400 + "; rm x", "echo hi ⟨400 blanks⟩ ; rm x"),
        ("echo \x1b]52;c;aGk=\x07", r"echo \x1b]52;c;aGk=\x07"),
        ("echo \u202e x \u200b y", r"echo \u202e x \u200b y"),
        ("echo a\trm", r"echo a\trm"),
        ("echo a\rrm x", r"echo a\rrm x"),
    ],
)
def test_short_command_escapes_invisible_characters_and_long_blanks(command: str, shown: str) -> None:
    assert shorten(command, "/w") == shown


@given(ANY, st.integers(16, 200))
@example("cd /w&&" + "\n" * 3, 40)
@example("f(){ :;};" * 50, 40)
@settings(deadline=None)
def test_short_command_is_one_escaped_line_for_any_text(command: str, most: int) -> None:
    shown = shorten(command, "/w", most=most)
    assert escape_text(shown) == shown
    assert columns(shown) <= max(most, 40) + 60


@pytest.mark.req("P-011")
@given(ANY)
@settings(deadline=None)
def test_short_command_in_full_keeps_every_line(command: str) -> None:
    lines = shorten(command, "/w", full=True).split("\n")
    given = command.strip("\n").split("\n")
    assert len(lines) == len(given)
    for line, original in zip(lines, given, strict=True):
        assert escape_text(line) == line
        assert _without_blanks(line) == _without_blanks(escape_text(original))


@pytest.mark.req("P-011")
@given(
    st.lists(st.sampled_from(["rm x", "ls", "echo a > f", "cd /w", "mv a b", "cat <<E\nbody\nE", "# no", "(touch z)"]))
)
@settings(deadline=None)
def test_short_command_in_full_shows_every_command_that_changes_something(parts: list[str]) -> None:
    text = "\n".join(parts)
    shown = shorten(text, "/w", full=True)
    for command in read(text, cwd="/w", home="/h").commands:
        if changes(command):
            assert text[command.start : command.end].strip() in shown


LONG = "a" * 120


@pytest.mark.req("P-011")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("bash <<EOF\nrm -rf /home\nEOF", "bash <<EOF … +2 lines, 1 of them input; also runs rm"),
        ("bash -s rm <<EOF\nrm -rf /\nEOF", "bash -s rm <<EOF … +2 lines, 1 of them input; also runs rm"),
        ("cat <<EOF | bash\nrm -rf $X\nEOF", "cat <<EOF | bash … +2 lines, 1 of them input; also runs rm"),
        ("f() { sh <<E\nrm x\nE\n}; f", "f() { sh <<E … +3 lines, 1 of them input; also runs rm, f"),
        ("sudo \\\nrm -rf x", "sudo \\ … +1 line; also runs rm"),
        (f"sudo rm {LONG}", f"sudo rm {LONG[:21]} … +99 characters"),
        (f"find . {LONG} -exec rm {{}} +", f"find . {LONG[:22]} … +112 characters; also runs rm"),
        (f"VAR={LONG} rm -rf x", f"VAR={LONG[:25]} … +104 characters; also runs rm"),
        (f"ls {LONG} && /opt/rm -rf /", f"ls {LONG[:26]} … +111 characters; also runs /opt/rm"),
        (f"/{LONG}/rm x", f"/{LONG[:28]} … +97 characters; also runs …/rm"),
        (f"curl {LONG} | sh", f"curl {LONG[:24]} … +101 characters; also runs sh, something unknown"),
        (
            "ls > /etc/passwd\n> /etc/shadow\ncat x >> ~/.bashrc 2> /dev/null",
            "ls > /etc/passwd … +2 lines; also runs cat; writes /etc/shadow, ~/.bashrc",
        ),
        ("while read x; do\n true\ndone > out", "while read x; do … +2 lines; also runs true; writes out"),
        (f"echo {LONG} > f", f"echo {LONG[:24]} … +100 characters; writes f"),
        ("echo hi" + " " * 400 + "; rm x" + "y" * 90, "echo hi … +496 characters; also runs rm"),
    ],
)
def test_short_command_names_omitted_commands_and_written_files(command: str, shown: str) -> None:
    assert shorten(command, "/w", most=80) == shown


HIDERS = (
    "{0} x", "bash <<E\n{0} x\nE", "cat <<E | sh\n{0}\nE", "sudo {0}", "sudo \\\n{0} x", "env A=1 {0} x",
    "nice -n 5 {0}", "find . -exec {0} {{}} +", "xargs -n1 {0}", "sh -c '{0} x'", "echo `{0}`", "> {0}", "A=b {0}",
    "if true; then\n{0}\nfi", "( {0} )", "echo " + "w " * 30 + "; {0}", "echo <({0})", "eval '{0} x'",
    "{0} > /dev/null",
)  # fmt: skip


@pytest.mark.req("P-011")
@given(st.lists(st.sampled_from(HIDERS), min_size=1, max_size=9), st.sampled_from(["\n", "\n\n"]), st.integers(40, 120))
@example([HIDERS[1]], "\n", 40)
@settings(deadline=None)
def test_short_command_shows_names_or_counts_every_command_and_file(forms: list[str], between: str, most: int) -> None:
    names = [f"name{number}" for number in range(len(forms))]
    shown = shorten(between.join(form.format(name) for form, name in zip(forms, names, strict=True)), "/w", most=most)
    missing = [name for name in names if name not in shown]
    counted = sum(map(int, re.findall(r"(?:and|runs|writes) (\d+) (?:more|command|file)", shown)))
    assert len(missing) <= counted


def test_short_command_of_a_huge_script_says_it_was_not_read() -> None:
    shown = shorten("echo x\n" * 100_000, "/w")
    assert shown == "echo x … +99,999 lines; too long to be read here"


def _without_blanks(line: str) -> str:
    return re.sub(r" ⟨\d+ blanks⟩ |\s+", "", line)
