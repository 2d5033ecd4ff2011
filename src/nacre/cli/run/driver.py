"""Runs the command of `nacre run`: passes its output on, handles signals, prints the result and returns the exit code.

The first SIGINT, SIGTERM or SIGHUP kills the command's process tree and waits for that. A second one does not wait: the
keeper completes the kill when this process is gone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, cast

from nacre.approval.approve import NO_APPROVER
from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.cancel import Cancel
from nacre.cli.common.exit_codes import EXIT_ERROR, EXIT_SIGPIPE
from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.run import saved_output
from nacre.cli.run.approval import approver
from nacre.cli.run.notices import notices_for
from nacre.cli.run.options import RunArguments
from nacre.cli.run.output import OutputWriter
from nacre.config.config import Config
from nacre.engines import LOCAL, Engine
from nacre.errors import NoSuchTask
from nacre.observe import observers_from_config
from nacre.profiles import Profile
from nacre.result import Cancelled, Chunk, Ended, Event, Refused, Result, Started, TaskRef
from nacre.types import Leftovers, Limits, Mode, Request

if TYPE_CHECKING:
    from nacre.cli.run.live_display import LiveDisplay
    from nacre.cli.run.streaming import StreamingOutput

logging.getLogger("nacre").addHandler(logging.NullHandler())  # our own messages report what it warns of


def run_command(options: RunArguments, config: Config) -> int:
    cancel = Cancel()
    profile = config.profile
    view = options.view or ("panel" if os.isatty(1) and os.isatty(2) else "")
    if view == "stream" and options.background:  # a background task streams nothing
        view = "panel"
    keeps = view in ("panel", "model")
    """True if output that the view does not show is kept. A file in the private directory would be removed on exit."""
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
        spill_dir=saved_output.directory() if keeps and options.output_dir is None else None,
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
    bash = Bash(profile, observers=observers_from_config(config.get("audit")), engine=_engine(options))
    drive = RunDriver(cancel, options, view, profile)
    if options.session is None:
        result = asyncio.run(drive.consume(bash.stream(request, ctx)))
    else:
        from nacre.cli.run.sessions import locked_session
        from nacre.session import Session

        with locked_session(options.session, ctx.access, quiet=drive.quiet) as before:
            ctx = replace(ctx, workspace=options.cwd or before.workspace)
            session = Session(bash, ctx=ctx, cwd=before.cwd, changes=before.env_changes)
            result = asyncio.run(drive.consume(session.stream(request)))
            before.save(session.cwd, session.env_changes)
    # the event loop is gone, and with it our signal handlers: a write to a slow reader can be interrupted
    drive.finish(result)
    if bash.observers:
        from nacre.cli.info.audit import complain

        complain(bash.observers)
    return drive.code(result)


def _engine(options: RunArguments) -> Engine:
    if options.engine is None and options.image is None:
        return LOCAL
    from nacre.engines.names import engine_named

    return engine_named(options.engine or "local", image=options.image)


def _leftovers(options: RunArguments, profile: Profile) -> Leftovers | None:
    """Return what to do with leftovers; None for the profile's choice. This process is the host, and its exit ends the
    host: leftovers are killed unless they belong to a task."""
    if options.detach:
        return "detach"
    return None if options.background or options.yield_after is not None or profile.leftovers == "wait" else "end"


def _ends_with_nacre(task: TaskRef) -> bool:
    """Return whether the task is killed when this process exits: leftovers of a command that exited before
    `--yield-after`, unlike a promoted run."""
    from nacre.tasks.tasks import Tasks

    with suppress(NoSuchTask):
        return not Tasks(os.path.dirname(os.path.dirname(task.output_file))).get(task.id).detached
    return False


def _visible(text: str) -> str:
    """Return `text`; if stdout is a terminal, with invisible and control characters escaped."""
    if not os.isatty(1):
        return text
    from nacre.views.console.escape import escape_output

    return "\n".join(map(escape_output, text.split("\n")))


class RunDriver:
    """Driver of one run: consumes its events and reports its result."""

    def __init__(self, cancel: Cancel, options: RunArguments, view: str, profile: Profile) -> None:
        """`view` is `panel`, `stream`, `plain`, `json` or `model`; empty: as `plain`, but a terminal gets no control
        sequences except colours."""
        self._cancel = cancel
        self._options = options
        self._view = view
        self._profile = profile
        self.quiet = view in ("json", "model")
        self._output: OutputWriter | LiveDisplay | None = None
        self._started: Started | None = None
        self._signal: int | None = None
        """The signal that cancelled the run."""

    async def consume(self, stream: AsyncGenerator[Event, None]) -> Result:
        """Write the output as it arrives, and return the result."""
        output = self._output = self._make_output()
        self._handle_signals(output)
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
                        if self._options.background and said and not self.quiet:  # the task has ended already
                            await output.write(Chunk("stderr", said))
                        return event.result
        finally:
            await output.end()
        raise AssertionError("a stream ends with Ended")

    def _make_output(self) -> OutputWriter | LiveDisplay:
        if self._view not in ("panel", "stream"):
            return OutputWriter(on_failure=self._cancel.cancel, raw=self._view != "")
        options, stop = self._options, self._cancel.cancel
        cwd = "" if options.session else os.path.abspath(options.cwd or ".")
        if self._view == "stream":
            from nacre.cli.run.streaming import StreamingOutput

            return StreamingOutput(options.command, cwd, description=options.description, on_failure=stop)
        from nacre.cli.run.live_display import LiveDisplay

        return LiveDisplay(options.command, cwd, description=options.description, on_failure=stop)

    def finish(self, result: Result) -> None:
        """Print the result in the chosen view."""
        options = self._options
        match self._view:
            case "json":
                from nacre.views.console.short_command import shorten

                data = result.to_dict()
                write_json({**data, "display": shorten(data["command"], data["cwd"])})
                return
            case "model":
                write_out(_visible(self._model_text(result).removesuffix("\n")) + "\n")
                return
            case "stream" if cast("StreamingOutput", self._output).begun:
                write_out(cast("StreamingOutput", self._output).render_closing(result))
            case "panel" | "stream":
                from nacre.cli.run.final_panel import print_final_panel

                counted = None if isinstance(self._output, OutputWriter | None) else self._output.live.counts
                lines = None if options.background else counted
                write_out(print_final_panel(result, options, started=self._started, lines=lines))
            case _:
                self.say(notices_for(result, background=options.background))
        if isinstance(result.outcome, Refused) and NO_APPROVER in result.outcome.reason:
            notice("pass --yes to approve")
        if result.task is not None and options.yield_after is not None and _ends_with_nacre(result.task):
            notice(f"{result.task.id} is killed now, as nacre exits; --detach keeps it running")
        if result.task is not None and options.background and self._view not in ("panel", "stream"):
            write_out(f"{result.task.id}\n")

    def _model_text(self, result: Result) -> str:
        """Return the text that a model would read."""
        from nacre.views.answers import answer

        text = answer(result, self._profile.view, directory=saved_output.directory(self._options.output_dir)).text
        saved_output.prune()
        return text

    def _handle_signals(self, output: OutputWriter | LiveDisplay) -> None:
        def stop(number: int) -> None:
            if self._signal is not None:
                output.abandon()
                os._exit(128 + number)
            self._signal = number
            output.stop_waiting()
            self._cancel.cancel()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # ignored on purpose, as under nohup
                loop.add_signal_handler(number, stop, number)

    def say(self, lines: list[str]) -> None:
        """Print notices on stderr, each on a line of its own."""
        if lines and isinstance(self._output, OutputWriter):
            self._output.end_line()
        for line in lines:
            notice(line)

    def code(self, result: Result) -> int:
        """Return the exit code for the result."""
        failure = None if self._output is None else self._output.failure
        if self._signal is not None and isinstance(result.outcome, Cancelled):
            return 128 + self._signal
        if isinstance(failure, BrokenPipeError):
            return EXIT_SIGPIPE
        if failure is not None:
            notice(f"Cannot write the output: {failure.strerror}.")
            return EXIT_ERROR
        return result.outcome.exit_status
