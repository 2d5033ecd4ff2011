"""Task logs as resources: `nacre://tasks/ID/log`, with secrets masked; of a long log, its start and its end."""

from __future__ import annotations

import re

from mcp import MCPError
from mcp_types import INVALID_PARAMS, Resource, ResourceTemplate, TextResourceContents
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from nacre.adapters.mcp.tools.results import json_safe
from nacre.adapters.mcp.tools.tasks_extension import result_from
from nacre.ansi.decode import clean
from nacre.errors import NacreError
from nacre.redact.redactor import Redactor
from nacre.tasks import Tasks

TEMPLATE = "nacre://tasks/{id}/log"
_URI = re.compile(r"nacre://tasks/([^/?#]+)/log")
_KIND = "text/plain"
_MAX_LOG_BYTES = 1024 * 1024
"""Maximum size of a log as a resource."""
_MAX_LISTED_TASKS = 100
_MAX_TITLE_CHARS = 80
_NOT_FOUND = -32002
"""Error code for a missing resource in revisions before 2026-07-28."""


def templates() -> list[ResourceTemplate]:
    """Return the URI template for task logs."""
    about = "Output of a background task, by task id."
    return [ResourceTemplate(name="task log", uri_template=TEMPLATE, description=about, mime_type=_KIND)]


def logs(tasks: Tasks, redactor: Redactor) -> list[Resource]:
    """Return the logs of the latest tasks, the newest first."""
    found = [task for task in tasks.list() if task.outcome is not None]
    return [
        Resource(
            uri=TEMPLATE.format(id=task.id),
            name=f"{task.id} log",
            title=json_safe(_short(redactor.mask(task.command))),
            description=json_safe(redactor.mask(f"{task.summary}. {task.description}".strip())),
            mime_type=_KIND,
            size=task.bytes,
        )
        for task in reversed(found[-_MAX_LISTED_TASKS:])
    ]


def log(uri: str, tasks: Tasks, redactor: Redactor, version: str) -> TextResourceContents:
    """Return the content of a log. Raises MCPError if there is no such task, or it cannot be read."""
    found = _URI.fullmatch(uri)
    missing = INVALID_PARAMS if version in MODERN_PROTOCOL_VERSIONS else _NOT_FOUND
    if found is None:
        raise MCPError(missing, f"Unknown resource: {uri!r:.200}. Logs are {TEMPLATE}.", {"uri": uri})
    try:
        task = tasks.get(found[1])
    except NacreError as error:
        raise MCPError(missing, str(error), {"uri": uri}) from error
    if task.outcome is None:
        raise MCPError(missing, f"Cannot read {task.id}: {task.problem}", {"uri": uri})
    both = result_from(task, tasks, _MAX_LOG_BYTES, redactor).both
    return TextResourceContents(uri=uri, mime_type=_KIND, text=clean(both.masked_text(redactor)))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TITLE_CHARS else text[: _MAX_TITLE_CHARS - 1] + "…"
