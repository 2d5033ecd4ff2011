"""`nacre run` names leftovers and kills them before it exits."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.nacre_program import Done, Nacre
from tests.support.lifeline import Lifeline


def test_one_process_left_running_is_named_and_ended(nacre: Nacre, life: Lifeline) -> None:
    done = nacre("run", f"{life.hold} sleep 60 & echo done")
    assert life.over
    assert (done.code, done.out) == (0, b"done\n")
    assert re.fullmatch(rb"nacre: 1 process left running and ended: \d+ \(sleep 60\)\.\n", done.err)


def test_of_many_some_are_named_and_all_are_ended(nacre: Nacre, life: Lifeline) -> None:
    done = nacre("run", f"{life.hold} for i in 1 2 3 4 5; do (setsid sleep 60 &) done; exit 3")
    assert life.over
    assert done.code == 3
    named = rb"nacre: 5 processes left running and ended: (\d+ \(sleep 60\), ){3}and 2 more\.\n"
    assert re.fullmatch(named, done.err)


def test_a_stubborn_one_is_gone_too_when_nacre_returns(nacre: Nacre, life: Lifeline) -> None:
    nacre("run", f"{life.hold} (trap '' TERM; while :; do sleep 60; done) & {life.hold} echo done")
    assert life.over


def test_in_json_they_are_listed(nacre: Nacre, life: Lifeline) -> None:
    done = nacre("run", "--json", f"{life.hold} sleep 60 & echo done")
    assert life.over
    result = json.loads(done.out)
    assert result["running"] == []
    (process,) = result["killed_leftovers"]
    assert process["command"] == "sleep 60"
    assert result["notes"] == [f"1 process left running and ended: {process['pid']} (sleep 60)."]
    assert done.err == b""


@pytest.mark.req("P-001")
def test_a_job_that_is_waited_for_is_no_leftover(nacre: Nacre) -> None:
    assert nacre("run", "(echo inside) & wait; echo after") == Done(0, b"inside\nafter\n")
