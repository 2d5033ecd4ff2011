"""Configuration: the places it is read from, and their precedence."""

from __future__ import annotations

import pytest

from nacre import Decision
from nacre.config import load, policy_for
from nacre.config.config import Config, Entry, Origin
from nacre.config.settings import PROFILES
from nacre.policy.policy import DEFAULT
from nacre.profiles import NAMES
from tests.config.settings_files import Place


def test_default_config_is_used_without_files(place: Place) -> None:
    config = place.load()
    assert config == Config()
    assert config.policy is DEFAULT
    assert config.profile.name == "default"
    assert policy_for(place.project) is DEFAULT


def test_precedence_is_user_project_environment_argument(place: Place) -> None:
    assert place.load().profile.timeout == 120
    place.users("timeout = 10")
    assert place.load().profile.timeout == 10
    place.projects("[tool.nacre]\ntimeout = 20")
    assert place.load().profile.timeout == 20
    place.env["NACRE_TIMEOUT"] = "30"
    assert place.load().profile.timeout == 30
    assert place.load({"timeout": 40}).profile.timeout == 40


def test_every_value_has_its_file_and_line(place: Place) -> None:
    file = place.users("# mine\n\ntimeout = 10\nhidden = [\n  '~/.ssh',\n]\n\n[rules]\ngit-push-force = 'ask'\n")
    place.env["NACRE_CPU"] = "90"
    assert place.load(lines=True).entries == {
        "timeout": (Entry(10.0, Origin("user", str(file), 3)),),
        "hidden": (Entry(f"{place.home}/.ssh", Origin("user", str(file), 4)),),
        "rules.git-push-force": (Entry("ask", Origin("user", str(file), 9)),),
        "cpu": (Entry(90.0, Origin("environment", "$NACRE_CPU")),),
    }


def test_lists_from_all_sources_are_concatenated(place: Place) -> None:
    place.users("protected = ['a']")
    place.projects("[tool.nacre]\nprotected = ['b', '~/c']")
    place.env["NACRE_PROTECTED"] = "d:e"
    found = place.load({"protected": ["f"]}).get("protected")
    assert found == ("a", f"{place.project}/b", f"{place.home}/c", "d", "e", "f")


def test_project_table_is_found_from_below_within_its_repository(place: Place) -> None:
    place.projects("[tool.nacre]\ntimeout = 20")
    (place.project / "src" / "deep").mkdir(parents=True)
    assert place.load(below="src/deep").get("timeout") == 20
    (place.project / "src" / ".git").mkdir()
    assert place.load(below="src/deep").get("timeout") is None


def test_nearest_table_wins_and_home_is_not_a_project(place: Place) -> None:
    place.projects("[tool.nacre]\ntimeout = 20")
    place.write(place.project / "inner" / "pyproject.toml", "[tool.nacre]\ntimeout = 5")
    place.write(place.project / "none" / "pyproject.toml", "[project]\nname = 'nacre-user'")
    assert place.load(below="inner").get("timeout") == 5
    assert place.load(below="none").get("timeout") == 20
    place.write(place.home / "pyproject.toml", "[tool.nacre]\ntimeout = 1")
    assert load(place.home, env={}) == Config()


def test_home_is_not_a_project_under_any_path(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write(place.home / "pyproject.toml", "[tool.nacre]\ntimeout = 1")
    linked = place.home.parent / "linked"
    linked.symlink_to(place.home)
    for name in (f"{place.home}/", f"{place.home}/work/..", str(linked)):
        monkeypatch.setenv("HOME", name)
        assert load(place.home, env={}) == Config()


def test_project_is_found_from_a_deeply_nested_directory(place: Place) -> None:
    place.projects("[tool.nacre]\ntimeout = 20")
    assert place.load(below="/".join("x" * 100)).get("timeout") == 20


def test_ask_rule_of_the_user_is_kept_with_a_refusing_default_decision(place: Place) -> None:
    place.users("default_decision = 'refuse'\n[permissions]\nask = ['Bash(npm publish:*)']")
    assert place.load().get("permissions.ask") == ("Bash(npm publish:*)",)


def test_sandbox_settings_apply_only_with_a_sandboxed_access_mode(place: Place) -> None:
    place.users("hidden = ['~/.ssh']\nnetwork = [443]\nprotected = ['.github']\nallow_partial = true")
    free, reading = place.load().context(), place.load({"access": "restricted"}).context()
    assert (free.hidden, free.network, free.protected, free.allow_partial) == ((), False, (), False)
    assert (reading.hidden, reading.network, reading.allow_partial) == ((f"{place.home}/.ssh",), False, True)
    assert place.load({"access": "workspace"}).context().network == (443,)
    assert place.load({"network": True}).context().network is True  # an explicit option: its error must be reported


def test_secret_env_variables_become_secrets_by_value(place: Place) -> None:
    place.users("secret_env = ['PIN', 'NONE']\npass_env = ['AWS_PROFILE']")
    ctx = place.load().context(env={"PIN": "4711-4711"}, working_dir="/")
    assert (ctx.secrets, ctx.pass_env, ctx.working_dir) == (("4711-4711",), ("AWS_PROFILE",), "/")


def test_settings_override_the_chosen_profile(place: Place) -> None:
    place.users("profile = 'phoenix'\nslow_timeout = 60\n[rules]\ngit-add-blind = 'allow'")
    profile = place.load().profile
    assert (profile.name, profile.timeout, profile.slow_timeout) == ("phoenix", 30, 60)
    assert profile.policy.decisions["git-add-blind"] is Decision.ALLOW
    assert profile.policy.decisions["git-push-force"] is Decision.REFUSE


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ACCESS", "restricted", "restricted"),
        ("TIMEOUT", "1.5", 1.5),
        ("TIMEOUT", "5m", 300),
        ("MEMORY", "2G", 2 << 30),
        ("PROCESSES", "64", 64),
        ("NETWORK", "on", True),
        ("NETWORK", "0", False),
        ("NETWORK", "loopback", "loopback"),
        ("NETWORK", "443,80", (443, 80)),
        ("UNIX_SOCKETS", "true", True),
        ("WRITABLE", "/a:~/b", ("/a", "HOME/b")),
        ("PASS_ENV", "A, B*", ("A", "B*")),
        ("DEFAULT_DECISION", "ask", "ask"),
    ],
)
def test_environment_variables_set_settings(place: Place, name: str, text: str, value: object) -> None:
    place.env[f"NACRE_{name}"] = text
    if isinstance(value, tuple):
        value = tuple(each.replace("HOME", str(place.home)) if isinstance(each, str) else each for each in value)
    assert place.load().get(name.lower()) == value


def test_empty_and_unrelated_environment_variables_are_ignored(place: Place) -> None:
    place.env |= {"NACRE_ACCESS": "", "NACRE_RUN": "x", "NACRE_PORTABLE": "1", "NACRE_OF_PEARL": "1"}
    assert place.load() == Config()


def test_files_and_environment_are_ignored_with_files_false(place: Place) -> None:
    place.users("nonsense")
    place.env["NACRE_ACCESS"] = "nonsense"
    assert load(place.project, env=place.env, files=False) == Config()
    assert load(place.project, files=False, arguments={"access": "restricted"}).get("access") == "restricted"


def test_profile_setting_accepts_every_profile() -> None:
    assert PROFILES == NAMES
