"""Where a command starts and where its output goes. Looks at the file system, changes nothing."""

from __future__ import annotations

import os

from nacre.errors import InvalidRequest, PathNotAllowed
from nacre.planning.validate import absolute, check_path
from nacre.types import Request, StrPath, ToolContext


def resolve_cwd(request: Request, ctx: ToolContext, *, here: bool = True) -> str:
    """Where it would start; InvalidRequest when it may not. Not `here`: it is elsewhere, and cannot be looked at."""
    field = "working_dir" if request.cwd is None else "cwd"
    path = "" if request.cwd is None else check_path(request.cwd, "cwd")
    if not os.path.isabs(path):
        base = current_directory() if ctx.working_dir is None else absolute(ctx.working_dir, "working_dir")
        path = os.path.join(base, path) if path else base
    path = os.path.normpath(path)
    if here and not os.path.isdir(path):
        there = os.path.lexists(path)
        raise InvalidRequest(
            "cwd_not_a_directory" if there else "cwd_missing",
            f"The working directory {path!r} {'is not a directory' if there else 'does not exist'}.",
            field=field,
            hint="Give a directory that exists.",
        )
    if here and not os.access(path, os.X_OK):
        raise InvalidRequest(
            "cwd_denied",
            f"The working directory {path!r} may not be entered by this user.",
            field=field,
            hint="Give a directory you may enter.",
        )
    if ctx.allowed_paths and not _is_allowed(path, ctx):
        allowed = ", ".join(os.fspath(allowed) for allowed in ctx.allowed_paths)
        raise PathNotAllowed(
            "path_not_allowed",
            f"The working directory {path!r} is outside the allowed paths.",
            field=field,
            hint=f"Allowed: {allowed}.",
        )
    return path


def resolve_workspace(ctx: ToolContext) -> str:
    """What the caller's work is in. Nothing that a command or a model says changes it: not where it starts, nor where a
    session has come to."""
    if ctx.workspace is not None:
        return absolute(ctx.workspace, "workspace")
    return current_directory() if ctx.working_dir is None else absolute(ctx.working_dir, "working_dir")


def current_directory() -> str:
    """This process's own directory."""
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise InvalidRequest(
            "cwd_missing",
            "The current directory of this process no longer exists.",
            field="working_dir",
            hint="Give a working_dir that exists.",
        ) from error


def output_directory(path: StrPath, field: str = "output_dir") -> str:
    """It may not exist yet."""
    directory = absolute(path, field)
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise InvalidRequest(
            f"bad_{field}",
            f"`{field}` is {directory!r}, which is not a directory.",
            field=field,
            hint="Give a directory, or a path where one can be made.",
        )
    return directory


def _is_allowed(path: str, ctx: ToolContext) -> bool:
    """Links are followed first: a link inside that points outside is outside."""
    real = os.path.realpath(path)
    for allowed in ctx.allowed_paths:
        root = os.path.realpath(absolute(allowed, "allowed_paths"))
        if os.path.commonpath([root, real]) == root:
            return True
    return False
