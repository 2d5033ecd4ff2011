"""Phases of a run in the host."""

from __future__ import annotations

import pytest

from nacre.keeper.client.run_phase import ACTIVE, TRANSITIONS, RunPhase


@pytest.mark.parametrize("phase", RunPhase)
def test_every_phase_can_be_left_only_by_closing_or_towards_the_end(phase: RunPhase) -> None:
    assert (RunPhase.CLOSED in TRANSITIONS[phase]) == (phase is not RunPhase.CLOSED)
    assert (RunPhase.LOST in TRANSITIONS[phase]) == (phase in ACTIVE)
    assert (RunPhase.ENDED in TRANSITIONS[phase]) == (phase in {*ACTIVE, RunPhase.LOST})


def test_only_a_lost_run_is_submitted_again() -> None:
    assert [phase for phase in RunPhase if RunPhase.SUBMITTED in TRANSITIONS[phase]] == [RunPhase.LOST]


def test_a_started_run_is_never_handed_over_again() -> None:
    before = [phase for phase in RunPhase if RunPhase.HANDED_OVER in TRANSITIONS[phase]]
    assert before == [RunPhase.SUBMITTED, RunPhase.HANDED_OVER]
