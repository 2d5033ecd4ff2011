"""The logs of tasks as resources: `nacre://tasks/ID/log`, masked, and of a long one its beginning and its end."""

from __future__ import annotations

import re

from mcp import MCPError
from mcp_types import INVALID_PARAMS, Resource, ResourceTemplate, TextResourceContents

from nacre.adapters.mcp.extension import result_from
from nacre.adapters.mcp.told import sayable
from nacre.environment import host_environment
from nacre.errors import NacreError
from nacre.hidden import Hidden, remembered
from nacre.output.decode import clean
from nacre.tasks import Tasks

TEMPLATE = "nacre://tasks/{id}/log"
_URI = re.compile(r"nacre://tasks/([^/?#]+)/log")
_KIND = "text/plain"
_MOST = 1024 * 1024
"""Bytes of a log that are given."""
_LISTED = 100
_TITLE = 80


def templates() -> list[ResourceTemplate]:
    about = "What a background task has printed, by the id of the task."
    return [ResourceTemplate(name="task log", uri_template=TEMPLATE, description=about, mime_type=_KIND)]


def logs(tasks: Tasks, hidden: Hidden) -> list[Resource]:
    """Those of the latest tasks, the newest first."""
    found = [task for task in tasks.list() if task.outcome is not None]
    return [
        Resource(
            uri=TEMPLATE.format(id=task.id),
            name=f"{task.id} log",
            title=sayable(_short(hidden.mask(task.command))),
            description=sayable(hidden.mask(f"{task.summary}. {task.description}".strip())),
            mime_type=_KIND,
            size=task.bytes,
        )
        for task in reversed(found[-_LISTED:])
    ]


def log(uri: str, tasks: Tasks, hidden: Hidden) -> TextResourceContents:
    found = _URI.fullmatch(uri)
    if found is None:
        raise MCPError(code=INVALID_PARAMS, message=f"There is no resource {uri!r:.200}. Logs are {TEMPLATE}.")
    try:
        both = result_from(tasks.get(found[1]), tasks, _MOST).both
    except NacreError as error:
        raise MCPError(code=INVALID_PARAMS, message=str(error)) from error
    return TextResourceContents(uri=uri, mime_type=_KIND, text=clean(both.masked(hidden)))


def hidden_in_logs() -> Hidden:
    return Hidden(remembered(), host_environment())


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TITLE else text[: _TITLE - 1] + "…"
