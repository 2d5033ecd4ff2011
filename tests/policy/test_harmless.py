"""Provably harmless commands: a short list of reading commands, without the known ways to run programs with them."""

from __future__ import annotations

import pytest

from nacre.policy.facts.harmless import COMMANDS, is_harmless
from nacre.shell import read

ALLOWED = frozenset("ls cat echo git sort sed find".split())


def is_harmless_text(text: str, env: dict[str, str] | None = None) -> bool:
    return is_harmless(read(text, cwd="/home/dev/project", home="/home/dev", env=env), ALLOWED)


@pytest.mark.parametrize(
    "text",
    [
        "ls -la",
        "ls -la src | sort -r",
        "cat README.md 'a file' | sort -u 2>/dev/null",
        "echo hello; ls && cat x || echo none",
        'echo "done"',
        "echo one\necho two  # and a comment",
        "git ls-files",
        "git log --oneline -n 5",
        "git --no-pager log --oneline",
        "git branch --show-current",
        "sed -n 1,20p file.py",
        "sed 's/a/b/g' file.py",
        "find . -name '*.py' -type f",
        "sort < names.txt",
        "cat <<'E'\n$(touch x)\nE",
        "ls *.py",
        "cat src/[a-z]?.py | sort",
        "sort '*.txt'",
        'find . -name "*.py"',
        "git log HEAD~3",
    ],
)
def test_reading_command_is_harmless(text: str) -> None:
    assert is_harmless_text(text)


BYPASSES = {
    "newline": "ls\ntouch x",
    "background": "ls & touch x",
    "pipe with stderr": "ls |& tee x",
    "sixty no-ops first": "ls; " * 60 + "touch x",
    "substitution": "echo $(touch x)",
    "substitution in quotes": 'echo "$(touch x)"',
    "backquotes": "echo `touch x`",
    "process substitution": "cat <(touch x)",
    "output process substitution": "ls > >(touch x)",
    "prompt expansion": "x='$(touch x)'; echo ${x@P}",
    "prompt expansion of a given variable": "echo ${X@P}",
    "indirection": "echo ${!x}",
    "any variable": "echo $HOME",
    "default with a command": "echo ${x:-$(touch x)}",
    "split substitution": 'echo "$\\\n(touch x)"',
    "quotes in the name": "t''ouch x",
    "escaped name": "\\touch x",
    "ANSI-C name": "$'\\x74ouch' x",
    "braces": "{touch,x}",
    "braces behind an allowed word": "ls {a,b}",
    "IFS": "touch$IFS-x",
    "variable as command": "c=touch; $c x",
    "globbed command": "/bin/t?uch x",
    "globbed name": "l? x",
    "abbreviated option": "sort --outp=x y",
    "abbreviated option of git": "git log --outpu=x",
    "absolute path": "/bin/ls",
    "dotted path": "./cat x",
    "planted program": "../bin/cat x",
    "sed writes": "sed 'w x' y",
    "sed writes by flag": "sed 's/a/b/w x' y",
    "sed executes": "sed '1e touch x' y",
    "sed executes by flag": "sed 's/.*/touch x/e' y",
    "sed in place": "sed -i s/a/b/ x",
    "sed in place behind": "sed s/a/b/ x -i",
    "sed script file": "sed -f script x",
    "sort writes": "sort -o x y",
    "sort writes joined": "sort -ox y",
    "sort compresses with": "sort --compress-program=./x y",
    "tar": "tar --checkpoint-action=exec=touch -cf x y",
    "awk": "awk 'BEGIN{system(\"touch x\")}'",
    "find executes": "find . -exec touch x ;",
    "find deletes": "find . -delete",
    "find writes": "find . -fprint x",
    "environment prefix": "GIT_EXTERNAL_DIFF=./x git status",
    "BASH_ENV prefix": "BASH_ENV=./x ls",
    "PS4 prefix": "PS4='$(touch x)' ls",
    "LD_PRELOAD prefix": "LD_PRELOAD=./x.so ls",
    "any prefix": "A=1 ls",
    "git output": "git log --output=x",
    "git external diff": "git diff --ext-diff",
    "git diff may have drivers": "git diff",
    "git show may have drivers": "git show HEAD",
    "git log with patches": "git log -p",
    "git configuration": "git -c core.fsmonitor=./x status",
    "git directory": "git -C x status",
    "git exec path": "git --exec-path=x status",
    "git branch deletes": "git branch -D main",
    "git branch makes": "git branch new",
    "git alias": "git x",
    "git pager": "git -p log",
    "git status may have filters": "git status",
    "git asks another machine": "git remote show origin",
    "a file called -delete": "find *",
    "a file called -delete, by a letter": "find ?delete",
    "a file called -delete, by a set": "find [-x]delete",
    "a file called -ofile": "sort *",
    "a file called -i": "sed p *",
    "a file called --output=x": "git log *",
    "a glob beside what is quoted": "sort 'a'*",
    "home": "ls ~/x",
    "home behind a sign": "ls --ignore=~",
    "redirection": "echo x > file",
    "append": "echo x >> file",
    "clobber": "echo x >| file",
    "read and write": "cat <> file",
    "both": "echo x &> file",
    "descriptor to a file": "echo x 2> file",
    "network": "cat < /dev/tcp/host/80",
    "function": "ls() { touch x; }; ls",
    "alias": "alias ls='touch x'\nls",
    "other command": "touch x",
    "wrapper": "command touch x",
    "eval": "eval ls",
    "conditional": "if ls; then touch x; fi",
    "test": "[[ -v a[$(touch x)] ]]",
    "arithmetic": "((a[$(touch x)]))",
    "assignment": "PATH=.",
    "assignment of a subscript": "a[$(touch x)]=1",
    "here-document with a command": "cat <<E\n$(touch x)\nE",
    "broken": "ls 'x",
    "nothing": "",
    "comment only": "# ls",
}


@pytest.mark.parametrize("text", BYPASSES.values(), ids=BYPASSES.keys())
def test_command_that_can_do_more_than_read_is_not_harmless(text: str) -> None:
    assert not is_harmless_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "uniq -c",
        "uniq -cd names",
        "uniq -",
        "uniq -f1 names",
        "rg -in x src",
        "rg '*' src",
        "diff -ru a b",
        "diff -U3 a -",
        "diff --color=never a b",
        "diff --ignore-all-space a b",
        "base64 -d x",
        "base64 -w0 x",
        "file -b x",
        "wc -l *",
        "[ -f x ] && cat x",
        "test -d src",
    ],
)
def test_reading_with_default_commands_is_harmless(text: str) -> None:
    assert is_harmless(read(text, cwd="/home/dev/project", home="/home/dev"))


@pytest.mark.parametrize(
    "text",
    [
        "uniq *",
        "uniq a out",
        "uniq - out",
        "uniq -c a out",
        "uniq -- a out",
        "uniq a -- out",
        "rg x *",
        "rg --pre=./x y",
        "rg -z x",
        "rg -iz x",
        "diff -l a b",
        "diff -ul a b",
        "diff --pag a b",
        "diff --output=x a b",
        "base64 -o out",
        "base64 -Do out x",
        "base64 --output=out",
        "file -C",
        "file -z x",
        "test *",
        "[ -f * ]",
        "[ -v 'a[$(touch x)]' ]",
        "[ [-]v x ]",
        "date *",
        "tree *",
    ],
)
def test_writing_or_running_with_default_commands_is_not_harmless(text: str) -> None:
    assert not is_harmless(read(text, cwd="/home/dev/project", home="/home/dev"))


@pytest.mark.parametrize(
    "name",
    [
        "BASH_ENV",
        "BASH_FUNC_ls%%",
        "LD_PRELOAD",
        "PATH",
        "GIT_EXTERNAL_DIFF",
        "GIT_DIR",
        "LESSOPEN",
        "RIPGREP_CONFIG_PATH",
    ],
)
def test_environment_variable_with_code_makes_nothing_harmless(name: str) -> None:
    assert not is_harmless_text("ls", {name: "() { touch x; }"})
    assert is_harmless_text("ls", {"EDITION": "third"})


def test_variable_subscript_with_a_command_is_not_harmless() -> None:
    for text in ("[ -v 'a[$(touch x)]' ]", "test -v 'a[$(touch x)]'", "printf -v 'a[$(touch x)]' 1"):
        assert not is_harmless(read(text, cwd="/", home="/root"))


def test_default_harmless_list_has_no_shells_or_wrappers() -> None:
    assert not COMMANDS & set("sh bash sudo xargs eval source exec python perl awk tee rm cp mv".split())
