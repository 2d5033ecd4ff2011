"""Exceptions and outcomes: they survive pickling, and describe themselves in a few words."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from nacre import CommandFailed, InvalidRequest, NacreError, Result
from nacre.errors import AccessUnavailable, KeeperFailed, PathNotAllowed, UnsupportedPlatform
from nacre.outcomes import OUTCOMES as CLASSES
from nacre.outcomes import outcome_from_data
from nacre.result import (
    Cancelled,
    Captured,
    Exited,
    Killed,
    Lost,
    NotStarted,
    Outcome,
    OverLimit,
    Process,
    Refused,
    Running,
    Signalled,
    Spill,
    TimedOut,
)

OUTCOMES: list[tuple[Outcome, str, dict[str, Any], int]] = [
    (Exited(0), "exit 0", {"kind": "exited", "code": 0}, 0),
    (Exited(42), "exit 42", {"kind": "exited", "code": 42}, 42),
    (Signalled(9), "ended by SIGKILL", {"kind": "signalled", "signal": 9}, 137),
    (Signalled(99), "ended by SIG99", {"kind": "signalled", "signal": 99}, 227),
    (TimedOut(1.5), "timed out after 1.5 s", {"kind": "timed_out", "after": 1.5}, 124),
    (Cancelled(), "cancelled", {"kind": "cancelled"}, 130),
    (
        Refused("rule", "reason", "instead"),
        "refused by rule: reason",
        {"kind": "refused", "rule": "rule", "reason": "reason", "instead": "instead"},
        126,
    ),
    (
        NotStarted("reason", "hint"),
        "could not start: reason",
        {"kind": "not_started", "reason": "reason", "hint": "hint"},
        125,
    ),
    (
        OverLimit("memory", 512 * 2**20, 600 * 2**20),
        "over its limit of 512 MB of memory: it used 600 MB of memory",
        {"kind": "over_limit", "limit": "memory", "allowed": 512 * 2**20, "used": 600 * 2**20},
        137,
    ),
    (
        Killed("process 7 of user 0", 2),
        "killed by process 7 of user 0",
        {"kind": "killed", "by": "process 7 of user 0", "signal": 2},
        130,
    ),
    (Running("bash-1"), "running as bash-1", {"kind": "running", "task": "bash-1", "promoted": False}, 0),
    (
        Running("bash-1", promoted=True),
        "running as bash-1",
        {"kind": "running", "task": "bash-1", "promoted": True},
        75,
    ),
    (Lost("reason"), "lost: reason", {"kind": "lost", "reason": "reason"}, 125),
]


def result_of(outcome: Outcome) -> Result:
    return Result(
        command="cmd",
        cwd="/",
        outcome=outcome,
        out=Captured(head=b"out\xff", total_bytes=4),
        err=Captured(head=b" because \n", total_bytes=10),
        both=Captured(head=b"out\xff because \n", total_bytes=14),
        duration=1.25,
        pid=7,
        running=(Process(8, 7, "sleep 60"),),
        spill=Spill("/tmp/x", 3, complete=False),
        notes=("A remark.",),
    )


@pytest.mark.req("M-02")
@pytest.mark.parametrize(("outcome", "words", "data", "status"), OUTCOMES)
def test_outcome_has_its_summary_dict_and_exit_status(
    outcome: Outcome, words: str, data: dict[str, Any], status: int
) -> None:
    result = result_of(outcome)
    assert (outcome.summary, result.summary, result.to_dict()["outcome"], outcome.exit_status) == (
        words,
        words,
        data,
        status,
    )
    assert result.ok == (outcome in (Exited(0), Running("bash-1")))
    assert outcome_from_data(result.to_dict()["outcome"]) == outcome
    assert result.exit_code == (outcome.code if isinstance(outcome, Exited) else None)
    assert result.timed_out == isinstance(outcome, TimedOut)


def test_every_outcome_class_has_a_kind() -> None:
    assert {outcome.kind: type(outcome) for outcome, *_ in OUTCOMES} == CLASSES


@pytest.mark.parametrize("outcome", [outcome for outcome, *_ in OUTCOMES])
def test_result_survives_pickling(outcome: Outcome) -> None:
    assert pickle.loads(pickle.dumps(result_of(outcome))) == result_of(outcome)


@pytest.mark.parametrize("kind", [InvalidRequest, PathNotAllowed, AccessUnavailable])
def test_invalid_request_survives_pickling(kind: type[InvalidRequest]) -> None:
    error = kind("code", "Message.", field="field", hint="Hint.")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again), str(again)) == (kind, vars(error), "Message. Hint.")


def test_keeper_failed_keeps_its_errno_after_pickling() -> None:
    again = pickle.loads(pickle.dumps(KeeperFailed("Message.", 24)))
    assert (type(again), again.errno, str(again)) == (KeeperFailed, 24, "Message.")


@pytest.mark.req("K-06")
def test_command_failed_keeps_its_result_after_pickling() -> None:
    error = CommandFailed(result_of(Exited(3)))
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.result, again.exit_code, str(again)) == (
        CommandFailed,
        result_of(Exited(3)),
        3,
        "exit 3: because",
    )


@pytest.mark.req("K-06")
@pytest.mark.parametrize(
    "outcome", [outcome for outcome, *_ in OUTCOMES if outcome != Exited(0) and not isinstance(outcome, Running)]
)
def test_check_raises_for_every_outcome_but_success_and_running(outcome: Outcome) -> None:
    with pytest.raises(CommandFailed) as caught:
        result_of(outcome).check()
    assert (caught.value.result, caught.value.exit_code) == (result_of(outcome), result_of(outcome).exit_code)


def test_every_error_is_a_nacre_error() -> None:
    for kind in (InvalidRequest, CommandFailed, KeeperFailed, UnsupportedPlatform):
        assert issubclass(kind, NacreError)


def test_message_of_a_failed_command_has_a_maximum_length() -> None:
    loud = Result(command="cmd", cwd="/", outcome=Exited(1), err=Captured(head=b"x" * 100_000, total_bytes=100_000))
    assert len(str(CommandFailed(loud))) == 2000
