"""`nacre run --view json` and `--view model`: print the result only, and nothing while the command runs."""

from __future__ import annotations

import os

from nacre.cli.common.messages import write_json, write_out
from nacre.cli.run import saved_output
from nacre.profiles.answer_format import AnswerFormat
from nacre.result import Chunk, Result, Started


class _ResultView:
    """View that prints nothing before the result."""

    failure: OSError | None = None
    quiet = True

    async def begin(self, started: Started) -> None:
        """Print nothing."""

    async def write(self, chunk: Chunk) -> None:
        """Print nothing: the result has the output."""

    async def end(self) -> None:
        """Print nothing."""

    def stop_waiting(self) -> None:
        """Do nothing: no write is under way."""

    def abandon(self) -> None:
        """Do nothing."""


class JsonView(_ResultView):
    """The result as one JSON object."""

    keeps_output = False

    def finish(self, result: Result) -> None:
        from nacre.views.console.short_command import shorten

        data = result.to_dict()
        write_json({**data, "display": shorten(data["command"], data["cwd"])})


class ModelView(_ResultView):
    """The text that a model would read."""

    keeps_output = True

    def __init__(self, answer_format: AnswerFormat, output_dir: str | None) -> None:
        self._format = answer_format
        self._output_dir = output_dir

    def finish(self, result: Result) -> None:
        from nacre.views.answers import answer

        text = answer(result, self._format, directory=saved_output.directory(self._output_dir)).text
        saved_output.prune()
        write_out(_escape_for_terminal(text.removesuffix("\n")) + "\n")


def _escape_for_terminal(text: str) -> str:
    """Return `text`; if stdout is a terminal, with invisible and control characters escaped."""
    if not os.isatty(1):
        return text
    from nacre.views.console.escape import escape_output

    return "\n".join(map(escape_output, text.split("\n")))
