"""Configuration: the precedence of its places; a project can only make things stricter."""

from __future__ import annotations

import os

import pytest

from nacre import Decision
from nacre.config import load, policy_for
from nacre.config.config import Config, Entry, Note, Origin
from nacre.config.settings import PROFILES
from nacre.errors import InvalidConfig
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


ACCESS = ["unrestricted", "workspace", "restricted"]


@pytest.mark.parametrize("project", ACCESS)
@pytest.mark.parametrize("user", ACCESS)
def test_project_can_only_make_access_stricter(place: Place, user: str, project: str) -> None:
    place.users(f"access = '{user}'")
    file = place.projects(f"[tool.nacre]\naccess = '{project}'")
    config = place.load()
    assert config.get("access") == max(user, project, key=ACCESS.index)
    loosens = ACCESS.index(project) < ACCESS.index(user)
    why = "a project can only make it stricter"
    assert config.notes == ((Note("access", Origin("project", str(file)), why),) if loosens else ())
    assert place.load({"access": "unrestricted"}).get("access") == "unrestricted"


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        ("true", "false", False),
        ("true", "[443]", (443,)),
        ("true", "'loopback'", "loopback"),
        ("[443, 80]", "[80]", (80,)),
        ("[443]", "[80]", (443,)),
        ("[443]", "true", (443,)),
        ("false", "true", False),
        ("'loopback'", "true", "loopback"),
        ("'loopback'", "false", False),
    ],
)
def test_project_can_only_narrow_the_network(place: Place, user: str, project: str, expected: object) -> None:
    place.users(f"access = 'workspace'\nnetwork = {user}")
    place.projects(f"[tool.nacre]\nnetwork = {project}")
    assert place.load().get("network") == expected


def test_project_that_sandboxes_an_unrestricted_user_sets_the_details(place: Place) -> None:
    place.projects("[tool.nacre]\nnetwork = true\nwritable = ['out']\nunix_sockets = true\naccess = 'workspace'")
    ctx = place.load().context()
    assert (ctx.access, ctx.network, ctx.unix_sockets) == ("workspace", True, True)
    assert ctx.writable == (f"{place.project}/out",)


@pytest.mark.parametrize("users", ["argument", "environment", "file"])
def test_project_does_not_loosen_a_sandbox_set_by_the_user(place: Place, users: str) -> None:
    place.projects("[tool.nacre]\nnetwork = true\nwritable = ['out']\naccess = 'workspace'")
    if users == "file":
        place.users("access = 'workspace'")
    if users == "environment":
        place.env["NACRE_ACCESS"] = "workspace"
    config = place.load({"access": "workspace"} if users == "argument" else None)
    ctx = config.context()
    assert (ctx.access, ctx.network, ctx.writable) == ("workspace", False, ())
    assert {note.key for note in config.notes} == {"network", "writable"}


@pytest.mark.parametrize("network", ["false", "[443]"])
def test_project_sandbox_keeps_the_network_setting_of_the_user(place: Place, network: str) -> None:
    place.users(f"network = {network}")
    place.projects("[tool.nacre]\nnetwork = true\naccess = 'workspace'")
    config = place.load()
    assert config.context().network == (False if network == "false" else (443,))
    assert [note.key for note in config.notes] == ["network"]
    assert place.load({"access": "workspace"}).context().network == config.context().network


def test_project_cannot_set_pass_env_profile_or_partial_access(place: Place) -> None:
    place.projects(
        "[tool.nacre]\npass_env = ['AWS_SECRET']\nprofile = 'yoi'\nallow_partial = true\nclaude_settings = false"
    )
    config = place.load()
    assert config.entries == {}
    assert [note.key for note in config.notes] == ["pass_env", "profile", "allow_partial", "claude_settings"]


@pytest.mark.parametrize(("user", "project", "expected"), [("", "'1G'", 1 << 30), ("'2G'", "'1G'", 1 << 30)])
def test_project_can_only_lower_a_limit(place: Place, user: str, project: str, expected: int) -> None:
    place.users(f"memory = {user}" if user else "")
    place.projects(f"[tool.nacre]\nmemory = {project}")
    assert place.load().context().limits.memory == expected
    place.users("memory = '1M'")
    assert place.load().context().limits.memory == 1 << 20


@pytest.mark.parametrize("name", ["max_timeout", "output", "spill", "log"])
def test_project_can_only_lower_output_limits_and_the_maximum_timeout(place: Place, name: str) -> None:
    usual = getattr(place.load().profile, name)
    place.projects(f"[tool.nacre]\n{name} = {int(usual) * 2}")
    assert getattr(place.load().profile, name) == usual
    place.projects(f"[tool.nacre]\n{name} = {int(usual) // 2}")
    assert getattr(place.load().profile, name) == int(usual) // 2
    place.users(f"{name} = {int(usual) // 4}")
    assert getattr(place.load().profile, name) == int(usual) // 4


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        ("", "'ask'", "refuse"),
        ("git-push-force = 'allow'", "'ask'", "ask"),
        ("git-push-force = 'ask'", "'allow'", "ask"),
        ("'*' = 'allow'", "'refuse'", "refuse"),
        ("'*' = 'allow'", "'allow'", "allow"),
    ],
)
def test_project_can_only_make_a_rule_stricter(place: Place, user: str, project: str, expected: str) -> None:
    place.users(f"[rules]\n{user}")
    place.projects(f"[tool.nacre.rules]\ngit-push-force = {project}\n'*' = 'allow'")
    policy = place.load().policy
    assert policy.decisions.get("git-push-force", policy.decisions.get("*", Decision.REFUSE)) == expected


def test_project_permissions_deny_and_ask_but_do_not_allow(place: Place) -> None:
    place.users("[permissions]\nallow = ['Bash(make:*)']")
    place.projects(
        "[tool.nacre.permissions]\nallow = ['Bash(git:*)']\nask = ['Bash(npm:*)']\ndeny = ['Bash(git push:*)']"
    )
    config = place.load()
    permissions = config.policy.permissions
    assert (permissions.allow, permissions.ask) == (("Bash(make:*)",), ("Bash(npm:*)",))
    assert permissions.deny == ("Bash(git push:*)",)
    assert [(note.key, note.why) for note in config.notes] == [("permissions.allow", "a project cannot set it")]


def test_project_can_only_make_the_default_decision_stricter(place: Place) -> None:
    place.projects("[tool.nacre]\ndefault_decision = 'ask'")
    assert place.load().policy.default_decision is Decision.ASK
    place.users("default_decision = 'refuse'")
    assert place.load().policy.default_decision is Decision.REFUSE


@pytest.mark.parametrize(
    ("user", "project", "asks"),
    [
        ("refuse", None, False),
        ("refuse", "refuse", False),
        ("ask", "refuse", True),
        (None, "refuse", True),
        ("ask", None, True),
    ],
)
def test_project_ask_rule_does_not_weaken_a_refusal_of_the_user(
    place: Place, user: str | None, project: str | None, asks: bool
) -> None:
    place.users("" if user is None else f"default_decision = '{user}'")
    said = "" if project is None else f"default_decision = '{project}'\n"
    place.projects(f"[tool.nacre]\n{said}[tool.nacre.permissions]\nask = ['Bash(npm publish:*)']")
    config = place.load()
    assert config.get("permissions.ask") == (("Bash(npm publish:*)",) if asks else None)
    assert ("permissions.ask" in [note.key for note in config.notes]) is not asks


@pytest.mark.parametrize("user", ["", "git-push-force = 'allow'"])
@pytest.mark.parametrize(("default_decision", "asks"), [("refuse", False), ("ask", True)])
def test_project_rule_does_not_weaken_a_refusing_default_decision(
    place: Place, user: str, default_decision: str, asks: bool
) -> None:
    place.users(f"profile = 'yoi'\ndefault_decision = '{default_decision}'\n[rules]\n{user}")
    before = place.load()
    place.projects("[tool.nacre.rules]\ngit-push-force = 'ask'")
    config = place.load()
    assert ("rules.git-push-force" in [note.key for note in config.notes]) is not asks
    assert (config.policy == before.policy) is not asks


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


def test_project_cannot_declare_path_or_home_secret(place: Place) -> None:
    file = place.projects("[tool.nacre]\nsecret_env = ['PATH', 'PIN', 'HOME']")
    config = place.load()
    assert config.get("secret_env") == ("PIN",)
    assert config.notes == (
        Note("secret_env", Origin("project", str(file)), "variables that every program needs cannot be secret"),
    )


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


WRONG = [
    ("acess = 'restricted'", 1, "Unknown setting 'acess'. Did you mean 'access'?"),
    ("timeout = 1\n\n# x\naccess = 'none'", 4, "`access` is 'none'. Use unrestricted, workspace, restricted."),
    ("access = 'restrictd'", 1, "`access` is 'restrictd'. Did you mean 'restricted'?"),
    ("\ntimeout = 'ten'", 2, "`timeout` is 'ten', not a number of seconds above 0. Write: timeout = 120"),
    ("timeout = true", 1, "`timeout` is True, not a number of seconds above 0. Write: timeout = 120"),
    ("timeout = 0", 1, "`timeout` is 0, not a number of seconds above 0. Write: timeout = 120"),
    ("memory = 'much'", 1, "`memory` is 'much', not a size. Write: memory = \"512M\""),
    ("hidden = '~/.ssh'", 1, "`hidden` is '~/.ssh', not a list of paths. Write: hidden = [\"~/.cache\"]"),
    (
        "network = [0]",
        1,
        (
            "`network` is a list, not true, false, 'loopback' or a list of ports. "
            'Write: network = true, "loopback" or [443, 80]'
        ),
    ),
    ("x = '''\naccess\n'''\n", 1, "Unknown setting 'x'."),
    (
        "timeout = 1\nwritable = [\n 'a',\n 3,\n]",
        2,
        '`writable` is a list, not a list of paths. Write: writable = ["~/.cache"]',
    ),
    ("[rules]\ngit-push-forc = 'ask'", 2, "Unknown rule 'git-push-forc'. Did you mean 'git-push-force'?"),
    ("[rules]\n\ngit-push-force = 'deny'", 3, "`rules.git-push-force` is 'deny'. Use allow, ask, refuse."),
    ("rules = 3", 1, "`rules` must be a table. Write: [rules]"),
    ("[permissions]\ndenny = []", 2, "Unknown permission list 'denny'. Did you mean 'deny'?"),
    ("[permissions]\ndeny = ['Bash(x']", 2, "The permission rule 'Bash(x' has no closing parenthesis."),
    (
        "[permissions]\ndeny = ['git push:*']",
        2,
        "The permission rule 'git push:*' names no tool. Write Bash(…) around the command.",
    ),
    ("[permissions]\ndeny = ['Bsh(x)']", 2, "The permission rule 'Bsh(x)' matches no command. Did you mean 'Bash'?"),
    ("[rule]\nx = 1", 1, "Unknown setting 'rule'. Did you mean 'rules'?"),
]


@pytest.mark.parametrize(("text", "line", "message"), WRONG)
def test_invalid_setting_is_reported_with_file_line_and_suggestion(
    place: Place, text: str, line: int, message: str
) -> None:
    file = place.users(text)
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value) == f"{file}:{line}: {message}"
    assert (caught.value.file, caught.value.line) == (str(file), line)


def test_invalid_project_setting_is_reported_with_file_and_line(place: Place) -> None:
    file = place.projects("[tool.nacre]\ntimeout = 3\n\n[tool.nacre.permissions]\ndeny = 'Bash(x)'")
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value).startswith(f"{file}:8: `permissions.deny` is 'Bash(x)', not a list of rules.")


@pytest.mark.parametrize(("text", "line"), [("access = \n", 1), ("a = 1\nb = [1,\n", 3), ("a = 1\na = 2", 2)])
def test_invalid_toml_is_reported_with_file_and_line(place: Place, text: str, line: int) -> None:
    file = place.users(text)
    with pytest.raises(InvalidConfig, match="Invalid TOML") as caught:
        place.load()
    assert (caught.value.file, caught.value.line) == (str(file), line)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("NACRE_ACESS", "restricted", "Unknown setting NACRE_ACESS. Did you mean $NACRE_ACCESS?"),
        ("NACRE_ACCESS", "none", "`access` is 'none'. Use unrestricted, workspace, restricted."),
        ("NACRE_MEMORY", "much", "`memory` is 'much', not a size."),
        ("NACRE_NETWORK", "some", "`network` is 'some', not true, false, 'loopback' or a list of ports."),
        ("NACRE_CLAUDE_SETTINGS", "perhaps", "`claude_settings` is 'perhaps', not true or false."),
    ],
)
def test_invalid_environment_variable_is_reported_by_name(place: Place, name: str, text: str, message: str) -> None:
    place.env[name] = text
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value).startswith(f"${name}: {message}")


def test_unreadable_config_file_is_an_error(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    os.mkfifo(place.user)
    with pytest.raises(InvalidConfig, match="not a regular file"):
        place.load()
    place.user.unlink()
    place.users("#" * (1 << 20) + "##")
    with pytest.raises(InvalidConfig, match="larger than 1 MB"):
        place.load()


def test_dangling_config_symlink_is_an_error(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    place.user.symlink_to(place.home / "gone")
    with pytest.raises(InvalidConfig, match="dangling symlink"):
        place.load()
    place.user.unlink()
    place.user.parent.rmdir()
    place.user.parent.symlink_to(place.home / "gone")
    with pytest.raises(InvalidConfig, match="dangling symlink"):
        place.load()
    (place.home / "gone").mkdir()
    assert place.load() == Config()


def test_number_with_thousands_of_digits_is_an_error(place: Place) -> None:
    place.env["NACRE_PROCESSES"] = "9" * 5000
    with pytest.raises(InvalidConfig, match="not an integer above 0"):
        place.load()
    place.users(f"processes = {'9' * 5000}")
    with pytest.raises(InvalidConfig, match="Invalid TOML"):
        place.load()


def test_unterminated_project_table_is_an_error(place: Place) -> None:
    place.projects("[tool.nacre")
    with pytest.raises(InvalidConfig, match="Invalid TOML"):
        place.load()


def test_files_and_environment_are_ignored_with_files_false(place: Place) -> None:
    place.users("nonsense")
    place.env["NACRE_ACCESS"] = "nonsense"
    assert load(place.project, env=place.env, files=False) == Config()
    assert load(place.project, files=False, arguments={"access": "restricted"}).get("access") == "restricted"


def test_profile_setting_accepts_every_profile() -> None:
    assert PROFILES == NAMES
