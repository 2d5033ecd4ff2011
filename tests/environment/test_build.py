from __future__ import annotations

import os
import subprocess
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.environment.build import DEFAULT_PATH, Environment, build_env
from nacre.environment.noninteractive import INTERACTIVE, NONINTERACTIVE
from nacre.environment.secret_names import looks_secret
from nacre.environment.unsafe_variables import is_unsafe
from tests.support.waiting import HANG_TIMEOUT_S

TOKEN = "ghp_" + "a1B2c3D4e5" * 4

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
interesting = st.sampled_from(
    [
        *sorted(NONINTERACTIVE),
        *sorted(INTERACTIVE),
        "PATH",
        "HOME",
        "GH_TOKEN",
        "PWD",
        "BASH_ENV",
        "DISPLAY",
        "GIT_CONFIG_VALUE_0",
    ]
)
names = interesting | st.text("ABCDEFKNOTY_%", min_size=1, max_size=12)
values = text | st.sampled_from([TOKEN, "1", "http://u:p@h/"])
environments = st.dictionaries(names, values, max_size=12)
globs = st.lists(names | st.sampled_from(["*", "GIT_*", "*TOKEN", "?", "[A-K]*"]), max_size=3)


def test_inherited_variables_get_noninteractive_values_on_top() -> None:
    inherited = {"HOME": "/home/u", "PATH": "/bin", "TERM": "xterm", "EDITOR": "vim", "X": "1"}
    assert build_env(inherited, env={}) == Environment(
        {"HOME": "/home/u", "PATH": "/bin", "X": "1", **NONINTERACTIVE}, ()
    )


@pytest.mark.req("M-11")
def test_secrets_are_removed_and_named() -> None:
    inherited = {"GH_TOKEN": "x" * 20, "INNOCENT": TOKEN, "PATH": "/bin"}
    built = build_env(inherited, env={})
    assert built == Environment({"PATH": "/bin", **NONINTERACTIVE}, ("GH_TOKEN", "INNOCENT"))


@pytest.mark.req("M-11")
def test_secret_value_inside_another_variable_is_removed() -> None:
    value = "q7Rz0mXw4LkT9vBn2HsYc8Pd"
    inherited = {"RC": f"registry={value}", "SERVICE_TOKEN": value, "PATH": f"/opt/{value}"}
    assert build_env(inherited, env={}).removed == ("RC", "SERVICE_TOKEN")


def test_path_to_a_secret_does_not_remove_other_paths() -> None:
    inherited = {"SECRETS_DIR": "/home/user1/project1", "PYTHONPATH": "/home/user1/project1/lib"}
    assert build_env(inherited, env={}).removed == ("SECRETS_DIR",)


def test_pass_env_accepts_names_and_globs() -> None:
    inherited = {"GH_TOKEN": TOKEN, "AWS_ACCESS_KEY_ID": "x" * 20, "AWS_SESSION_TOKEN": "y" * 20, "SSH_AUTH_SOCK": "/s"}
    built = build_env(inherited, env={}, pass_env=("GH_TOKEN", "AWS_*"))
    assert built.removed == ("SSH_AUTH_SOCK",)
    assert built.values == {
        **{name: inherited[name] for name in inherited if name != "SSH_AUTH_SOCK"},
        **NONINTERACTIVE,
    }


def test_pass_env_glob_is_case_sensitive_and_matches_whole_names() -> None:
    inherited = {"GH_TOKEN": TOKEN, "gh_token": TOKEN, "MY_GH_TOKEN": TOKEN, "GH_TOKEN_2": TOKEN}
    assert build_env(inherited, env={}, pass_env=("GH_TOKE?",)).removed == ("GH_TOKEN_2", "MY_GH_TOKEN", "gh_token")


def test_full_name_in_pass_env_overrides_noninteractive_values() -> None:
    inherited = {"EDITOR": "vim", "FORCE_COLOR": "1"}
    assert build_env(inherited, env={}, pass_env=("*",)) == Environment(dict(NONINTERACTIVE), ("FORCE_COLOR",))
    named = build_env(inherited, env={}, pass_env=("EDITOR", "FORCE_COLOR", "NOT_THERE"))
    assert named == Environment({**NONINTERACTIVE, "EDITOR": "vim", "FORCE_COLOR": "1"}, ())


@pytest.mark.req("M-11")
def test_callers_secrets_are_removed_despite_pass_env() -> None:
    inherited = {"NOTE": "my hunter2!", "EDITOR": "vim hunter2", "PATH": "/home/hunter2/bin", "OTHER": "hunter"}
    built = build_env(inherited, env={}, pass_env=("*", "NOTE", "EDITOR"), secrets=("hunter2", ""))
    assert built == Environment({"OTHER": "hunter", **NONINTERACTIVE}, ("NOTE", "PATH"))


def test_callers_own_variables_are_never_filtered() -> None:
    env = {"GH_TOKEN": TOKEN, "BASH_ENV": "/x", "EDITOR": "vim", "FORCE_COLOR": "1", "NOTE": "hunter2"}
    built = build_env({"GH_TOKEN": "old" * 10, "DISPLAY": ":0"}, env=env, secrets=("hunter2",))
    assert built == Environment({**NONINTERACTIVE, **env}, ("DISPLAY",))


def test_cleared_environment_is_noninteractive_and_has_a_path() -> None:
    built = build_env({"HOME": "/h", "PATH": "/mine", "X": "1"}, env={"Y": "2"}, clear_env=True, pass_env=("*", "X"))
    assert built == Environment({"PATH": DEFAULT_PATH, **NONINTERACTIVE, "Y": "2"}, ("HOME", "X"))
    assert build_env({}, env={"PATH": "/only"}, clear_env=True).values["PATH"] == "/only"


def test_variables_that_force_colour_are_not_inherited() -> None:
    built = build_env({"FORCE_COLOR": "3", "CLICOLOR_FORCE": "1", "NO_COLOR": "yes"}, env={})
    assert built == Environment(dict(NONINTERACTIVE), ("CLICOLOR_FORCE", "FORCE_COLOR"))


def test_git_config_variables_are_renumbered_after_removing_a_secret(tmp_path: os.PathLike[str]) -> None:
    inherited = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GIT_CONFIG_COUNT": "3",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Ada",
        "GIT_CONFIG_KEY_1": "http.extraheader",
        "GIT_CONFIG_VALUE_1": "AUTHORIZATION: basic eDp5eno=",
        "GIT_CONFIG_KEY_2": "user.email",
        "GIT_CONFIG_VALUE_2": "ada@example.org",
    }
    built = build_env(inherited, env={})
    assert built.removed == ("GIT_CONFIG_KEY_2", "GIT_CONFIG_VALUE_2")  # two settings are left, renumbered
    said = subprocess.run(
        ["git", "config", "--list"],
        env=built.values,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT_S,
        check=True,
    )
    assert said.stdout.splitlines()[-2:] == ["user.name=Ada", "user.email=ada@example.org"]


@pytest.mark.parametrize("count", ["", "x", "-1", "99999999", "²"])
def test_invalid_git_config_count_is_left_unchanged(count: str) -> None:
    assert build_env({"GIT_CONFIG_COUNT": count}, env={}).values == {"GIT_CONFIG_COUNT": count, **NONINTERACTIVE}


def test_values_that_are_not_utf8_reach_bash_unchanged() -> None:
    odd = os.fsdecode(b"Z\xfcrich \xff\xfe")
    env = build_env({"PATH": os.environ["PATH"], "CITY": odd}, env={"OTHER": odd}).values
    said = subprocess.run(
        ["bash", "-c", 'printf %s "$CITY$OTHER"'], env=env, capture_output=True, timeout=HANG_TIMEOUT_S, check=True
    )
    assert said.stdout == b"Z\xfcrich \xff\xfe" * 2


def test_each_result_is_independent_of_later_changes() -> None:
    inherited = {"A": "1"}
    first = build_env(inherited, env={})
    first.values["A"] = "changed"
    inherited["B"] = "2"
    assert build_env({"A": "1"}, env={}).values == {"A": "1", **NONINTERACTIVE}
    assert build_env(inherited, env={}).values == {"A": "1", "B": "2", **NONINTERACTIVE}


def test_any_mapping_can_be_inherited() -> None:
    class Lazy(dict[str, str]):
        pass

    assert build_env(Lazy(A="1"), env={}) == build_env({"A": "1"}, env={})
    assert set(build_env(os.environ, env={}).values) >= set(NONINTERACTIVE)


def test_threads_with_different_environments_do_not_mix_results() -> None:
    wrong: list[object] = []

    def build(own: dict[str, str]) -> None:
        answers = (build_env(own, env={}).values for _ in range(500))
        wrong.extend(answer for answer in answers if answer != {**own, **NONINTERACTIVE})

    threads = [Thread(target=build, args=({f"V{n}": str(n)},)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_TIMEOUT_S)
    assert wrong == []


@given(environments, environments, globs, st.lists(text, max_size=2), st.booleans())
def test_callers_env_always_arrives_unchanged(
    inherited: dict[str, str], env: dict[str, str], pass_env: list[str], secrets: list[str], clear: bool
) -> None:
    built = build_env(inherited, env=env, clear_env=clear, pass_env=pass_env, secrets=secrets)
    assert {name: built.values[name] for name in env} == env


@pytest.mark.req("M-11")
@given(environments, globs, st.lists(text.filter(bool), min_size=1, max_size=3), st.data())
def test_no_inherited_value_that_contains_a_callers_secret_survives(
    inherited: dict[str, str], pass_env: list[str], secrets: list[str], data: st.DataObject
) -> None:
    name = data.draw(names)
    inherited[name] = data.draw(text) + data.draw(st.sampled_from(secrets)) + data.draw(text)
    built = build_env(inherited, env={}, pass_env=pass_env, secrets=secrets)
    ours = {*NONINTERACTIVE.values(), built.values.get("GIT_CONFIG_COUNT")}
    assert [v for v in built.values.values() if v not in ours and any(secret in v for secret in secrets)] == []
    assert built.values.get(name) != inherited[name] or inherited[name] in ours


@given(environments, environments, globs, st.booleans())
def test_removed_lists_exactly_the_inherited_variables_that_are_gone(
    inherited: dict[str, str], env: dict[str, str], pass_env: list[str], clear: bool
) -> None:
    built = build_env(inherited, env=env, clear_env=clear, pass_env=pass_env)
    assert built.removed == tuple(sorted(set(inherited) - set(built.values)))


@given(environments)
def test_no_secret_or_unsafe_variable_is_inherited(inherited: dict[str, str]) -> None:
    built = build_env(inherited, env={}).values
    left = {name: value for name, value in built.items() if name not in NONINTERACTIVE}
    assert [
        name for name, value in left.items() if looks_secret(name, value) or is_unsafe(name) or name in INTERACTIVE
    ] == []


@given(environments, globs, st.lists(text, max_size=2))
def test_build_env_is_deterministic_and_leaves_its_input_unchanged(
    inherited: dict[str, str], pass_env: list[str], secrets: list[str]
) -> None:
    before = inherited.copy()
    first = build_env(inherited, env={}, pass_env=pass_env, secrets=secrets)
    build_env({"ANOTHER": "question"}, env={})
    assert build_env(inherited, env={}, pass_env=pass_env, secrets=secrets) == first
    assert inherited == before
