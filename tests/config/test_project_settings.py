"""Configuration: a project can only make things stricter."""

from __future__ import annotations

import pytest

from nacre import Decision
from nacre.config.config import Note, Origin
from tests.config.settings_files import Place

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


def test_project_cannot_declare_path_or_home_secret(place: Place) -> None:
    file = place.projects("[tool.nacre]\nsecret_env = ['PATH', 'PIN', 'HOME']")
    config = place.load()
    assert config.get("secret_env") == ("PIN",)
    assert config.notes == (
        Note("secret_env", Origin("project", str(file)), "variables that every program needs cannot be secret"),
    )
