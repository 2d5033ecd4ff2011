"""Git repositories to work in, made by git itself, independent of the user and of the user's git configuration."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_QUIET = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(place: Path, *words: str) -> str:
    """Run git in `place` and return its stdout."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=place,
        env={**os.environ, **_QUIET},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def repository(place: Path) -> Path:
    """Create a repository with one commit, its own identity, and no hooks except samples."""
    place.mkdir(parents=True, exist_ok=True)
    git(place, "init", "-q", "-b", "main")
    git(place, "config", "user.name", "A")
    git(place, "config", "user.email", "a@example.org")
    (place / "file").write_text("one\n")
    git(place, "add", "file")
    git(place, "commit", "-q", "-m", "first")
    (place / ".git" / "hooks").mkdir(exist_ok=True)
    return place


def worktree(repository: Path, place: Path) -> Path:
    git(repository, "worktree", "add", "-q", str(place))
    return place


def submodule(repository: Path, of: Path, path: str) -> Path:
    git(repository, "submodule", "--quiet", "add", str(of), path)
    return repository / path
