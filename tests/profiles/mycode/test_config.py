"""The configuration: overrides on top of the proposal's defaults."""

from __future__ import annotations

from typing import Any

import pytest

from nacre import InvalidRequest, check
from nacre.compat.mycode import BashExecutor
from nacre.profiles import profile_named
from nacre.profiles.answer_format import Fields
from nacre.profiles.mycode import DEFAULT_CONFIG, MYCODE, mycode
from nacre.toolcall.parse import parse_request
from nacre.types import MIB, Request


@pytest.mark.req("M-03")
def test_default_configuration_matches_the_proposal() -> None:
    assert DEFAULT_CONFIG == {
        "defaultTimeout": 120_000,
        "maxTimeout": 600_000,
        "maxOutputSize": 30_000,
        "blockedCommands": ("rm -rf /", "mkfs", "dd if=/dev/zero", ":(){:|:&};:"),
        "requireDescription": False,
        "sandboxMode": False,
    }
    assert (MYCODE.timeout, MYCODE.max_timeout, MYCODE.access, MYCODE.view) == (120, 600, "unrestricted", Fields())
    assert profile_named("mycode") is MYCODE


@pytest.mark.req("M-03")
def test_each_setting_can_be_overridden_separately() -> None:
    assert mycode(defaultTimeout=5000).timeout == 5
    assert mycode(maxTimeout=300_000).max_timeout == 300
    assert mycode(maxOutputSize=10).view == Fields(limit=10)
    assert mycode(sandboxMode=True).access == "workspace"
    assert check("echo xyz", policy=mycode(blockedCommands=["y"]).policy).refused
    executor = BashExecutor({"maxOutputSize": 10})
    assert (executor.profile.view, executor.profile.timeout) == (Fields(limit=10), 120)


@pytest.mark.req("M-03")
def test_passing_the_default_blocked_commands_keeps_the_default_policy() -> None:
    again = mycode(**DEFAULT_CONFIG)
    assert check("echo mkfs", policy=again.policy).allowed


@pytest.mark.req("M-03")
def test_output_memory_has_room_for_the_widest_characters() -> None:
    assert mycode().output == 1 * MIB
    assert mycode(maxOutputSize=1_000_000).output > 4_000_000


@pytest.mark.req("M-03")
@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("defaultTimout", "defaultTimeout"),
        ("max_timeout", "maxTimeout"),
        ("maxOutput", "maxOutputSize"),
        ("blockedCommand", "blockedCommands"),
        ("sandbox", "sandboxMode"),
    ],
)
def test_unknown_setting_error_suggests_the_nearest_name(name: str, near: str) -> None:
    config: Any = {name: 5}
    with pytest.raises(InvalidRequest, match=f"Unknown setting: '{name}'. Did you mean '{near}'?") as error:
        BashExecutor(config)
    assert (error.value.code, error.value.field) == ("unknown_setting", name)


def test_unknown_setting_without_a_near_match_lists_all_settings() -> None:
    with pytest.raises(InvalidRequest, match=r"Use: defaultTimeout, maxTimeout, maxOutputSize, blockedCommands, "):
        mycode(zzz=5)  # type: ignore[call-arg]


@pytest.mark.req("M-03")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("defaultTimeout", "5000"),
        ("defaultTimeout", 0),
        ("defaultTimeout", -1),
        ("defaultTimeout", True),
        ("defaultTimeout", None),
        ("maxTimeout", float("inf")),
        ("maxTimeout", float("nan")),
        ("maxOutputSize", 1.5),
        ("maxOutputSize", -1),
        ("maxOutputSize", True),
        ("blockedCommands", "rm -rf /"),
        ("blockedCommands", [5]),
        ("blockedCommands", [""]),
        ("blockedCommands", {"rm": "x"}),
        ("requireDescription", 1),
        ("requireDescription", "true"),
        ("sandboxMode", "docker"),
        ("sandboxMode", 1),
        ("sandboxMode", None),
    ],
    ids=repr,
)
def test_invalid_setting_value_is_an_error(name: str, value: object) -> None:
    config: Any = {name: value}
    with pytest.raises(InvalidRequest, match=f"`{name}` is ") as error:
        mycode(**config)
    assert (error.value.code, error.value.field) == ("bad_setting", name)
    assert error.value.hint


@pytest.mark.req("M-13")
def test_container_sandbox_mode_is_an_error() -> None:
    with pytest.raises(InvalidRequest, match="Containers") as error:
        BashExecutor({"sandboxMode": "container"})
    assert (error.value.code, error.value.field) == ("no_container", "engine")


@pytest.mark.req("M-03")
def test_description_can_be_required() -> None:
    profile = mycode(requireDescription=True)
    assert parse_request({"command": "ls", "description": "List"}, profile) == Request("ls", description="List")
    for missing in ({}, {"description": None}, {"description": ""}, {"description": " \n"}):
        with pytest.raises(InvalidRequest, match=r"`description` is (missing|empty)") as error:
            parse_request({"command": "ls", **missing}, profile)
        assert error.value.code == "missing_argument"


@pytest.mark.parametrize("setting", ["maxTimeout", "defaultTimeout", "maxOutputSize"])
def test_huge_setting_value_is_an_error(setting: str) -> None:
    with pytest.raises(InvalidRequest, match=f"`{setting}` is "):
        mycode(**{setting: 10**400})  # type: ignore[arg-type]
