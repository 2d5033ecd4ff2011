"""Which settings of a git configuration run programs."""

from __future__ import annotations

import pytest

from nacre.guard.git_config import UNREADABLE, settings_that_run_programs

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


def test_a_clone_runs_nothing() -> None:
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
        ("[core]\nfsmonitor = a\\\n b", "core.fsmonitor=a  b"),
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
    ],
)
def test_what_runs_programs_is_found(text: str, found: str) -> None:
    assert found in settings_that_run_programs(text)


@pytest.mark.parametrize("value", ["true", "false", ""])
def test_the_monitor_of_git_itself_is_harmless(value: str) -> None:
    assert settings_that_run_programs(f"[core]\nfsmonitor = {value}\n") == frozenset()
