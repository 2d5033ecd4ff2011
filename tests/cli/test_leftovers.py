"""`nacre run` names leftovers and kills them before it exits."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.nacre_program import Done, Nacre
from tests.support.lifeline import Lifeline


def test_single_leftover_is_named_and_killed(nacre: Nacre, life: Lifeline) -> None:
    done = nacre("run", f"{life.hold} sleep 60 & echo done")
    assert life.over
    assert (done.code, done.out) == (0, b"done\n")
    assert re.fullmatch(rb"nacre: 1 process left running and killed: \d+ \(sleep 60\)\.\n", done.err)


def test_many_leftovers_are_all_killed_and_three_are_named(nacre: Nacre, life: Lifeline) -> None:
    done = nacre("run", f"{life.hold} for i in 1 2 3 4 5; do (setsid sleep 60 &) done; exit 3")
    assert life.over
    assert done.code == 3
    named = rb"nacre: 5 processes left running and killed: (\d+ \(sleep 60\), ){3}and 2 more\.\n"
    assert re.fullmatch(named, done.err)


def test_leftover_that_ignores_sigterm_is_killed_before_nacre_exits(nacre: Nacre, life: Lifeline) -> None:
    nacre("run", f"{life.hold} (trap '' TERM; while :; do sleep 60; done) & {life.hold} echo done")
    assert life.over


def test_json_result_lists_killed_leftovers(nacre: Nacre, life: Lifeline) -> None:
    done = nacre("run", "--json", f"{life.hold} sleep 60 & echo done")
    assert life.over
    result = json.loads(done.out)
    assert result["running"] == []
    (process,) = result["killed_leftovers"]
    assert process["command"] == "sleep 60"
    assert result["notes"] == [f"1 process left running and killed: {process['pid']} (sleep 60)."]
    assert done.err == b""


@pytest.mark.req("P-001")
def test_job_waited_for_by_the_shell_is_not_a_leftover(nacre: Nacre) -> None:
    assert nacre("run", "(echo inside) & wait; echo after") == Done(0, b"inside\nafter\n")
