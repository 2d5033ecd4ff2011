"""scripts/lint: names, docstring openings and sizes, and a baseline that only shrinks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.lint.baseline import entry_of, read_exceptions
from scripts.lint.checks import find_banned_names
from scripts.lint.glossary import read_glossary
from scripts.lint.source import read_files
from tests.support.lint_project import PROJECT, Lint

GOOD = '''\
"""Run limits and the waiters for them."""

from dataclasses import dataclass

MAX_LINE_BYTES = 100
_FLOOD_PAUSE_S = 0.1


class RunLimiter:
    """Semaphore that works across event loops."""

    started: bool = False

    @property
    def told(self) -> bool:
        """True once a caller waits."""
        return self.started

    def is_stopped(self) -> bool:
        return not self.started

    def feed(self, data: bytes) -> None:
        """Add data. What is too long is dropped."""

    def on_exit(self) -> None: ...


def read_exit_state(fd: int) -> bytes:
    """Whether the fd is open does not matter."""
    return b""
'''


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    return Lint(tmp_path)


def test_no_name_of_the_glossary_is_defined_in_the_project() -> None:
    """The baseline may hold known violations of other rules, but none of names."""
    violations = find_banned_names(read_files(PROJECT), read_glossary(PROJECT / "scripts/lint/glossary.txt"))
    allowed = read_exceptions(PROJECT / "scripts/lint/exceptions.txt")
    assert [found.message for found in violations if entry_of(found) not in allowed] == []


def test_lint_passes_for_plain_code(lint: Lint) -> None:
    lint.write("src/nacre/limiter.py", GOOD)
    lint.write("tests/test_limiter.py", "def test_told() -> None:\n    'It is told.'\n")
    assert lint.run() == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("src/nacre/told.py", "", "1: module `told` is not a plain name: use `exit_state`"),
        ("tests/test_told.py", "", "1: module `test_told` is not a plain name: use `exit_state`"),
        ("src/nacre/told/__init__.py", "", "1: module `told` is not a plain name: use `exit_state`"),
        ("bench/a.py", "class Asked: ...", "1: class `Asked` is not a plain name: use `ParsedCall`"),
        ("src/nacre/a.py", "Asked = int | str", "1: alias `Asked` is not a plain name: use `ParsedCall`"),
        ("fuzz/a.py", "def _let_go(): ...", "1: function `_let_go` is not a plain name: use `detach`"),
        ("faults/a.py", "\nNOBODY = 1", "2: constant `NOBODY` is not a plain name: use `NO_APPROVER`"),
        (
            "src/nacre/a.py",
            "if True:\n    class A:\n        def let_go(self): ...",
            "3: method `A.let_go` is not a plain name: use `detach`",
        ),
        (
            "bench/a.py",
            "def f():\n    async def _let_go(): ...",
            "2: function `f._let_go` is not a plain name: use `detach`",
        ),
        (
            "src/nacre/a.py",
            "class A:\n    def f(self, a, *, heard=None): ...",
            "2: parameter `A.f.heard` is not a plain name: use `on_verdict`",
        ),
        (
            "examples/a.py",
            "async def told(): ...",
            "1: function `told` is a bare participle or preposition: name it by a verb and its object",
        ),
        (
            "tests/support/a.py",
            "class A:\n    def _started(self): ...",
            "2: method `A._started` is a bare participle or preposition: name it by a verb and its object",
        ),
        *(
            (
                "scripts/a.py",
                f"{name} = 1",
                f"1: constant `{name}` is vague: name what it bounds and the unit, as in `_REPLY_TIMEOUT_S`",
            )
            for name in ("_PATIENCE", "PAUSE", "_PAUSE_S", "_LONGEST_LINE", "PORT_PATIENCE")
        ),
    ],
)
def test_lint_finds_names_that_are_not_plain(lint: Lint, path: str, source: str, complaint: str) -> None:
    lint.write(path, source)
    assert lint.run() == [f"{path}:{complaint}"]


@pytest.mark.parametrize(
    "block",
    [
        "for _ in ():\n    {}",
        "for _ in ():\n    pass\nelse:\n    {}",
        "async def f():\n async for _ in g():\n    {}",
        "async def f():\n async with g():\n    {}",
        "while True:\n    {}",
        "with f():\n    {}",
        "match 1:\n  case 1:\n    {}",
        "try:\n    {}\nfinally:\n    pass",
        "try:\n    pass\nexcept E:\n    {}",
        "try:\n    pass\nexcept* E:\n    {}",
        "try:\n    pass\nfinally:\n    {}",
        "if a:\n    pass\nelif b:\n    for _ in ():\n     while True:\n      {}",
    ],
)
def test_lint_finds_names_in_every_kind_of_block(lint: Lint, block: str) -> None:
    lint.write("src/nacre/a.py", block.format("def told(): ..."))
    (complaint,) = lint.run()
    assert "told` is a bare participle" in complaint


@pytest.mark.parametrize("path", ["src/nacre/keeper/care.py", "src/nacre/keeper/server/supervisor.py"])
def test_lint_finds_module_specific_names_before_and_after_a_move(lint: Lint, path: str) -> None:
    lint.move("src/nacre/keeper/care.py", path)
    lint.write(
        path, "FREE = b''\n_retired = 1\ndef look(): ...\nclass Care:\n    killed = 1\n    def review(self): ...\n"
    )
    lint.write("src/nacre/other.py", "FREE = 1\ndef look(): ...\nclass Other:\n    killed = 1\n")
    lint.write_baseline(*(["name src module care = 1"] if path.endswith("care.py") else []))
    assert lint.run() == [
        f"{path}:1: constant `FREE` is not a plain name: use `IDLE`",
        f"{path}:2: variable `_retired` is not a plain name: use `_stopping`",
        f"{path}:3: function `look` is not a plain name: use `read_process`",
        f"{path}:4: class `Care` is not a plain name: use `Supervisor`",
        f"{path}:5: attribute `Care.killed` is not a plain name: use `recently_killed`",
        f"{path}:6: method `Care.review` is not a plain name: use `check_run`",
    ]


def test_lint_finds_members_of_an_already_renamed_class(lint: Lint) -> None:
    lint.write("src/nacre/keeper/care.py", "class Supervisor:\n    def __init__(self):\n        self.killed = 1\n")
    assert lint.run() == [
        "src/nacre/keeper/care.py:3: attribute `Supervisor.killed` is not a plain name: use `recently_killed`"
    ]


def test_lint_finds_docstrings_by_their_first_word(lint: Lint) -> None:
    lint.write(
        "src/nacre/a.py",
        '''\
        """What it is."""


        class A:
            """Whoever comes."""

            def read(self):
                """Whether it is so."""

            def write(self):
                """Whether the file is writable."""


        def parse():
            """Of a text."""


        def pack():
            """Thatched roofs."""


        LIMIT_BYTES = 4
        """Of a line."""
        OTHER_BYTES: int = 4
        """Bytes of a word."""


        class B:
            name = ""
            """That of the file."""

            def __init__(self):
                if True:
                    self.size = 1
                    """Where it ends."""
        ''',
    )
    lint.write("examples/a.py", '"""Where it is."""')
    assert lint.run() == [
        "src/nacre/a.py:1: docstring of module `a` begins with What: What it is.",
        "src/nacre/a.py:4: docstring of class `A` begins with Whoever: Whoever comes.",
        "src/nacre/a.py:7: docstring of method `A.read` begins with Whether it: Whether it is so.",
        "src/nacre/a.py:14: docstring of function `parse` begins with Of: Of a text.",
        "src/nacre/a.py:23: docstring of attribute `LIMIT_BYTES` begins with Of: Of a line.",
        "src/nacre/a.py:30: docstring of attribute `name` begins with That: That of the file.",
        "src/nacre/a.py:35: docstring of attribute `size` begins with Where: Where it ends.",
    ]


def test_lint_finds_public_classes_that_are_defined_twice(lint: Lint) -> None:
    lint.write("src/nacre/a.py", "class Reply: ...\nclass _Own: ...\nclass BashTool: ...\n")
    lint.write(
        "src/nacre/b.py", "class Reply: ...\nclass _Own: ...\nif True:\n    class A: ...\nelse:\n    class A: ...\n"
    )
    lint.write("src/nacre/compat/c.py", "class BashTool: ...\n")
    assert lint.run() == [
        "src/nacre/a.py:1: class `Reply` is also defined in src/nacre/b.py",
        "src/nacre/b.py:1: class `Reply` is also defined in src/nacre/a.py",
    ]


def test_lint_finds_long_files_and_functions_and_large_packages(lint: Lint) -> None:
    lint.write("tests/test_long.py", "x = 1\n" * 401)
    lint.write("tests/test_fits.py", "x = 1\n" * 400)
    line = "    x = 1\n"
    lint.write("bench/a.py", f"def run():\n{line * 60}\n\ndef fit():\n{line * 59}")
    for number in range(17):
        lint.write(f"src/nacre/large/m{number}.py", "")
    for number in range(16):
        lint.write(f"src/nacre/small/m{number}.py", "")
    assert lint.run() == [
        "tests/test_long.py:1: file has 401 lines, more than 400: split it",
        "bench/a.py:1: function `run` has 61 lines, more than 60: split it",
        "src/nacre/large:1: package has 17 files, more than 16: split it",
    ]


def test_lint_passes_known_violations_and_fails_on_one_more(lint: Lint) -> None:
    lint.write("src/nacre/a.py", "def told(): ...\n")
    lint.write_baseline("name src module care = 1", "name src function told = 1")
    assert lint.run() == []
    lint.write("src/nacre/b.py", "def told(): ...\n")
    assert [line.partition(": ")[0] for line in lint.run()] == ["src/nacre/a.py:1", "src/nacre/b.py:1"]


def test_lint_baseline_size_is_a_ceiling(lint: Lint) -> None:
    lint.write("src/nacre/a.py", "x = 1\n" * 430)
    lint.write_baseline("name src module care = 1", "long-file src/nacre/a.py = 450")
    assert lint.run() == []
    lint.write("src/nacre/a.py", "x = 1\n" * 451)
    assert lint.run() == ["src/nacre/a.py:1: file has 451 lines, more than 400: split it (baseline: 450, now 500)"]


def test_lint_requires_fixed_violations_to_leave_the_baseline(lint: Lint) -> None:
    lint.write("src/nacre/a.py", "def told(): ...\n")
    lint.write_baseline("name src module care = 1", "name src class Asked = 1", "name src function told = 2")
    assert lint.run() == [
        "remove it from the baseline: name src class Asked = 1",
        "lower it in the baseline: name src function told = 2, now 1",
    ]


def test_lint_update_removes_fixed_violations_and_adds_no_new_ones(lint: Lint) -> None:
    lint.write("src/nacre/a.py", "def told(): ...\ndef beside(): ...\n")
    lint.write_baseline("name src module care = 1", "name src class Asked = 1", "name src function told = 2")
    assert [line.partition(": ")[0] for line in lint.run("--update")] == ["src/nacre/a.py:2"]
    assert lint.read_baseline() == ["name src function told = 1", "name src module care = 1"]


def test_lint_baseline_for_names_and_functions_survives_a_file_move(lint: Lint) -> None:
    source = '"""What it is."""\ndef told(): ...\nclass Asked:\n    def at(self):\n' + "        x = 1\n" * 61
    lint.write("src/nacre/a.py", source)
    (lint.data / "baseline.txt").unlink()
    assert lint.run("--rebase") == []
    lint.move("src/nacre/a.py", "src/nacre/execution/plain.py")
    assert lint.run() == []


def test_lint_rebase_follows_a_moved_file_and_refuses_to_grow(lint: Lint) -> None:
    lint.write("src/nacre/a.py", "x = 1\n" * 401)
    lint.write_baseline("name src module care = 1", "long-file src/nacre/a.py = 450")
    lint.move("src/nacre/a.py", "src/nacre/b.py")
    assert lint.run("--rebase") == []
    assert lint.read_baseline() == ["long-file src/nacre/b.py = 450", "name src module care = 1"]
    lint.write("src/nacre/c.py", "x = 1\n" * 401)
    assert lint.run("--rebase") == [
        "long-file: the baseline may only shrink: 1 lines that add up to 450, now 2 lines that add up to 900"
    ]
    assert lint.read_baseline() == ["long-file src/nacre/b.py = 450", "name src module care = 1"]


def test_lint_exceptions_need_a_reason_and_a_use(lint: Lint) -> None:
    lint.write("src/nacre/a.py", "x = 1\n" * 401)
    lint.write("data/exceptions.txt", "long-file src/nacre/a.py -- table of numbers\n")
    assert lint.run() == []
    lint.write("src/nacre/a.py", "x = 1\n")
    assert lint.run() == ["remove it from the exceptions: long-file src/nacre/a.py"]
    lint.write("data/exceptions.txt", "long-file src/nacre/a.py\n")
    assert lint.run() == ["exceptions.txt:1: expected `rule key -- reason`: long-file src/nacre/a.py"]


def test_lint_glossary_section_must_name_an_existing_module(lint: Lint) -> None:
    lint.move("src/nacre/keeper/care.py", "src/nacre/keeper/elsewhere.py")
    lint.write_baseline()
    moved = "give the new path of a module that has moved; none of these exists"
    assert lint.run() == [f"glossary.txt: {moved}: [keeper/care | keeper/server/supervisor]"]


def test_lint_summary_counts_known_violations_per_rule(lint: Lint) -> None:
    command = [sys.executable, "-m", "scripts.lint", "--root", str(lint.root), "--data", str(lint.data), "--summary"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout == "name: 1\n"
