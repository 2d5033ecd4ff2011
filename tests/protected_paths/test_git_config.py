"""Settings of a git configuration that run programs."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from nacre.protected_paths.git_config import UNREADABLE, find_setting, read_settings, settings_that_run_programs

CLONED = """[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[remote "origin"]
	url = git@example.org:a/b.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
[submodule "x"]
	active = true
	url = ../x
	update = checkout
[user]
	name = A
[filter "lfs"]
	clean = git-lfs clean -- %f
	required = true
[gitflow "prefix"]
	feature = feature/
[extensions]
	worktreeConfig = true
"""


def test_config_of_a_fresh_clone_runs_no_programs() -> None:
    assert settings_that_run_programs(CLONED) == frozenset()
    assert settings_that_run_programs("") == frozenset()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[core]\nfsmonitor = x", "core.fsmonitor=x"),
        ("[CORE]\n\tfsMonitor = x", "core.fsmonitor=x"),
        ("[core] fsmonitor = x", "core.fsmonitor=x"),
        ("\ufeff[core]\nfsmonitor = x", "core.fsmonitor=x"),
        ("[core]\r\nfsmonitor = x\r\n", "core.fsmonitor=x"),
        ("[core]\nfsmonitor = a\\\n b", "core.fsmonitor=a b"),
        ('[a "]"] x = 1\n[core]\nhooksPath = x', "core.hookspath=x"),
        ("# [user]\n[core] ; [user]\nsshCommand = x", "core.sshcommand=x"),
        ("[include]\npath = x", "include.path=x"),
        ('[includeIf "gitdir:/"]\npath = x', "includeif.gitdir:/.path=x"),
        ('[filter "y"]\nclean = x', "filter.y.clean=x"),
        ("[filter.y]\nclean = x", "filter.y.clean=x"),
        ('[filter "lfs"]\nclean = evil', "filter.lfs.clean=evil"),
        ('[diff "y"]\ntextconv = x', "diff.y.textconv=x"),
        ("[diff]\nexternal = x", "diff.external=x"),
        ('[merge "y"]\ndriver = x', "merge.y.driver=x"),
        ("[alias]\nst = !x", "alias.st=!x"),
        ("[credential]\nhelper = x", "credential.helper=x"),
        ('[gpg "ssh"]\nprogram = x', "gpg.ssh.program=x"),
        ('[remote "y"]\nuploadpack = x', "remote.y.uploadpack=x"),
        ('[remote "y"]\nurl = ext::sh -c x', "remote.y.url=ext::sh -c x"),
        ('[submodule "y"]\nupdate = !x', "submodule.y.update=!x"),
        ('[url "x"]\ninsteadOf = y', "url.x.insteadof=y"),
        ('[hook "y"]\ncommand = x', "hook.y.command=x"),
        ("[core\nfsmonitor = x", UNREADABLE),
        ("fsmonitor = x", UNREADABLE),
        ("[core]\n= x", UNREADABLE),
        ("[core]\nbare = false # \\\nfsmonitor = x", "core.fsmonitor=x"),
        ("[core]\n; \\\nfsmonitor = x", "core.fsmonitor=x"),
        ("[core] # \\\nfsmonitor = x", "core.fsmonitor=x"),
        ('[core]\nbare = "false # \\\n"\nfsmonitor = x', "core.fsmonitor=x"),
        ("[core]\nbare = false\\\r\n # \\\r\nfsmonitor = x\r\n", "core.fsmonitor=x"),
        ("[core]\nfsmonitor = x\0", UNREADABLE),
        ("[gc]\nrecentObjectsHook = x", "gc.recentobjectshook=x"),
        ("[svn]\nauthorsProg = x", "svn.authorsprog=x"),
    ],
)
def test_settings_that_run_programs_are_found(text: str, found: str) -> None:
    assert found in settings_that_run_programs(text)


@pytest.mark.parametrize("value", ["true", "false", ""])
def test_builtin_fsmonitor_is_harmless(value: str) -> None:
    assert settings_that_run_programs(f"[core]\nfsmonitor = {value}\n") == frozenset()


def test_last_value_of_a_setting_wins() -> None:
    text = '[core]\nworktree = a\n[user]\nname = b\n[CORE]\nworkTree = "../c d" # e'
    assert find_setting(text, "core.worktree") == "../c d"
    assert find_setting(text, "core.bare") == find_setting("[core]\nworktree", "core.worktree") == ""
    assert find_setting("[core]\nworktree = a\n[core", "core.worktree") == ""


WRITTEN = [
    *("[a]b=c", "[a]b", "[a]\nb = c", "[a] b = c ; d", "[a]\nb\n=c", "[a]\nb =", "[a]\nb = \n", '[a]\nb = ""'),
    *("[a]\n1b = c", "[a]\nb_ = c", "[a]\nb-1 = c", "[a]\nB = C", "[A.B]\nc = d", '[A "B"]\nc = d', '[A.B "C"]\nd = e'),
    *(
        '[a "b\\"c\\\\d\\e"]\nf = g',
        '[a "b\n"]\nc = d',
        '[a  "b"]\nc',
        '[a"b"]\nc',
        '[a "b" ]\nc',
        "[ a]\nb",
        "[a ]\nb",
    ),
    *(
        "[a]\nb = c d  e",
        "[a]\nb = c\t\td  ",
        '[a]\nb = "c  " d',
        '[a]\nb = c" # "d # e',
        '[a]\nb = "c',
        '[a]\nb = c"d"e',
    ),
    *("[a]\nb = c\\", "[a]\nb = c\\\n", "[a]\nb = c\\\nd", "[a]\nb = c\\\n  d", "[a]\nb = c \\\n# d\ne = f"),
    *(
        "[a]\nb = c # \\\nd = e",
        "[a] # \\\nd = e",
        "# \\\n[a]\nd = e",
        "[a]\n; \\\nd = e",
        '[a]\nb = "c # \\\nd"\ne = f',
    ),
    *(
        '[a]\nb = \\n\\t\\b\\\\\\"c',
        "[a]\nb = \\c",
        "[a]\nb = \\\r\nc",
        "[a]\nb = c\\\r",
        "[a]\nb = c\rd",
        "[a]\r\nb = c\r\n",
    ),
    *(
        "\ufeff[a]\nb",
        "[a]\nb = \ufeff",
        "\ufeff\ufeff[a]\nb",
        "[a]\r\r\nb = c\r\r\n",
        "[a]\nb = c\x0b",
        "[a]\x0cb = c",
    ),
    *(
        "[include]\npath = x",
        '[includeIf "gitdir:/"]\npath = x',
        "[a.]\nb = c",
        "[.a]\nb = c",
        "[]\nb = c",
        "[a][b]c = d",
        "[é]\na",
    ),
    *(
        "[a]\né = b",
        "[a]\nb = é",
        "[a]b=c[d]e=f",
        "[a]\nb c",
        "",
        "\n",
        "#",
        "[",
        "[a",
        "[a]",
        '[a "',
        "\\",
        "[a]\n\\\nb = c",
    ),
]
PIECES = [
    *("[core]", '[core "x"]', '[a.B "C"]', '[Core "a\\"b"]', "[core", "[]", "[x.]", '[a "]"]', "[include]", "path = x"),
    *("\n", "\n", "\n", "\r\n", "\r", "#", "; x", "\\", "\\\n", "\\\r\n", '"', '\\"', "\\n", "\\t", "\\q", " = ", "="),
    *("key", "fsMonitor", "bare = false", " ", "\t", "\ufeff", "é", "-", ".", "\x0b", '"a # b"', "k1=v;c"),
]


def read_by_git(text: str, place: Path) -> list[tuple[str, str | None]] | None:
    """Return the settings as git reads them, tabs as spaces like older versions; None if git refuses the file."""
    (place / "config").write_bytes(text.encode())
    done = subprocess.run(
        ["git", "config", "-f", "config", "--list", "-z"], cwd=place, capture_output=True, check=False
    )
    if done.returncode:
        return None
    parts = [entry.partition("\n") for entry in done.stdout.decode().split("\0")[:-1]]
    return [(name, fold(value) if separator else None) for name, separator, value in parts]


def fold(value: str | None) -> str | None:
    return None if value is None else value.replace("\t", " ").replace("\r", " ")


def compare_with_git(text: str, place: Path) -> None:
    """Check that our parser reads the same settings as git, and none that git refuses."""
    try:
        found = [(name, fold(value)) for name, value in read_settings(text)]
    except ValueError:
        return
    assert found == read_by_git(text, place), repr(text)


@pytest.mark.parametrize("text", WRITTEN)
def test_config_is_parsed_as_git_parses_it(tmp_path: Path, text: str) -> None:
    compare_with_git(text, tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_random_config_is_parsed_as_git_parses_it(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(60):
        text = "".join(chosen.choice(PIECES) for _ in range(chosen.randrange(1, 12)))
        compare_with_git(f"[core]\n{text}" if chosen.random() < 0.8 else text, tmp_path)


def test_config_that_git_accepts_is_readable(tmp_path: Path) -> None:
    read = [text for text in WRITTEN if read_by_git(text, tmp_path) is not None and is_readable(text)]
    refused = [text for text in WRITTEN if read_by_git(text, tmp_path) is not None and not is_readable(text)]
    assert (len(read) > 30, refused) == (True, [])


def is_readable(text: str) -> bool:
    try:
        read_settings(text)
    except ValueError:
        return False
    return True
