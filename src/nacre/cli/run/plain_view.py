"""`nacre run` in a pipe, and `--plain`: the command's output as it arrives, then notices on stderr."""

from __future__ import annotations

from collections.abc import Callable

from nacre.cli.common.messages import notice, write_out
from nacre.cli.run.notices import notices_for
from nacre.cli.run.options import RunArguments
from nacre.cli.run.output import OutputWriter
from nacre.cli.run.view import print_advice
from nacre.result import Result


class PlainView(OutputWriter):
    """The output, byte for byte; a terminal gets no control sequences except colours, unless `raw`."""

    keeps_output = False
    quiet = False

    def __init__(self, options: RunArguments, on_failure: Callable[[], None], *, raw: bool) -> None:
        super().__init__(on_failure, raw=raw)
        self._options = options

    def finish(self, result: Result) -> None:
        background = self._options.request.background
        lines = notices_for(result, background=background)
        if lines:
            self.end_line()
        for line in lines:
            notice(line)
        print_advice(result, self._options)
        if result.task is not None and background:
            write_out(f"{result.task.id}\n")
