"""`nacre profiles`, `nacre schema`, and `nacre run --profile`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.profiles import NAMES
from tests.cli.nacre_program import Nacre


def test_profiles_table_fits_the_width_without_breaking_words(nacre: Nacre) -> None:
    for columns in ("60", "100", "250"):
        done = nacre("profiles", env={"COLUMNS": columns})
        assert (done.code, done.err) == (0, b"")
        text = done.out.decode()
        words = text.split()
        assert set(NAMES) <= set(words)
        assert {"timeout_seconds?,", "run_in_background?,"} <= set(words)
        assert max(map(len, text.splitlines())) <= int(columns)


def test_profiles_json_prints_the_chosen_profiles(nacre: Nacre) -> None:
    done = nacre("profiles", "--json", "phoenix", "default")
    phoenix, default = json.loads(done.out)["profiles"]
    assert (phoenix["name"], phoenix["default timeout"], phoenix["parameters"]) == ("phoenix", "30 s", "command, mode?")
    assert default["name"] == "default"
    assert default["when the time is up"] == "a call: keeps running as a task; a run: killed"


@pytest.mark.parametrize(
    "words", [("profiles", "tuna"), ("schema", "--profile", "tuna"), ("run", "--profile", "tuna", "true")]
)
def test_unknown_profile_is_an_error(nacre: Nacre, words: tuple[str, ...]) -> None:
    done = nacre(*words)
    assert (done.code, done.out) == (125, b"")
    assert done.err.startswith(b"nacre: Unknown profile 'tuna'. ")


def test_schema_is_json_in_the_format_of_the_chosen_api(nacre: Nacre, tmp_path: Path) -> None:
    done = nacre("schema", "--profile", "phoenix", "--for", "openai", "--cwd", str(tmp_path))
    told = json.loads(done.out)
    assert told["function"]["name"] == "bash"
    assert str(tmp_path) in told["function"]["description"]
    assert told["function"]["parameters"]["properties"]["mode"]["enum"] == ["default", "slow", "background"]
    assert nacre("schema", "--for", "gemini").code == 125


def test_schema_describes_the_configured_timeouts(nacre: Nacre) -> None:
    nacre.config.parent.mkdir(parents=True)
    nacre.config.write_text("timeout = 45\nslow_timeout = 600\nmax_timeout = 1200\n")
    told = json.loads(nacre("schema", "--for", "json").out)["properties"]
    assert told["timeout_seconds"]["description"] == "How long to wait for it, at most 1200; without it 45."
    assert told["mode"]["description"].startswith("slow: wait up to 10 minutes, ")
    plain = json.loads(nacre("schema", "--for", "json", "--no-config").out)["properties"]
    assert plain["timeout_seconds"]["description"] == "How long to wait for it, at most 3600; without it 120."
    nacre.config.write_text('profile = "phoenix"\ntimeout = 45\n')
    assert "default: up to 45 seconds. " in nacre("schema").out.decode()


@pytest.mark.linux
def test_schema_describes_the_limits_of_the_access_mode(nacre: Nacre) -> None:
    told = json.loads(nacre("schema", "--access", "restricted").out)
    assert "Commands have no network." in told["description"]


def test_run_applies_the_rules_of_its_profile(nacre: Nacre) -> None:
    assert nacre("run", "--profile", "phoenix", "git add -A").code == 126
    assert nacre("run", "--profile", "yoi", "git add -A --dry-run . > /dev/null 2>&1; exit 4").code == 4


def test_model_view_prints_the_answer_format_of_the_profile(nacre: Nacre) -> None:
    mycode = json.loads(nacre("run", "--profile", "mycode", "--view", "model", "echo hi; exit 2").out)
    assert (mycode["success"], mycode["stdout"], mycode["exit_code"]) == (False, "hi\n", 2)
    yoi = nacre("run", "--profile", "yoi", "--view", "model", "(sleep 0.05; echo late) & echo soon")
    assert yoi.out == b"$ (sleep 0.05; echo late) & echo soon\nsoon\nlate\n"


def test_model_view_saves_truncated_output_to_a_file(nacre: Nacre, tmp_path: Path) -> None:
    place = tmp_path / "kept"
    done = nacre("run", "--profile", "yoi", "--view", "model", "--output-dir", str(place), "seq 100")
    (file,) = place.iterdir()
    assert done.out.decode().splitlines()[1] == f"[showing last 80 of 100 lines — full output (292 bytes) at {file}]"
    assert file.read_text().count("\n") == 100
