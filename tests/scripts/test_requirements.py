"""scripts/requirements.py: which tests prove which requirement, collected from the marks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.waiting import HANG_TIMEOUT_S

SCRIPT = Path(__file__).parents[2] / "scripts" / "requirements.py"

DOCUMENT = """\
# Requirements

| id | requirement |
|---|---|
| M-01 | Takes a command. |
| M-02 | Returns a result. |
| P-001 | Runs bash. |
"""


class Project:
    """A directory with the document and given test files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("docs/requirements.md", DOCUMENT)
        self.write("tests/test_empty.py", "")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")

    def listing(self, *options: str) -> tuple[int, list[str], list[str]]:
        """Run the script; return exit code, lines on stdout, lines on stderr."""
        command = [sys.executable, str(SCRIPT), "--root", str(self.root), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_TIMEOUT_S)
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_requirement_list_shows_the_tests_of_each_id(project: Project) -> None:
    project.write(
        "tests/keeper/test_start.py",
        """
        import pytest

        @pytest.mark.req("M-01", "P-001")
        async def test_starts() -> None: ...

        @pytest.mark.req("M-01")
        def test_starts_again() -> None: ...
        """,
    )
    assert project.listing() == (
        0,
        [
            "M-01  Takes a command.",
            "      tests/keeper/test_start.py::test_starts",
            "      tests/keeper/test_start.py::test_starts_again",
            "M-02  Returns a result.",
            "      (no test)",
            "P-001  Runs bash.",
            "      tests/keeper/test_start.py::test_starts",
            "3 requirements, 2 with a test, 1 without",
        ],
        [],
    )


def test_req_marks_on_modules_classes_and_params_apply_to_their_tests(project: Project) -> None:
    project.write(
        "tests/test_all.py",
        """
        from pytest import mark, param

        pytestmark = [mark.req("M-01")]

        @mark.req("M-02")
        class TestResult:
            pytestmark = mark.linux

            @mark.parametrize("code", [0, param(1, marks=mark.req("P-001"))])
            def test_code(self, code: int) -> None: ...

        def helper() -> None: ...
        """,
    )
    code, lines, _ = project.listing("--strict")
    assert code == 0
    assert lines == [
        "M-01  Takes a command.",
        "      tests/test_all.py::TestResult::test_code",
        "M-02  Returns a result.",
        "      tests/test_all.py::TestResult::test_code",
        "P-001  Runs bash.",
        "      tests/test_all.py::TestResult::test_code",
        "3 requirements, 3 with a test, 0 without",
    ]


def test_requirement_without_a_test_fails_only_when_strict(project: Project) -> None:
    summary = ["3 requirements, 0 with a test, 3 without"]
    assert project.listing("--summary") == (0, summary, [])
    assert project.listing("--summary", "--strict") == (1, summary, ["no test for M-01, M-02, P-001"])


@pytest.mark.parametrize(
    ("test", "complaint"),
    [
        ('@pytest.mark.req("M-99")\ndef test_it(): ...', "tests/test_x.py::test_it: no requirement M-99"),
        ("@pytest.mark.req(ID)\ndef test_it(): ...", "tests/test_x.py:1: a req mark takes plain ids"),
        ("@pytest.mark.req()\ndef test_it(): ...", "tests/test_x.py:1: a req mark takes plain ids"),
        ('\n@pytest.mark.req("M-01")\ndef helper(): ...', "tests/test_x.py:2: a req mark that no test carries"),
        ('proves = pytest.mark.req("M-01")', "tests/test_x.py:1: a req mark that no test carries"),
    ],
)
def test_invalid_or_unused_req_mark_is_an_error(project: Project, test: str, complaint: str) -> None:
    project.write("tests/test_x.py", test)
    code, _, errors = project.listing()
    assert code == 1
    assert [error[: len(complaint)] for error in errors] == [complaint]


def test_duplicate_requirement_id_is_an_error(project: Project) -> None:
    project.write("docs/requirements.md", DOCUMENT + "| M-01 | Again. |\n")
    code, _, errors = project.listing()
    assert (code, errors) == (1, ["docs/requirements.md: M-01 occurs twice"])


def test_requirement_marked_as_later_must_have_no_test(project: Project) -> None:
    project.write("tests/test_a.py", 'import pytest\n\n@pytest.mark.req("M-01", "P-001")\ndef test_a() -> None: ...\n')
    assert project.listing("--strict")[::2] == (1, ["no test for M-02"])
    assert project.listing("--strict", "--later", "M-02")[::2] == (0, [])
    assert project.listing("--strict", "--later", "M-02", "M-01")[::2] == (
        1,
        ["M-01 has a test by now: it is no longer one for later"],
    )
