"""Options in, exit code out: runs the command, passes its output on, minds signals, says what is left to say.

The first SIGINT, SIGTERM or SIGHUP ends the command's tree and waits for that; a second one does not wait: the keeper
does the rest when this process is gone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, cast

from nacre.approval.approve import NOBODY
from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.cancel import Cancel
from nacre.cli.common.exit_codes import CLOSED, FAILED
from nacre.cli.common.messages import put, put_json, say
from nacre.cli.run import saved_output
from nacre.cli.run.approval import approver
from nacre.cli.run.notices import words_on
from nacre.cli.run.options import Options
from nacre.cli.run.output import Output
from nacre.config.config import Config
from nacre.engines import LOCAL, Engine
from nacre.errors import NoSuchTask
from nacre.execution.outcome import exit_status
from nacre.observe import asked_for
from nacre.profiles import Profile
from nacre.result import Cancelled, Chunk, Ended, Event, Refused, Result, Started, TaskRef
from nacre.types import Leftovers, Limits, Mode, Request

if TYPE_CHECKING:
    from nacre.cli.run.live_display import Stage
    from nacre.cli.run.streaming import Streaming

logging.getLogger("nacre").addHandler(logging.NullHandler())  # what it warns of, our own messages say


def drive(options: Options, config: Config) -> int:
    cancel = Cancel()
    profile = config.profile
    view = options.view or ("panel" if os.isatty(1) and os.isatty(2) else "")
    if view == "stream" and options.background:  # nothing comes
        view = "panel"
    keeps = view in ("panel", "model")
    """What such a view does not show is kept; a file of the private directory would go when we do."""
    request = Request(
        options.command,
        description=options.description,
        mode="background" if options.background else cast("Mode", options.mode),
        timeout=options.timeout,
        yield_after=options.yield_after,
        cwd=options.cwd,
        env=dict(options.env),
        clear_env=options.clear_env,
        stdin=options.input,
        open_stdin=options.open_stdin,
        merge=options.merge,
        leftovers=_leftovers(options, profile),
    )
    ctx = config.context(
        workspace=options.cwd,
        cancel=cancel,
        strict=options.strict,
        output_dir=options.output_dir,
        spill_dir=saved_output.place() if keeps and options.output_dir is None else None,
        limits=Limits(
            spill=None if keeps or options.output_dir is not None else 0,
            memory=options.memory,
            cpu=options.cpu,
            processes=options.processes,
            file_size=options.file_size,
            open_files=options.open_files,
        ),
        login_env=options.login_env,
        approve=approver(yes=options.yes),
        caller="nacre run",
    )
    bash = Bash(profile, observers=asked_for(config.get("audit")), engine=_engine(options))
    drive = Drive(cancel, options, view, profile)
    if options.session is None:
        result = asyncio.run(drive.through(bash.stream(request, ctx)))
    else:
        from nacre.cli.run.sessions import turn
        from nacre.session import Session

        with turn(options.session, ctx.access, quiet=drive.quiet) as before:
            ctx = replace(ctx, workspace=options.cwd or before.workspace)
            session = Session(bash, ctx=ctx, cwd=before.cwd, changes=before.changes)
            result = asyncio.run(drive.through(session.stream(request)))
            before.save(session.cwd, session.changes)
    # the event loop is gone, and with it our way with signals: whoever reads us slowly can be interrupted
    drive.conclude(result)
    if bash.observers:
        from nacre.cli.info.audit import complain

        complain(bash.observers)
    return drive.code(result)


def _engine(options: Options) -> Engine:
    if options.engine is None and options.image is None:
        return LOCAL
    from nacre.engines.names import engine_named

    return engine_named(options.engine or "local", image=options.image)


def _leftovers(options: Options, profile: Profile) -> Leftovers | None:
    """nacre's end is the host's end: what a command leaves running ends, unless it belongs to a task."""
    if options.detach:
        return "detach"
    return None if options.background or options.yield_after is not None or profile.leftovers == "wait" else "end"


def _ends_with_us(task: TaskRef) -> bool:
    """What was left running before its time, and not what goes on."""
    from nacre.tasks.tasks import Tasks

    with suppress(NoSuchTask):
        return not Tasks(os.path.dirname(os.path.dirname(task.output_file))).get(task.id).detached
    return False


def _visible(text: str) -> str:
    """As it is, unless a person reads it: then nothing in it hides."""
    if not os.isatty(1):
        return text
    from nacre.views.console.escape import printed

    return "\n".join(map(printed, text.split("\n")))


class Drive:
    """One command on its way."""

    def __init__(self, cancel: Cancel, options: Options, view: str, profile: Profile) -> None:
        """`view`: `panel`, `stream`, `plain`, `json` or `model`; empty: as plain, but no terminal is commanded."""
        self._cancel = cancel
        self._options = options
        self._view = view
        self._profile = profile
        self.quiet = view in ("json", "model")
        self._output: Output | Stage | None = None
        self._started: Started | None = None
        self._signal: int | None = None
        """The one that ended it."""

    async def through(self, stream: AsyncGenerator[Event, None]) -> Result:
        """To its end."""
        output = self._output = self._made()
        self._mind_signals(output)
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    if isinstance(event, Chunk) and not self.quiet:
                        await output.write(event)
                    elif isinstance(event, Started):
                        self._started = event
                        await output.begin(event)
                    elif isinstance(event, Ended):
                        said = event.result.out.head + event.result.out.tail
                        if self._options.background and said and not self.quiet:  # it has ended already
                            await output.write(Chunk("stderr", said))
                        return event.result
        finally:
            await output.end()
        raise AssertionError("a stream ends with Ended")

    def _made(self) -> Output | Stage:
        if self._view not in ("panel", "stream"):
            return Output(on_failure=self._cancel.cancel, raw=self._view != "")
        options, stop = self._options, self._cancel.cancel
        cwd = "" if options.session else os.path.abspath(options.cwd or ".")
        if self._view == "stream":
            from nacre.cli.run.streaming import Streaming

            return Streaming(options.command, cwd, description=options.description, on_failure=stop)
        from nacre.cli.run.live_display import Stage

        return Stage(options.command, cwd, description=options.description, on_failure=stop)

    def conclude(self, result: Result) -> None:
        """Say what is left to say, in the way that was asked for."""
        options = self._options
        match self._view:
            case "json":
                from nacre.views.console.short_command import display

                data = result.to_dict()
                put_json({**data, "display": display(data["command"], data["cwd"])})
                return
            case "model":
                put(_visible(self._answered(result).removesuffix("\n")) + "\n")
                return
            case "stream" if cast("Streaming", self._output).begun:
                put(cast("Streaming", self._output).closing(result))
            case "panel" | "stream":
                from nacre.cli.run.final_panel import finale

                counted = None if isinstance(self._output, Output | None) else self._output.live.counts
                lines = None if options.background else counted
                put(finale(result, options, started=self._started, lines=lines))
            case _:
                self.say(words_on(result, background=options.background))
        if isinstance(result.outcome, Refused) and NOBODY in result.outcome.reason:
            say("--yes answers for you")
        if result.task is not None and options.yield_after is not None and _ends_with_us(result.task):
            say(f"{result.task.id} ends now, with this nacre; --detach lets it go on")
        if result.task is not None and options.background and self._view not in ("panel", "stream"):
            put(f"{result.task.id}\n")

    def _answered(self, result: Result) -> str:
        """What a model would read."""
        from nacre.views.answers import answer

        text = answer(result, self._profile.view, directory=saved_output.place(self._options.output_dir)).text
        saved_output.tidy()
        return text

    def _mind_signals(self, output: Output | Stage) -> None:
        def stop(number: int) -> None:
            if self._signal is not None:
                output.abandon()
                os._exit(128 + number)
            self._signal = number
            output.hurry()
            self._cancel.cancel()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup: whoever ignored it meant it
                loop.add_signal_handler(number, stop, number)

    def say(self, lines: list[str]) -> None:
        if lines and isinstance(self._output, Output):
            self._output.end_line()
        for line in lines:
            say(line)

    def code(self, result: Result) -> int:
        failure = None if self._output is None else self._output.failure
        if self._signal is not None and isinstance(result.outcome, Cancelled):
            return 128 + self._signal
        if isinstance(failure, BrokenPipeError):
            return CLOSED
        if failure is not None:
            say(f"The output could not be written: {failure.strerror}.")
            return FAILED
        return exit_status(result.outcome)
