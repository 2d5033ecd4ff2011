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


def test_without_files_nacre_is_as_it_comes(place: Place) -> None:
    config = place.load()
    assert config == Config()
    assert config.policy is DEFAULT
    assert config.profile.name == "default"
    assert policy_for(place.project) is DEFAULT


def test_each_place_goes_over_the_one_before(place: Place) -> None:
    assert place.load().profile.timeout == 120
    place.users("timeout = 10")
    assert place.load().profile.timeout == 10
    place.projects("[tool.nacre]\ntimeout = 20")
    assert place.load().profile.timeout == 20
    place.env["NACRE_TIMEOUT"] = "30"
    assert place.load().profile.timeout == 30
    assert place.load({"timeout": 40}).profile.timeout == 40


def test_every_value_knows_its_file_and_line(place: Place) -> None:
    file = place.users("# mine\n\ntimeout = 10\nhidden = [\n  '~/.ssh',\n]\n\n[rules]\ngit-push-force = 'ask'\n")
    place.env["NACRE_CPU"] = "90"
    assert place.load(lines=True).entries == {
        "timeout": (Entry(10.0, Origin("user", str(file), 3)),),
        "hidden": (Entry(f"{place.home}/.ssh", Origin("user", str(file), 4)),),
        "rules.git-push-force": (Entry("ask", Origin("user", str(file), 9)),),
        "cpu": (Entry(90.0, Origin("environment", "$NACRE_CPU")),),
    }


def test_lists_add_up(place: Place) -> None:
    place.users("protected = ['a']")
    place.projects("[tool.nacre]\nprotected = ['b', '~/c']")
    place.env["NACRE_PROTECTED"] = "d:e"
    found = place.load({"protected": ["f"]}).get("protected")
    assert found == ("a", f"{place.project}/b", f"{place.home}/c", "d", "e", "f")


def test_a_projects_table_is_found_from_below_and_not_beyond_its_repository(place: Place) -> None:
    place.projects("[tool.nacre]\ntimeout = 20")
    (place.project / "src" / "deep").mkdir(parents=True)
    assert place.load(below="src/deep").get("timeout") == 20
    (place.project / "src" / ".git").mkdir()
    assert place.load(below="src/deep").get("timeout") is None


def test_the_nearest_table_counts_and_the_home_directory_is_no_project(place: Place) -> None:
    place.projects("[tool.nacre]\ntimeout = 20")
    place.write(place.project / "inner" / "pyproject.toml", "[tool.nacre]\ntimeout = 5")
    place.write(place.project / "none" / "pyproject.toml", "[project]\nname = 'nacre-user'")
    assert place.load(below="inner").get("timeout") == 5
    assert place.load(below="none").get("timeout") == 20
    place.write(place.home / "pyproject.toml", "[tool.nacre]\ntimeout = 1")
    assert load(place.home, env={}) == Config()


def test_the_home_directory_is_no_project_by_any_name(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write(place.home / "pyproject.toml", "[tool.nacre]\ntimeout = 1")
    linked = place.home.parent / "linked"
    linked.symlink_to(place.home)
    for name in (f"{place.home}/", f"{place.home}/work/..", str(linked)):
        monkeypatch.setenv("HOME", name)
        assert load(place.home, env={}) == Config()


def test_a_project_is_found_from_however_deep_below(place: Place) -> None:
    place.projects("[tool.nacre]\ntimeout = 20")
    assert place.load(below="/".join("x" * 100)).get("timeout") == 20


ACCESS = ["unrestricted", "workspace", "restricted"]


@pytest.mark.parametrize("project", ACCESS)
@pytest.mark.parametrize("user", ACCESS)
def test_a_project_can_only_confine_more(place: Place, user: str, project: str) -> None:
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
def test_a_project_can_only_narrow_the_network(place: Place, user: str, project: str, expected: object) -> None:
    place.users(f"access = 'workspace'\nnetwork = {user}")
    place.projects(f"[tool.nacre]\nnetwork = {project}")
    assert place.load().get("network") == expected


def test_a_project_that_confines_a_free_user_says_how(place: Place) -> None:
    place.projects("[tool.nacre]\nnetwork = true\nwritable = ['out']\nunix_sockets = true\naccess = 'workspace'")
    ctx = place.load().context()
    assert (ctx.access, ctx.network, ctx.unix_sockets) == ("workspace", True, True)
    assert ctx.writable == (f"{place.project}/out",)


@pytest.mark.parametrize("users", ["argument", "environment", "file"])
def test_a_project_opens_nothing_in_a_confinement_that_is_the_users(place: Place, users: str) -> None:
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
def test_a_project_that_confines_a_free_user_leaves_what_the_user_said_of_it(place: Place, network: str) -> None:
    place.users(f"network = {network}")
    place.projects("[tool.nacre]\nnetwork = true\naccess = 'workspace'")
    config = place.load()
    assert config.context().network == (False if network == "false" else (443,))
    assert [note.key for note in config.notes] == ["network"]
    assert place.load({"access": "workspace"}).context().network == config.context().network


def test_a_project_lets_no_variable_through_and_chooses_no_profile(place: Place) -> None:
    place.projects(
        "[tool.nacre]\npass_env = ['AWS_SECRET']\nprofile = 'yoi'\nallow_partial = true\nclaude_settings = false"
    )
    config = place.load()
    assert config.entries == {}
    assert [note.key for note in config.notes] == ["pass_env", "profile", "allow_partial", "claude_settings"]


@pytest.mark.parametrize(("user", "project", "expected"), [("", "'1G'", 1 << 30), ("'2G'", "'1G'", 1 << 30)])
def test_a_project_can_only_lower_a_limit(place: Place, user: str, project: str, expected: int) -> None:
    place.users(f"memory = {user}" if user else "")
    place.projects(f"[tool.nacre]\nmemory = {project}")
    assert place.load().context().limits.memory == expected
    place.users("memory = '1M'")
    assert place.load().context().limits.memory == 1 << 20


@pytest.mark.parametrize("name", ["max_timeout", "output", "spill", "log"])
def test_a_project_can_only_lower_what_is_held_and_waited_for(place: Place, name: str) -> None:
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
def test_a_project_can_only_make_a_rule_stricter(place: Place, user: str, project: str, expected: str) -> None:
    place.users(f"[rules]\n{user}")
    place.projects(f"[tool.nacre.rules]\ngit-push-force = {project}\n'*' = 'allow'")
    policy = place.load().policy
    assert policy.decisions.get("git-push-force", policy.decisions.get("*", Decision.REFUSE)) == expected


def test_a_project_denies_and_asks_and_does_not_allow(place: Place) -> None:
    place.users("[permissions]\nallow = ['Bash(make:*)']")
    place.projects(
        "[tool.nacre.permissions]\nallow = ['Bash(git:*)']\nask = ['Bash(npm:*)']\ndeny = ['Bash(git push:*)']"
    )
    config = place.load()
    permissions = config.policy.permissions
    assert (permissions.allow, permissions.ask) == (("Bash(make:*)",), ("Bash(npm:*)",))
    assert permissions.deny == ("Bash(git push:*)",)
    assert [(note.key, note.why) for note in config.notes] == [("permissions.allow", "a project cannot set it")]


def test_a_project_can_only_let_less_run_unasked(place: Place) -> None:
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
def test_a_project_does_not_ask_about_what_the_user_has_refused(
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
def test_nor_does_it_by_a_rule_that_was_off(place: Place, user: str, default_decision: str, asks: bool) -> None:
    place.users(f"profile = 'yoi'\ndefault_decision = '{default_decision}'\n[rules]\n{user}")
    before = place.load()
    place.projects("[tool.nacre.rules]\ngit-push-force = 'ask'")
    config = place.load()
    assert ("rules.git-push-force" in [note.key for note in config.notes]) is not asks
    assert (config.policy == before.policy) is not asks


def test_what_the_user_asks_about_goes_before_what_is_refused(place: Place) -> None:
    place.users("default_decision = 'refuse'\n[permissions]\nask = ['Bash(npm publish:*)']")
    assert place.load().get("permissions.ask") == ("Bash(npm publish:*)",)


def test_settings_that_need_a_confinement_wait_for_one(place: Place) -> None:
    place.users("hidden = ['~/.ssh']\nnetwork = [443]\nprotected = ['.github']\nallow_partial = true")
    free, reading = place.load().context(), place.load({"access": "restricted"}).context()
    assert (free.hidden, free.network, free.protected, free.allow_partial) == ((), False, (), False)
    assert (reading.hidden, reading.network, reading.allow_partial) == ((f"{place.home}/.ssh",), False, True)
    assert place.load({"access": "workspace"}).context().network == (443,)
    assert place.load({"network": True}).context().network is True  # an explicit option: its error must be reported


def test_variables_named_as_secrets_are_kept_by_their_values(place: Place) -> None:
    place.users("secret_env = ['PIN', 'NONE']\npass_env = ['AWS_PROFILE']")
    ctx = place.load().context(env={"PIN": "4711-4711"}, working_dir="/")
    assert (ctx.secrets, ctx.pass_env, ctx.working_dir) == (("4711-4711",), ("AWS_PROFILE",), "/")


def test_a_project_does_not_take_away_what_programs_need(place: Place) -> None:
    file = place.projects("[tool.nacre]\nsecret_env = ['PATH', 'PIN', 'HOME']")
    config = place.load()
    assert config.get("secret_env") == ("PIN",)
    assert config.notes == (Note("secret_env", Origin("project", str(file)), "what every program needs is no secret"),)


def test_a_profile_brings_its_own_and_settings_go_over_it(place: Place) -> None:
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
def test_variables_stand_for_settings(place: Place, name: str, text: str, value: object) -> None:
    place.env[f"NACRE_{name}"] = text
    if isinstance(value, tuple):
        value = tuple(each.replace("HOME", str(place.home)) if isinstance(each, str) else each for each in value)
    assert place.load().get(name.lower()) == value


def test_an_empty_variable_and_one_of_somebody_else_are_none(place: Place) -> None:
    place.env |= {"NACRE_ACCESS": "", "NACRE_RUN": "x", "NACRE_PORTABLE": "1", "NACRE_OF_PEARL": "1"}
    assert place.load() == Config()


WRONG = [
    ("acess = 'restricted'", 1, "There is no setting 'acess'. Did you mean 'access'?"),
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
    ("x = '''\naccess\n'''\n", 1, "There is no setting 'x'."),
    (
        "timeout = 1\nwritable = [\n 'a',\n 3,\n]",
        2,
        '`writable` is a list, not a list of paths. Write: writable = ["~/.cache"]',
    ),
    ("[rules]\ngit-push-forc = 'ask'", 2, "There is no rule 'git-push-forc'. Did you mean 'git-push-force'?"),
    ("[rules]\n\ngit-push-force = 'deny'", 3, "`rules.git-push-force` is 'deny'. Use allow, ask, refuse."),
    ("rules = 3", 1, "`rules` is no table. Write: [rules]"),
    ("[permissions]\ndenny = []", 2, "There is no list 'denny' of permissions. Did you mean 'deny'?"),
    ("[permissions]\ndeny = ['Bash(x']", 2, "The permission rule 'Bash(x' has no closing parenthesis."),
    (
        "[permissions]\ndeny = ['git push:*']",
        2,
        "The permission rule 'git push:*' is about no tool. Write Bash(…) around the command.",
    ),
    ("[permissions]\ndeny = ['Bsh(x)']", 2, "The permission rule 'Bsh(x)' is about no command. Did you mean 'Bash'?"),
    ("[rule]\nx = 1", 1, "There is no setting 'rule'. Did you mean 'rules'?"),
]


@pytest.mark.parametrize(("text", "line", "message"), WRONG)
def test_what_cannot_be_meant_is_said_with_file_line_and_what_was_meant(
    place: Place, text: str, line: int, message: str
) -> None:
    file = place.users(text)
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value) == f"{file}:{line}: {message}"
    assert (caught.value.file, caught.value.line) == (str(file), line)


def test_a_projects_mistake_has_its_line_too(place: Place) -> None:
    file = place.projects("[tool.nacre]\ntimeout = 3\n\n[tool.nacre.permissions]\ndeny = 'Bash(x)'")
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value).startswith(f"{file}:8: `permissions.deny` is 'Bash(x)', not a list of rules.")


@pytest.mark.parametrize(("text", "line"), [("access = \n", 1), ("a = 1\nb = [1,\n", 3), ("a = 1\na = 2", 2)])
def test_what_is_no_toml_is_said_with_its_line(place: Place, text: str, line: int) -> None:
    file = place.users(text)
    with pytest.raises(InvalidConfig, match="This is no TOML") as caught:
        place.load()
    assert (caught.value.file, caught.value.line) == (str(file), line)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("NACRE_ACESS", "restricted", "There is no setting NACRE_ACESS. Did you mean $NACRE_ACCESS?"),
        ("NACRE_ACCESS", "none", "`access` is 'none'. Use unrestricted, workspace, restricted."),
        ("NACRE_MEMORY", "much", "`memory` is 'much', not a size."),
        ("NACRE_NETWORK", "some", "`network` is 'some', not true, false, 'loopback' or a list of ports."),
        ("NACRE_CLAUDE_SETTINGS", "perhaps", "`claude_settings` is 'perhaps', not true or false."),
    ],
)
def test_a_variable_that_cannot_be_meant_is_said_by_its_name(place: Place, name: str, text: str, message: str) -> None:
    place.env[name] = text
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value).startswith(f"${name}: {message}")


def test_a_file_that_cannot_be_read_is_no_file_that_is_not_there(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    os.mkfifo(place.user)
    with pytest.raises(InvalidConfig, match="It is no file"):
        place.load()
    place.user.unlink()
    place.users("#" * (1 << 20) + "##")
    with pytest.raises(InvalidConfig, match="larger than 1 MB"):
        place.load()


def test_a_link_to_nothing_is_no_file_that_is_not_there(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    place.user.symlink_to(place.home / "gone")
    with pytest.raises(InvalidConfig, match="a link to what is not there"):
        place.load()
    place.user.unlink()
    place.user.parent.rmdir()
    place.user.parent.symlink_to(place.home / "gone")
    with pytest.raises(InvalidConfig, match="a link to what is not there"):
        place.load()
    (place.home / "gone").mkdir()
    assert place.load() == Config()


def test_a_number_without_end_is_a_mistake_like_others(place: Place) -> None:
    place.env["NACRE_PROCESSES"] = "9" * 5000
    with pytest.raises(InvalidConfig, match="not a whole number"):
        place.load()
    place.users(f"processes = {'9' * 5000}")
    with pytest.raises(InvalidConfig, match="This is no TOML"):
        place.load()


def test_a_projects_table_that_has_no_end_is_no_table_that_is_not_there(place: Place) -> None:
    place.projects("[tool.nacre")
    with pytest.raises(InvalidConfig, match="This is no TOML"):
        place.load()


def test_nothing_is_looked_at_when_nothing_is_to_be(place: Place) -> None:
    place.users("nonsense")
    place.env["NACRE_ACCESS"] = "nonsense"
    assert load(place.project, env=place.env, files=False) == Config()
    assert load(place.project, files=False, arguments={"access": "restricted"}).get("access") == "restricted"


def test_every_profile_can_be_chosen() -> None:
    assert PROFILES == NAMES
