"""Parse the arguments of a tool call into a request, according to the profile's tool. Pure.

`InvalidRequest` is raised if they are invalid.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from nacre.base.frozen import frozen
from nacre.errors import InvalidRequest
from nacre.profiles.profile import Profile
from nacre.profiles.tool import Parameter
from nacre.toolcall.arguments import ArgumentReader, bad_argument
from nacre.types import Mode, Request


@frozen
class ParsedCall:
    """A parsed call."""

    request: Request
    capture: bool = True
    """False: output goes to this process's own stdout and stderr, and is not in the answer."""


def parse_request(arguments: Mapping[str, Any] | str | bytes, profile: Profile) -> Request:
    """Parse the arguments, an object or the JSON that a model wrote, into a request. Raise InvalidRequest if they are
    invalid."""
    return parse_call(arguments, profile).request


def parse_call(arguments: Mapping[str, Any] | str | bytes, profile: Profile) -> ParsedCall:
    """Parse the arguments into a request and the options that do not concern the run itself."""
    tool = profile.tool
    given = ArgumentReader(_read_object(arguments), lenient=tool.lenient)
    values: dict[str, Any] = {}
    for parameter in tool.parameters:
        if parameter.required and not given.has(parameter.name):
            raise InvalidRequest(
                "missing_argument", f"`{parameter.name}` is missing.", field=parameter.name, hint="Pass it."
            )
        absent = not given.has(parameter.name) and not (parameter.null_is_unlimited and given.is_null(parameter.name))
        if absent:
            given.pop(parameter.name)  # lists it among the known names
        elif (value := _read_value(parameter, given)) is not None:
            values[parameter.to] = value
    if tool.strict:
        given.reject_unknown()
    if not values["command"].strip():
        raise InvalidRequest("empty_command", tool.empty[0], field="command", hint=tool.empty[1])
    for parameter in tool.parameters:
        value = values.get(parameter.to)
        if parameter.required and isinstance(value, str) and not value.strip():
            raise InvalidRequest(
                "missing_argument", f"`{parameter.name}` is empty.", field=parameter.name, hint="Pass some text."
            )
    return ParsedCall(_build_request(values, profile), values.get("capture", True))


def _read_object(arguments: object) -> object:
    if not isinstance(arguments, str | bytes):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(
            "bad_json", f"Invalid JSON in the arguments: {error}.", field="", hint='Pass an object: {"command": "ls"}'
        ) from error


def _read_value(parameter: Parameter, given: ArgumentReader) -> Any:
    """Return the value of an argument; None: as if it had not been given."""
    name = parameter.name
    match parameter.kind:
        case "string" if parameter.choices:
            return given.choice(name, parameter.choices, parameter.choices[0])
        case "string":
            return given.text(name)
        case "boolean":
            return given.boolean(name, default=False)
        case "strings":
            return given.string_map(name)
        case "integer" | "number":
            if parameter.null_is_unlimited and given.is_null(name):
                given.pop(name)
                return math.inf
            value = given.integer(name) if parameter.kind == "integer" else given.number(name, 0.0)
            return None if value is None else _to_seconds(parameter, value)


def _to_seconds(parameter: Parameter, value: float) -> float | None:
    """Return the value in seconds; None: use the default. Raise InvalidRequest if it is out of range."""
    low, high = parameter.minimum, parameter.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        span = f"from {low or 0:g} to {high:g}" if high is not None else f"of at least {low:g}"
        kind = "an integer" if parameter.kind == "integer" else "a number"
        unlimited = ", or null for no limit" if parameter.null_is_unlimited else ""
        raise bad_argument(parameter.name, value, f"Give {kind} {span}{unlimited}.")
    if parameter.clamped is not None:
        value = min(max(value, parameter.clamped[0]), parameter.clamped[1])
    if parameter.zero_is_default and value == 0:
        return None
    return value * parameter.unit


def _build_request(values: dict[str, Any], profile: Profile) -> Request:
    mode = cast("Mode", values.get("mode", "default"))
    if values.get("background"):
        mode = "background"
    limit: float | None = values.get("timeout")
    if mode == "background" and profile.tool.untimed_tasks:
        limit = None
    yields = None
    if profile.tool.deadline == "yield_after" and mode != "background":
        yields = limit or (profile.slow_timeout if mode == "slow" else profile.timeout)
        yields, limit = min(yields, profile.max_timeout), None
    return Request(
        values["command"],
        description=values.get("description", ""),
        mode=mode,
        timeout=limit,
        yield_after=yields,
        cwd=values.get("cwd") or None,
        env=values.get("env", {}),
    )
