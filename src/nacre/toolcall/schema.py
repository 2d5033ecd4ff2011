"""Describe a profile's tool in the formats of model APIs and protocols. Pure."""

from __future__ import annotations

from math import isinf
from typing import Any, Literal, TypeAlias

from nacre.base.frozen import replace
from nacre.errors import InvalidRequest
from nacre.profiles.profile import Profile
from nacre.profiles.tool import Parameter, Tool

Dialect: TypeAlias = Literal["anthropic", "openai", "openai-responses", "mcp", "json"]
DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-responses", "mcp", "json")


def tool_with_times(profile: Profile) -> Tool:
    """Return the profile's tool, with the profile's times filled in where a description names them."""
    times = {"timeout": profile.timeout, "slow_timeout": profile.slow_timeout, "max_timeout": profile.max_timeout}
    words = {f"{{{name}}}": _number(value) for name, value in times.items()}
    words |= {f"{{{name} spoken}}": _format_seconds(value) for name, value in times.items()}

    def fill_in(text: str) -> str:
        for token, word in words.items():
            text = text.replace(token, word)
        return text

    tool = profile.tool
    if not any("{" in parameter.description for parameter in tool.parameters):
        return tool
    return replace(
        tool, parameters=tuple(replace(each, description=fill_in(each.description)) for each in tool.parameters)
    )


def _number(seconds: float) -> str:
    return "any" if isinf(seconds) else f"{seconds:.15g}"


def _format_seconds(seconds: float) -> str:
    if isinf(seconds):
        return "any time"
    minutes = seconds / 60
    return f"{minutes:.15g} minutes" if minutes >= 2 and minutes == int(minutes) else f"{seconds:.15g} seconds"


def definition(tool: Tool, description: str, dialect: Dialect = "anthropic") -> dict[str, Any]:
    """Return the tool definition in the format of an API; `json` is the bare schema of its input."""
    schema = input_schema(tool)
    match dialect:
        case "anthropic":
            return {"name": tool.name, "description": description, "input_schema": schema}
        case "openai":
            function = {"name": tool.name, "description": description, "parameters": schema}
            return {"type": "function", "function": function}
        case "openai-responses":
            return {"type": "function", "name": tool.name, "description": description, "parameters": schema}
        case "mcp":
            return {"name": tool.name, "description": description, "inputSchema": schema}
        case "json":
            return schema
        case _:
            raise InvalidRequest(
                "bad_dialect", f"`dialect` is {dialect!r}.", field="dialect", hint=f"Use one of {', '.join(DIALECTS)}."
            )


def input_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON schema of the tool's input."""
    return {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in tool.parameters},
        "required": [parameter.name for parameter in tool.parameters if parameter.required],
        **({"additionalProperties": False} if tool.strict else {}),
    }


def _property(parameter: Parameter) -> dict[str, Any]:
    kind = parameter.kind
    found: dict[str, Any] = {"type": "object" if kind == "strings" else kind}
    if parameter.nullable or parameter.null_is_unlimited:
        found["type"] = [found["type"], "null"]
    if kind == "strings":
        found["additionalProperties"] = {"type": "string"}
    if parameter.choices:
        found["enum"] = list(parameter.choices)
    if parameter.to == "command":
        found["minLength"] = 1
    more = {"minimum": parameter.minimum, "maximum": parameter.maximum, "default": parameter.default}
    found.update({key: value for key, value in more.items() if value is not None})
    if parameter.description:
        found["description"] = parameter.description
    return found
