"""`--json`: one object at the end, for results and for errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.nacre_program import KILL_KEEPER, Done, Nacre
from tests.support.waiting import TIME_LIMITS_S


def parse_output(done: Done) -> dict[str, Any]:
    """Parse stdout, which must be one JSON object on one line; stderr must be empty."""
    assert done.err == b""
    assert done.out.count(b"\n") == 1
    assert done.out.endswith(b"\n")
    data = json.loads(done.out)
    assert isinstance(data, dict)
    return data


@pytest.mark.req("M-02")
def test_json_result_is_one_object_on_one_line(nacre: Nacre) -> None:
    done = nacre("run", "--json", "echo out; printf 'é\\xff' >&2; exit 3")
    result = parse_output(done)
    assert done.code == 3
    assert isinstance(result.pop("pid"), int)
    assert result.pop("duration") >= 0
    assert "".join(sorted(result.pop("output"))) == "".join(sorted("out\né\ufffd"))
    assert result == {
        "command": "echo out; printf 'é\\xff' >&2; exit 3",
        "display": "echo out; printf 'é\\xff' >&2; exit 3",
        "cwd": str(nacre.home),
        "outcome": {"kind": "exited", "code": 3},
        "ok": False,
        "exit_code": 3,
        "timed_out": False,
        "stdout": "out\n",
        "stderr": "é\ufffd",
        "bytes": {
            "stdout": {"total": 4, "dropped": 0},
            "stderr": {"total": 3, "dropped": 0},
            "output": {"total": 7, "dropped": 0},
        },
        "running": [],
        "killed_leftovers": [],
        "pipestatus": [],
        "task": None,
        "spill": None,
        "enforced": [],
        "notes": [],
    }


@pytest.mark.parametrize(
    ("command", "code", "outcome"),
    [
        ("kill -9 $$", 137, {"kind": "signalled", "signal": 9}),
        (f"{KILL_KEEPER}; sleep 60", 125, {"kind": "lost", "reason": "nacre's keeper process was killed"}),
    ],
)
def test_signalled_and_lost_runs_have_their_json_outcome(
    nacre: Nacre, command: str, code: int, outcome: dict[str, Any]
) -> None:
    done = nacre("run", "--json", command)
    assert (done.code, parse_output(done)["outcome"]) == (code, outcome)


def test_timeout_is_reported_as_a_json_result(nacre: Nacre) -> None:
    for limit in TIME_LIMITS_S:
        done = nacre("run", "--json", "--timeout", f"{limit}", "echo partial; sleep 60")
        result = parse_output(done)
        if result["stdout"]:
            break
    assert done.code == 124
    assert (result["outcome"], result["stdout"]) == ({"kind": "timed_out", "after": limit}, "partial\n")


def test_non_utf8_command_becomes_valid_json(nacre: Nacre) -> None:
    result = parse_output(nacre("run", "--json", b"printf '\xff' | wc -c"))
    assert (result["command"], result["stdout"].strip()) == ("printf '\udcff' | wc -c", "1")


def test_json_counts_output_bytes_that_were_dropped(nacre: Nacre) -> None:
    result = parse_output(nacre("run", "--json", "head -c 5000000 /dev/zero"))
    assert result["bytes"]["stdout"]["total"] == 5_000_000
    assert result["bytes"]["stdout"]["dropped"] > 3_000_000
    assert result["spill"] is None  # an unnamed file would be gone before the reader opens it


@pytest.mark.req("M-02")
def test_output_dir_keeps_the_complete_output_in_one_file(nacre: Nacre, tmp_path: Path) -> None:
    place = tmp_path / "outputs"
    spill = parse_output(nacre("run", "--json", "--output-dir", str(place), "head -c 5000000 /dev/zero"))["spill"]
    assert (spill["bytes"], spill["complete"]) == (5_000_000, True)
    assert [str(path) for path in place.iterdir()] == [spill["path"]]
    assert Path(spill["path"]).read_bytes() == bytes(5_000_000)


def error(code: str, message: str, field: str | None, hint: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "field": field, "hint": hint}}


@pytest.mark.req("P-006")
@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (
            ["--timeout", "-1", "true"],
            125,
            error("bad_timeout", "`timeout` is -1.0.", "timeout", "Give seconds above 0 and up to 3600."),
        ),
        (["  "], 125, error("empty_command", "The command is empty.", "command", "Give a shell command.")),
        (
            ["echo", "hi"],
            125,
            error(
                "usage",
                "The command must be one argument, got 2.",
                "command",
                "Quote it: nacre run 'echo hi'",
            ),
        ),
        (
            ["--access", "restricted", "--network", "on", "true"],
            125,
            error(
                "bad_network",
                "`network` has no effect with access='restricted'.",
                "network",
                "Leave it out, or use access='workspace'. `restricted` has no network at all.",
            ),
        ),
    ],
    ids=["value", "empty", "usage", "network"],
)
def test_errors_are_json_objects_with_the_json_option(
    nacre: Nacre, words: list[str], code: int, expected: dict[str, Any]
) -> None:
    done = nacre("run", "--json", *words)
    assert (done.code, parse_output(done)) == (code, expected)
