"""Harmless git commands run no program that a repository configures, if GIT_ENVIRONMENT is set. Uses real git.

Each trap is a repository whose configuration names a program that leaves a mark, and a command that proves that the
trap works: otherwise the test would prove nothing.
"""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import check
from nacre.policy.facts.harmless import GIT_ENVIRONMENT
from tests.support.waiting import HANG_TIMEOUT_S

PLAIN = (
    "git log",
    "git log --oneline --graph --all",
    "git log --oneline -- f",
    "git log f",
    "git log '--format=%h %(describe) %(trailers) %N'",
    "git shortlog -sne HEAD",
    "git rev-parse HEAD",
    "git rev-parse HEAD^",
    "git rev-parse :f",
    "git ls-files",
    "git ls-files -s",
    "git branch",
    "git branch -a -vv",
    "git branch --merged",
    "git tag",
    "git tag -n",
    "git remote -v",
)


class Repository:
    """A repository with two commits of a file `f`, the first of which is signed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "repository"
        self.program = home / "program"  # found in PATH: git gives only some settings to a shell
        self.program.write_text(f"#!/bin/sh\ntouch '{home}/ran'\n")
        self.program.chmod(0o755)
        self.path.mkdir()
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.org")
        (self.path / "f").write_text("one\n")
        self.git("add", "f")
        tree = self.git("write-tree")
        who = "A <a@example.org> 1700000000 +0000"
        signature = "-----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
        text = f"tree {tree}\nauthor {who}\ncommitter {who}\ngpgsig {signature}\n\none\n\nA: b\n"
        self.first = self.git("hash-object", "-t", "commit", "-w", "--stdin", given=text)
        self.git("update-ref", "refs/heads/main", self.first)
        (self.path / "f").write_text("two\n")
        self.git("commit", "-qam", "two")
        self.git("tag", "-am", "of two", "v2")

    def git(self, *words: str, given: str = "") -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.path,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            check=True,
            timeout=HANG_TIMEOUT_S,
        )
        return done.stdout.strip()

    @property
    def environment(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {**ours, "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "PATH": f"{self.home}:{os.environ['PATH']}"}

    def set(self, *names: str, to: str = "") -> None:
        for name in names:
            self.git("config", name, to or self.program.name)

    def runs_a_program(self, command: str, env: dict[str, str] | None = None) -> bool:
        mark = self.home / "ran"
        mark.unlink(missing_ok=True)
        ours, theirs = pty.openpty()  # git starts a pager only on a terminal
        try:
            subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=self.path,
                env=self.environment | {"TERM": "xterm"} | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=subprocess.DEVNULL,
                timeout=HANG_TIMEOUT_S,
            )
        finally:
            os.close(ours)
            os.close(theirs)
        return mark.exists()


def _monitor(repository: Repository) -> None:
    repository.set("core.fsmonitor")


def _include_config(repository: Repository) -> None:
    (repository.path / "more").write_text(f"[core]\n\tfsmonitor = {repository.program.name}\n")
    repository.set("include.path", to=str(repository.path / "more"))


def _worktree(repository: Repository) -> None:
    repository.set("core.repositoryFormatVersion", to="1")
    repository.set("extensions.worktreeConfig", to="true")
    repository.git("config", "--worktree", "core.fsmonitor", repository.program.name)


def _signatures(repository: Repository) -> None:
    repository.set("gpg.program")
    repository.set("log.showSignature", to="true")


def _signature_format(repository: Repository) -> None:
    repository.set("gpg.openpgp.program")
    repository.set("format.pretty", to="%h %G?")


def _signatures_of_ssh(repository: Repository) -> None:
    who = "A <a@example.org> 1700000000 +0000"
    signature = "-----BEGIN SSH SIGNATURE-----\n x\n -----END SSH SIGNATURE-----"
    text = f"tree {repository.git('write-tree')}\nauthor {who}\ncommitter {who}\ngpgsig {signature}\n\nx\n"
    repository.git(
        "update-ref", "refs/heads/main", repository.git("hash-object", "-t", "commit", "-w", "--stdin", given=text)
    )
    repository.set("gpg.ssh.program")
    repository.set("gpg.ssh.allowedSignersFile", to="/dev/null")
    repository.set("format.pretty", to="%h %G?")


def _pager(repository: Repository) -> None:
    repository.set("core.pager")


def _pagers(repository: Repository) -> None:
    repository.set("pager.log", "pager.branch", "pager.tag", "pager.shortlog", "pager.ls-files", "pager.remote")


def _drivers(repository: Repository) -> None:
    (repository.path / ".gitattributes").write_text("* diff=x filter=x\n")
    repository.set("diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.process")
    repository.set("log.follow", to="true")
    repository.set("log.diffMerges", to="remerge")


def _trailers(repository: Repository) -> None:
    repository.set("trailer.a.command", "trailer.a.cmd")
    repository.set("trailer.a.key", to="A")


def _hooks(repository: Repository) -> None:
    hooks = repository.path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "pre-auto-gc"):
        (hooks / name).symlink_to(repository.program)
    repository.set("core.hooksPath", to=str(hooks))
    os.utime(repository.path / "f", (0, 0))


def _submodule(repository: Repository) -> None:
    (repository.path / ".gitmodules").write_text(f'[submodule "s"]\n\tpath = s\n\turl = {repository.path}\n')
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.first},s")
    repository.git("clone", "-q", ".", "s")
    repository.set("submodule.s.update", to=f"!{repository.program.name}")
    repository.set("submodule.s.url", to=str(repository.path))
    repository.set("submodule.recurse", to="true")
    repository.set("status.submoduleSummary", to="true")


def _lazy(url: str, *names: str) -> Callable[[Repository], None]:
    """Return a trap: an object is missing, and git would fetch it with the help of a program."""

    def trap(repository: Repository) -> None:
        source = repository.home / "source"
        repository.git("clone", "-q", "--bare", ".", str(source))
        (repository.path / ".git" / "objects" / repository.first[:2] / repository.first[2:]).unlink()
        repository.set("core.repositoryFormatVersion", to="1")
        repository.set("extensions.partialClone", to="origin")
        repository.set("remote.origin.promisor", to="true")
        repository.set("remote.origin.url", to=url.format(program=repository.program.name, source=source))
        repository.set("protocol.allow", to="always")
        repository.set(*names)

    return trap


def _alternates(repository: Repository) -> None:
    other = repository.home / "other"
    repository.git("init", "-q", str(other))
    (repository.path / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    _lazy("{source}", "core.alternateRefsCommand")(repository)


def _helper(repository: Repository) -> None:
    (repository.home / "git-remote-trap").symlink_to(repository.program)
    _lazy("trap::x")(repository)


def _named_helper(repository: Repository) -> None:
    _helper(repository)
    repository.set("remote.origin.vcs", to="trap")
    repository.set("remote.origin.url", to="{source}")


TRAPS: dict[str, tuple[Callable[[Repository], None], str]] = {
    "a monitor of files": (_monitor, "git ls-files"),
    "configuration that is included": (_include_config, "git ls-files"),
    "configuration of a worktree": (_worktree, "git ls-files"),
    "signatures that are always shown": (_signatures, "git log"),
    "signatures in the usual format": (_signature_format, "git log"),
    "signatures of ssh": (_signatures_of_ssh, "git log"),
    "a pager": (_pager, "git log"),
    "pagers of commands": (_pagers, "git log"),
    "drivers of diffs, and filters": (_drivers, "git log -p --ext-diff"),
    "trailers": (_trailers, "git interpret-trailers --trailer a f"),
    "hooks": (_hooks, "git status"),
    "a submodule": (_submodule, "git submodule update --force"),
    "a missing object, from a program": (_lazy("ext::{program}"), "git log"),
    "a missing object, by ssh": (_lazy("ssh://nowhere.invalid/x", "core.sshCommand"), "git log"),
    "a missing object, through a proxy": (_lazy("git://nowhere.invalid/x", "core.gitProxy"), "git log"),
    "a missing object, from a packer": (_lazy("{source}", "remote.origin.uploadpack"), "git log"),
    "a missing object, by a helper": (_helper, "git log"),
    "a missing object, and alternates": (_alternates, "git log"),
    "a missing object, by a helper with a name of its own": (_named_helper, "git log"),
}


@pytest.mark.parametrize("command", PLAIN)
def test_listed_git_commands_are_plain(command: str) -> None:
    assert check(command, cwd="/home/dev/project").plain


@pytest.mark.parametrize(("trap", "shows"), TRAPS.values(), ids=TRAPS)
def test_plain_git_command_runs_no_program_of_the_repository(
    trap: Callable[[Repository], None], shows: str, tmp_path: Path
) -> None:
    repository = Repository(tmp_path)
    trap(repository)
    assert [command for command in PLAIN if repository.runs_a_program(command, GIT_ENVIRONMENT)] == []
    assert repository.runs_a_program(shows), "the trap does not work, so the test proves nothing"


def test_missing_object_runs_no_program_without_git_no_lazy_fetch(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    _lazy("ext::{program}")(repository)
    known = {name: value for name, value in GIT_ENVIRONMENT.items() if name != "GIT_NO_LAZY_FETCH"}
    assert not repository.runs_a_program("git log", known)


def test_inherited_git_config_does_not_override_ours(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    inherited = {"GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={repository.program.name}'"}
    assert not repository.runs_a_program("git ls-files", inherited | GIT_ENVIRONMENT)
    assert repository.runs_a_program("git ls-files", inherited)
