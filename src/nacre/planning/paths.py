"""Resolve the working directory and the output directories. Reads the file system, changes nothing."""

from __future__ import annotations

import os

from nacre.errors import InvalidRequest, PathNotAllowed
from nacre.planning.validate import absolute, check_path
from nacre.types import Request, StrPath, ToolContext


def resolve_cwd(request: Request, ctx: ToolContext, *, here: bool = True) -> str:
    """Return the absolute working directory of a command. InvalidRequest: it is missing, not accessible or not allowed.

    `here=False`: the directory is on another machine or in a container, so it is not looked up.
    """
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
            f"This user may not enter the working directory {path!r}.",
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
    """Return the project root.

    Nothing from a command or a model changes it: neither the working directory of a command nor that of a session.
    """
    if ctx.workspace is not None:
        return absolute(ctx.workspace, "workspace")
    return current_directory() if ctx.working_dir is None else absolute(ctx.working_dir, "working_dir")


def current_directory() -> str:
    """Return this process's working directory. InvalidRequest: it no longer exists."""
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
    """Return the absolute path of an output directory, which may not exist yet. InvalidRequest: it is a file."""
    directory = absolute(path, field)
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise InvalidRequest(
            f"bad_{field}",
            f"`{field}` is {directory!r}, which is not a directory.",
            field=field,
            hint="Give a directory, or a path where one can be created.",
        )
    return directory


def _is_allowed(path: str, ctx: ToolContext) -> bool:
    """Return whether a path is allowed. Links are followed first: a link that points outside is outside."""
    real = os.path.realpath(path)
    for allowed in ctx.allowed_paths:
        root = os.path.realpath(absolute(allowed, "allowed_paths"))
        if os.path.commonpath([root, real]) == root:
            return True
    return False
