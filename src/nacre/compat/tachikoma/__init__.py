"""The interface of tachikoma's bash primitive, implemented on nacre.

    ctx = PrimitiveContext("/repo", allowed_paths=["/repo", "/tmp"])
    result = await bash(ctx, "make test", BashOptions().timeout(600).env("CI", "1"))

Commands that were not run raise `PrimitiveError`; every outcome of a command is a BashResult.
"""

from nacre.compat.tachikoma.context import PrimitiveContext
from nacre.compat.tachikoma.errors import CommandFailed, Io, PathNotAllowed, PrimitiveError, Validation
from nacre.compat.tachikoma.options import BashOptions, OptionValues
from nacre.compat.tachikoma.run import BashResult, ExecutionMetadata, bash, bash_sequence, bash_success
from nacre.compat.tachikoma.validator import CommandValidator

__all__ = [
    "BashOptions",
    "BashResult",
    "CommandFailed",
    "CommandValidator",
    "ExecutionMetadata",
    "Io",
    "OptionValues",
    "PathNotAllowed",
    "PrimitiveContext",
    "PrimitiveError",
    "Validation",
    "bash",
    "bash_sequence",
    "bash_success",
]
