"""Arguments of `bash` (T-01), and the answers to invalid ones (T-02)."""

from __future__ import annotations

import asyncio
import inspect
import os
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from nacre import Bash, InvalidRequest, ToolContext
from nacre.compat import tunacode as tuna
from nacre.compat.tunacode import ModelRetry, bash, make_bash
from nacre.profiles import profile_named
from nacre.profiles.tunacode import TUNACODE, tunacode
from tests.support.hosts import run_host


@pytest.mark.req("T-01")
def test_bash_function_has_the_signature_of_the_document() -> None:
    parameters = inspect.signature(bash).parameters.values()
    assert [(each.name, each.default) for each in parameters] == [
        ("command", inspect.Parameter.empty),
        ("cwd", None),
        ("env", None),
        ("timeout", 30),
        ("capture_output", True),
    ]
    assert get_type_hints(bash) == {
        "command": str,
        "cwd": str | None,
        "env": dict[str, str] | None,
        "timeout": int | None,
        "capture_output": bool,
        "return": str,
    }
    assert inspect.iscoroutinefunction(bash)


@pytest.mark.req("T-01")
def test_tool_is_named_bash_and_is_an_execute_tool() -> None:
    assert {TUNACODE.tool.name, bash.__name__, str(tuna.ToolName.BASH)} == {"bash"}  # type: ignore[attr-defined]
    assert tuna.ToolName.BASH in tuna.EXECUTE_TOOLS
    assert tuna.ToolName.BASH not in tuna.READ_ONLY_TOOLS
    assert profile_named("tunacode") is TUNACODE


@pytest.mark.req("T-01")
def test_tunacode_schema_has_the_parameters_and_ranges() -> None:
    schema = Bash("tunacode").definition(dialect="json")
    assert list(schema["properties"]) == ["command", "cwd", "env", "timeout", "capture_output"]
    assert schema["required"] == ["command"]
    timeout = schema["properties"]["timeout"]
    assert {key: timeout[key] for key in ("type", "minimum", "maximum", "default")} == {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": 300,
        "default": 30,
    }
    assert schema["properties"]["capture_output"]["default"] is True


@pytest.mark.req("T-01")
async def test_command_runs_in_the_current_directory_by_default(tmp_path: Path) -> None:
    place = tmp_path.resolve()
    assert f"STDOUT:\n{os.getcwd()}\n" in await bash("pwd")
    assert f"STDOUT:\n{place}\n" in await bash("pwd", cwd=str(place))
    assert f"Working Directory: {place}\n" in await bash("pwd", str(place))
    assert f"STDOUT:\n{place}\n" in await make_bash(ctx=ToolContext(working_dir=place))("pwd")


@pytest.mark.req("T-01")
async def test_env_argument_is_merged_over_the_inherited_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNA_KEPT", "inherited")
    monkeypatch.setenv("TUNA_CHANGED", "inherited")
    text = await bash("echo $TUNA_KEPT $TUNA_CHANGED $TUNA_NEW", env={"TUNA_CHANGED": "given", "TUNA_NEW": "new"})
    assert "STDOUT:\ninherited given new\n" in text


@pytest.mark.req("T-01")
async def test_secret_variable_is_passed_on_only_when_the_caller_sets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TUNA_API_KEY", "sk-host-4f7a9c2e81d05b36")
    assert "STDOUT:\nunset\n" in await bash("printenv TUNA_API_KEY || echo unset")
    given = await bash("printenv TUNA_API_KEY", env={"TUNA_API_KEY": "sk-given-91c2e81d05b36aa"})
    assert "STDOUT:\nsk-given-91c2e81d05b36aa\n" in given


@pytest.mark.req("T-01")
@pytest.mark.parametrize("timeout", [1, 30, 299, 300, None])
async def test_timeout_from_1_to_300_or_none_is_accepted(timeout: int | None) -> None:
    text = await bash("echo done", timeout=timeout)
    assert isinstance(text, tuna.BashText)
    assert (text.data.stdout, text.data.timeout) == ("done", timeout)


@pytest.mark.req("T-01")
async def test_number_and_flag_arguments_may_be_strings() -> None:
    text = await bash("echo done", timeout="30", capture_output="true")  # type: ignore[arg-type]
    assert isinstance(text, tuna.BashText)
    assert text.data.timeout == 30


@pytest.mark.req("T-01")
def test_profile_has_a_default_timeout_of_30_s_and_no_maximum() -> None:
    assert (TUNACODE.timeout, TUNACODE.max_timeout) == (30.0, float("inf"))


@pytest.mark.req("T-02")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param({"command": ""}, "The command is empty. Give a shell command.", id="empty"),
        pytest.param({"command": " \n\t"}, "The command is empty. Give a shell command.", id="blank"),
        pytest.param({"command": "a\0b"}, "`command` contains a NUL byte", id="nul"),
        pytest.param({"command": 5}, "`command` is 5. Pass a string.", id="no-text"),
        pytest.param({"timeout": 0}, "`timeout` is 0. Give an integer from 1 to 300, or null", id="zero"),
        pytest.param({"timeout": 301}, "`timeout` is 301. Give an integer from 1 to 300, or null", id="301"),
        pytest.param({"timeout": -1}, "`timeout` is -1. Give an integer from 1 to 300", id="negative"),
        pytest.param({"timeout": 1.5}, "`timeout` is 1.5. Give an integer.", id="half"),
        pytest.param({"timeout": True}, "`timeout` is true. Give an integer.", id="true"),
        pytest.param({"timeout": "soon"}, '`timeout` is "soon". Give an integer.', id="word"),
        pytest.param({"timeout": 10**400}, "Give an integer.", id="huge"),
        pytest.param({"cwd": "/no/such/place"}, "'/no/such/place' does not exist. Give a directory", id="missing"),
        pytest.param({"cwd": "/dev/null"}, "'/dev/null' is not a directory. Give a directory", id="file"),
        pytest.param({"cwd": 7}, "`cwd` is 7. Pass a string.", id="cwd-number"),
        pytest.param({"env": {"A": 1}}, "`env.A` is 1. Pass strings only.", id="env-number"),
        pytest.param({"env": {1: "a"}}, '`env.1` is "a". Pass strings only.', id="env-name"),
        pytest.param({"env": {"A": None}}, "`env.A` is null. Pass strings only.", id="env-null"),
        pytest.param(
            {"env": {"A=B": "c"}}, "'A=B' is not a valid variable name. Use a name without '='.", id="env-equals"
        ),
        pytest.param({"env": ["A=1"]}, "Pass an object of strings", id="env-list"),
        pytest.param({"capture_output": "perhaps"}, "Use true or false.", id="capture"),
    ],
)
async def test_invalid_arguments_raise_model_retry_with_a_fix(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelRetry) as caught:
        await bash(**{"command": "echo ran", **arguments})
    assert said in caught.value.message
    assert str(caught.value) == caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.req("T-02")
async def test_disallowed_cwd_raises_model_retry_with_the_allowed_paths(tmp_path: Path) -> None:
    confined = make_bash(ctx=ToolContext(working_dir=tmp_path, allowed_paths=(tmp_path,)))
    with pytest.raises(ModelRetry, match=f"outside the allowed paths. Allowed: {tmp_path}"):
        await confined("pwd", cwd="/")


@pytest.mark.req("T-02")
async def test_invalid_host_setting_is_not_a_model_retry() -> None:
    broken = make_bash(ctx=ToolContext(output_dir="/dev/null"))
    with pytest.raises(InvalidRequest, match="output_dir"):
        await broken("pwd")


@pytest.mark.req("T-02")
async def test_tool_call_answers_with_the_same_error_messages() -> None:
    answer = await Bash("tunacode").call('{"command": "ls", "timeout": 301}')
    assert answer.error == "bad_timeout"
    assert answer.text == "Invalid argument. `timeout` is 301. Give an integer from 1 to 300, or null for no limit."
    assert (await Bash("tunacode").call({"command": "ls", "tiemout": 3})).text == (
        "Invalid argument. Unknown argument: 'tiemout'. Did you mean `timeout`?"
    )


@pytest.mark.req("T-02")
def test_model_retry_is_the_class_of_pydantic_ai_if_installed(tmp_path: Path) -> None:
    package = tmp_path / "pydantic_ai"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "exceptions.py").write_text("class ModelRetry(Exception):\n    pass\n")
    program = """
        import asyncio, sys
        import nacre.compat.tunacode as tuna
        print("pydantic_ai" in sys.modules)
        try:
            asyncio.run(tuna.bash(""))
        except Exception as error:
            print(type(error).__module__)
        from pydantic_ai.exceptions import ModelRetry
        print(tuna.ModelRetry is ModelRetry)
    """
    assert run_host(program, env={"PYTHONPATH": str(tmp_path)}) == "False\npydantic_ai.exceptions\nTrue\n"


@pytest.mark.req("T-02")
def test_model_retry_has_a_stand_in_without_pydantic_ai(tmp_path: Path) -> None:
    package = tmp_path / "pydantic_ai"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('it is not here')\n")
    program = """
        import copy, pickle
        from nacre.compat.tunacode import ModelRetry
        one = ModelRetry("try again")
        print(ModelRetry.__module__, ModelRetry.__qualname__, one.message, one.args)
        print(one == ModelRetry("try again"), one != ModelRetry("no"), hash(one) == hash(ModelRetry("try again")))
        print(pickle.loads(pickle.dumps(one)) == one, copy.copy(one) == one)
    """
    assert run_host(program, env={"PYTHONPATH": str(tmp_path)}) == (
        "nacre.compat.tunacode ModelRetry try again ('try again',)\nTrue True True\nTrue True\n"
    )


@pytest.mark.req("T-01")
def test_importing_tunacode_loads_no_heavy_module() -> None:
    program = """
        import sys
        import nacre.compat.tunacode
        heavy = {"asyncio", "rich", "pydantic_ai", "subprocess", "nacre.bash", "nacre.profiles"}
        print(sorted(heavy & set(sys.modules)))
    """
    assert run_host(program) == "[]\n"


@pytest.mark.req("T-01")
def test_importing_profiles_does_not_load_tunacode() -> None:
    program = """
        import sys
        import nacre.profiles
        print("nacre.profiles.tunacode" in sys.modules)
    """
    assert run_host(program) == "False\n"


@pytest.mark.req("T-01")
async def test_bash_function_serves_concurrent_calls() -> None:
    texts = await asyncio.gather(*(bash(f"echo {number}") for number in range(8)))
    assert [f"STDOUT:\n{number}\n" in text for number, text in enumerate(texts)] == [True] * 8


@pytest.mark.req("T-01", "T-04")
def test_tunacode_description_names_refusals_and_stays_short() -> None:
    strict, open_ = tunacode(), tunacode(strict_characters=False)
    assert "backquotes are refused" in strict.tool.description
    assert "backquotes" not in open_.tool.description
    assert len(strict.tool.description) < 800
    assert bash.__doc__ is not None
    assert "`${VAR}`" in bash.__doc__
    assert "backquotes" not in str(make_bash(strict_characters=False).__doc__)


def test_unknown_module_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tuna.nonsense  # noqa: B018


def test_every_name_in_all_exists() -> None:
    assert [name for name in tuna.__all__ if not hasattr(tuna, name)] == []
