"""The working directory decides what `*` matches: after a `cd` that surely succeeded, it is another directory's."""

from __future__ import annotations

import pytest

from tests.policy.test_corpus import verdict

FREE = [
    "cd build && rm -rf *",
    "cd build || exit 1; rm -rf *",
    "cd build || { echo none; exit 1; }; rm -rf *",
    "set -e; cd build; rm -rf *",
    "(cd build && rm -rf ./* .[!.]*)",
    "cd /tmp/x && rm -rf *",
    "mkdir -p build && cd build && rm -rf * && cmake ..",
    "pushd out && rm -rf * && popd",
    "cd / && rm -rf tmp/x",
    "cd build && rm -rf .",
]
STOPPED = [
    "rm -rf *",
    "cd build; rm -rf *",
    "cd build\nrm -rf *",
    "cd build && ls; rm -rf *",
    "(cd build); rm -rf *",
    "cd build & rm -rf *",
    "cd build || true; rm -rf *",
    "cd .. && rm -rf *",
    "cd / && rm -rf *",
    "cd / && rm -rf etc",
    "cd ~ && rm -rf *",
    "cd && rm -rf *",
    'cd "$X" && rm -rf *',
    "cd build; rm -rf .",
    "cd build && rm -rf ..",
    "cd build && rm -rf .git",
    "cd /etc && rm -rf *",
    "cd .. && rm -rf project",
]


@pytest.mark.parametrize("command", FREE)
def test_glob_in_another_directory_may_be_deleted(command: str) -> None:
    assert verdict(command).allowed


@pytest.mark.parametrize("command", STOPPED)
def test_files_that_may_be_in_the_working_directory_are_protected(command: str) -> None:
    assert verdict(command).refused
