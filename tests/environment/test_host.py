from __future__ import annotations

import os

import pytest

from nacre.environment.host import host_environment


def test_host_environment_equals_os_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_TEST", os.fsdecode(b"Z\xfcrich"))
    assert host_environment() == dict(os.environ)


def test_host_environment_follows_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_TEST", "1")
    assert host_environment()["NACRE_TEST"] == "1"
    monkeypatch.setenv("NACRE_TEST", "2")
    assert host_environment()["NACRE_TEST"] == "2"
    monkeypatch.delenv("NACRE_TEST")
    assert "NACRE_TEST" not in host_environment()


def test_changing_the_returned_environment_changes_nothing_else() -> None:
    host_environment()["NACRE_TEST"] = "mine"
    assert "NACRE_TEST" not in host_environment()
    assert "NACRE_TEST" not in os.environ


def test_os_environ_may_be_replaced_by_a_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"A": "1"})
    assert host_environment() == {"A": "1"}
