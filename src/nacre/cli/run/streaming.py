"""`nacre run --view stream`: the output as it comes, between what runs and how it ended."""

from __future__ import annotations

from collections.abc import Callable

from nacre.cli.common.messages import encoded
from nacre.cli.common.terminal import look
from nacre.cli.run.output import Output
from nacre.result import Result, Started
from nacre.views.panels.streamed import closing, opening
from nacre.views.panels.style import render


class Streaming(Output):
    def __init__(
        self,
        command: str,
        cwd: str,
        *,
        description: str,
        on_failure: Callable[[], None],
    ) -> None:
        super().__init__(on_failure)
        self._command, self._cwd, self._description = command, cwd, description
        self.begun = False

    async def begin(self, started: Started) -> None:
        self.begun = True
        shown, redactor = look(), started.redactor
        command, description = self._command, self._description
        if redactor is not None:
            command, description = redactor.mask(command), redactor.mask(description)
        lines = opening(command, self._cwd, shown, description=description)
        await self._put(1, encoded(render(lines, shown), 1))

    def closing(self, result: Result) -> str:
        shown = look()
        return ("\n" if self.line_is_open else "") + render(closing(result, shown), shown)
