"""Secrets of a result are masked in the text that a model reads, in JSON and in errors."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from nacre import Bash, Request, Result, ToolContext
from nacre.base.frozen import replace
from nacre.redact.redactor import Redactor
from nacre.result import Captured, Exited, Refused
from nacre.views.model.text import model_text
from tests.support.plain_bash import captured_text
from tests.support.quoting import quote
from tests.views.results import result

SECRET = "hunter2-Xyz/9"


def hide_secret(what: Result) -> Result:
    return replace(what, redactor=Redactor((SECRET,)))


def test_secrets_of_a_result_are_masked_in_model_text_json_and_errors() -> None:
    everywhere = f"a {SECRET} {base64.b64encode(SECRET.encode()).decode()} hunter2-Xyz%2F9 b"
    what = hide_secret(
        result(
            Exited(1),
            everywhere,
            command=f"echo {SECRET}",
            notes=(f"It said {SECRET}.",),
            err=captured_text(f"{SECRET} failed"),
        )
    )
    text = model_text(what)
    assert text == "[nacre: exit 1]\na [secret] [secret] [secret] b\n[nacre: It said [secret].]"
    for rendering in (json.dumps(what.to_dict()), repr(what), str(pickle.dumps(what).count(b"hidden"))):
        assert "Hidden" not in rendering
    assert "hunter2" not in json.dumps(what.to_dict())
    with pytest.raises(Exception, match=re.escape("[secret] failed")):
        what.check()


def test_truncated_or_coloured_secrets_are_masked_in_json_and_errors() -> None:
    secret = "hunter2HUNTER3hunter4xyz"
    half = Captured(
        head=b"a" * 20 + secret[:9].encode(), tail=secret[9:].encode() + b"\n", total_bytes=5_000, dropped_bytes=4_956
    )
    coloured = captured_text("\x1b[31mhunter2\x1b[1mHUNTER3\x1b[0mhunter4xyz\x1b[2m ok\n")
    what = result(
        Refused("r", f"`rm -rf / {secret[:15]}…` would delete it"),
        out=half,
        both=half,
        err=coloured,
        notes=(f"1 process left running: 5 (sleep {secret[:12]}…).",),
        redactor=Redactor((secret,)),
    )
    data = what.to_dict()
    assert data["stdout"] == f"{'a' * 20}[secret]\n[4,956 bytes left out]\n[secret]\n"
    assert data["stderr"] == "\x1b[31m[secret]\x1b[2m ok\n"
    assert data["outcome"]["reason"] == "`rm -rf / [secret]…` would delete it"
    assert data["notes"] == ["1 process left running: 5 (sleep [secret]…)."]
    text = model_text(what)
    assert "hunter2" not in text
    assert "`rm -rf / [secret]…` would delete it" in text
    with pytest.raises(Exception, match=r"\[secret\]") as caught:
        replace(what, outcome=Exited(1)).check()
    assert "hunter" not in str(caught.value)


def test_result_type_hints_resolve_and_asdict_drops_the_redactor() -> None:
    assert "redactor" in typing.get_type_hints(Result)
    assert dataclasses.asdict(hide_secret(result(Exited(0))))["redactor"] is None


def test_redactor_is_not_printed_compared_or_pickled() -> None:
    hidden = hide_secret(result(Exited(0), "x"))
    plain = result(Exited(0), "x")
    assert hidden == plain
    assert hash(hidden) == hash(plain)
    assert repr(hidden) == repr(plain)
    assert pickle.loads(pickle.dumps(hidden)).redactor is None
    assert SECRET.encode() not in pickle.dumps(hidden)


def test_redactor_hides_removed_variables_and_url_passwords() -> None:
    inherited = {
        "API_TOKEN": "tok-123456",
        "DATABASE_URL": "postgres://me:s3cr3tpw@db/x",
        "PGPASSWORD": "hunter-of-users",
        "DB_PASSWORD": "changeme",
        "PGUSER": "hunter-of-users",
        "NETRC": "/home/me/.netrc",
        "DISPLAY": ":0.0000000",
    }
    hidden = Redactor(("mine-mine",), inherited, {"PGUSER": "hunter-of-users"})
    assert hidden.values() == ("mine-mine", "tok-123456", "postgres://me:s3cr3tpw@db/x", "s3cr3tpw")


async def test_run_masks_secrets_of_the_caller_and_removed_variables(
    bash: Bash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "k-0123456789")
    (tmp_path / "keys").write_text("k-0123456789 and marked-value\n")
    what = await bash.run(Request("cat keys", cwd=tmp_path), ToolContext(secrets=("marked-value",)))
    assert what.stdout == "k-0123456789 and marked-value\n"
    assert model_text(what) == "[secret] and [secret]"
    assert what.to_dict()["stdout"] == "[secret] and [secret]\n"


async def test_refused_command_masks_removed_variables(bash: Bash, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "k-0123456789")
    what = await bash.run("git push -f https://k-0123456789@example.com")
    assert isinstance(what.outcome, Refused)
    assert "k-0123456789" not in model_text(what) + json.dumps(what.to_dict())


def test_run_json_option_masks_removed_variables(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("k-0123456789\n")
    words = [sys.executable, "-m", "nacre", "run", "--json", f"cat {quote(tmp_path)}/keys"]
    env = {**os.environ, "SOME_API_KEY": "k-0123456789"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert json.loads(done.stdout)["output"] == "[secret]\n"
