"""Whether a cluster's head answers, and how that is reported. Runs without Ray."""

from __future__ import annotations

import os
import threading

import pytest

from nacre.engines.ray.cluster import head
from nacre.engines.ray.cluster.head import Head, HeadNotResponding, survive_head_exit
from nacre.engines.ray.placement.background_jobs import BackgroundJobs
from tests.support.waiting import HANG_TIMEOUT_S

_SETTING = "RAY_gcs_rpc_server_reconnect_timeout_s"
REFUSED = OSError(111, "Connection refused")


def head_with_answers(*answers: OSError | None) -> Head:
    knocks = iter(answers)

    def knock(address: str) -> None:
        if (answer := next(knocks)) is not None:
            raise answer

    return Head("10.0.0.7:6379", knock)


def test_short_outage_of_the_head_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "_REPLY_VALID_S", 0.0)
    known = head_with_answers(None, REFUSED, None)
    for _ in range(3):
        known.check()


def test_silent_head_raises_head_not_responding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "_REPLY_VALID_S", 0.0)
    monkeypatch.setattr(head, "_RESTART_TIMEOUT_S", 0.0)
    with pytest.raises(
        HeadNotResponding, match=r"\(10.0.0.7:6379\) has not answered for 0 seconds: Connection refused"
    ):
        head_with_answers(REFUSED).check()


def test_answer_of_the_head_is_cached_briefly() -> None:
    known = head_with_answers(None)
    assert [known.answers for _ in range(3)] == [True] * 3


class NoRay:
    class _raylet:
        class Config:
            @staticmethod
            def initialize(given: str) -> None:
                assert (given, os.environ[_SETTING]) == ("", str(365 * 24 * 3600))


def test_head_reconnect_timeout_is_set_only_while_ray_connects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(_SETTING, raising=False)
    with survive_head_exit(NoRay):
        assert _SETTING in os.environ
    assert _SETTING not in os.environ
    monkeypatch.setenv(_SETTING, "7")
    with survive_head_exit(NoRay):
        assert os.environ[_SETTING] == "7"
    assert os.environ[_SETTING] == "7"


def test_thousand_background_jobs_run_in_order_on_one_thread() -> None:
    errands, go, ran, threads = BackgroundJobs("errands"), threading.Event(), list[int](), set[int]()

    def run(n: int) -> None:
        go.wait(HANG_TIMEOUT_S)
        threads.add(threading.get_ident())
        ran.append(n)
        if n == 500:
            raise OSError("no connection")

    for n in range(1000):
        errands.add(lambda n=n: run(n))  # type: ignore[misc]
    assert not errands.wait_until_done(0.0)
    go.set()
    assert errands.wait_until_done(HANG_TIMEOUT_S)
    assert (ran, len(threads)) == (list(range(1000)), 1)
    errands.add(lambda: run(1000))
    assert errands.wait_until_done(HANG_TIMEOUT_S)
    assert ran[-1] == 1000
