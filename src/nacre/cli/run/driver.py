"""Runs the command of `nacre run`: passes its events to the view, handles signals and returns the exit code.

The first SIGINT, SIGTERM or SIGHUP kills the command's process tree and waits for that. A second one does not wait: the
keeper completes the kill when this process is gone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.cancel import Cancel
from nacre.cli.common.exit_codes import EXIT_ERROR, EXIT_SIGPIPE
from nacre.cli.common.messages import notice
from nacre.cli.run import saved_output
from nacre.cli.run.approval import approver
from nacre.cli.run.options import RequestOptions, RunArguments
from nacre.cli.run.view import View
from nacre.config.config import Config
from nacre.engines import LOCAL, Engine
from nacre.observe import observers_from_config
from nacre.profiles import Profile
from nacre.result import Cancelled, Chunk, Ended, Event, Result, Started
from nacre.types import Leftovers, Limits, Request, ToolContext

logging.getLogger("nacre").addHandler(logging.NullHandler())  # our own messages report what it warns of


def run_command(options: RunArguments, config: Config) -> int:
    cancel, profile = Cancel(), config.profile
    view = _make_view(options, profile, on_failure=cancel.cancel)
    request, ctx = _build_request(options, profile), _build_context(options, config, cancel, view)
    bash = Bash(profile, observers=observers_from_config(config.get("audit")), engine=_engine(options))
    driver = RunDriver(cancel, view, background=options.request.background)
    if options.session is None:
        result = asyncio.run(driver.consume(bash.stream(request, ctx)))
    else:
        from nacre.cli.run.sessions import locked_session
        from nacre.session import Session

        with locked_session(options.session, ctx.access, quiet=view.quiet) as before:
            ctx = replace(ctx, workspace=options.request.cwd or before.workspace)
            session = Session(bash, ctx=ctx, cwd=before.cwd, changes=before.env_changes)
            result = asyncio.run(driver.consume(session.stream(request)))
            before.save(session.cwd, session.env_changes)
    # the event loop is gone, and with it our signal handlers: a write to a slow reader can be interrupted
    view.finish(result)
    if bash.observers:
        from nacre.cli.info.audit import complain

        complain(bash.observers)
    return driver.exit_code(result)


def _make_view(options: RunArguments, profile: Profile, on_failure: Callable[[], None]) -> View:
    """Return the view that the options ask for; without `--view`, the one that fits stdout and stderr. `on_failure` is
    called when output cannot be written."""
    name = options.display.view or ("panel" if os.isatty(1) and os.isatty(2) else "")
    if name == "stream" and options.request.background:  # a background task streams nothing
        name = "panel"
    match name:
        case "json":
            from nacre.cli.run.result_views import JsonView

            return JsonView()
        case "model":
            from nacre.cli.run.result_views import ModelView

            return ModelView(profile.view, options.display.output_dir)
        case "panel":
            from nacre.cli.run.panel_view import PanelView

            return PanelView(options, on_failure)
        case "stream":
            from nacre.cli.run.stream_view import StreamView

            return StreamView(options, on_failure)
        case _:
            from nacre.cli.run.plain_view import PlainView

            return PlainView(options, on_failure, raw=name == "plain")


def _build_request(options: RunArguments, profile: Profile) -> Request:
    given = options.request
    return Request(
        options.command,
        description=given.description,
        mode="background" if given.background else given.mode,
        timeout=given.timeout,
        yield_after=given.yield_after,
        cwd=given.cwd,
        env=dict(given.env or ()),
        clear_env=given.clear_env,
        stdin=given.input,
        open_stdin=given.open_stdin,
        merge=given.merge,
        leftovers=_leftovers(given, profile),
    )


def _build_context(options: RunArguments, config: Config, cancel: Cancel, view: View) -> ToolContext:
    output_dir, limits = options.display.output_dir, options.limits
    keeps = view.keeps_output  # in the private directory, a file would be removed on exit
    return config.context(
        workspace=options.request.cwd,
        cancel=cancel,
        strict=options.context.strict,
        output_dir=output_dir,
        spill_dir=saved_output.directory() if keeps and output_dir is None else None,
        limits=Limits(
            spill=None if keeps or output_dir is not None else 0,
            memory=limits.memory,
            cpu=limits.cpu,
            processes=limits.processes,
            file_size=limits.file_size,
            open_files=limits.open_files,
        ),
        login_env=options.context.login_env,
        approve=approver(yes=options.context.yes),
        caller="nacre run",
    )


def _engine(options: RunArguments) -> Engine:
    if options.engine is None and options.image is None:
        return LOCAL
    from nacre.engines.names import engine_named

    return engine_named(options.engine or "local", image=options.image)


def _leftovers(given: RequestOptions, profile: Profile) -> Leftovers | None:
    """Return what to do with leftovers; None for the profile's choice. This process is the host, and its exit ends the
    host: leftovers are killed unless they belong to a task."""
    if given.detach:
        return "detach"
    return None if given.background or given.yield_after is not None or profile.leftovers == "wait" else "end"


class RunDriver:
    """Driver of one run: passes its events to the view, and maps signals and its result to an exit code."""

    def __init__(self, cancel: Cancel, view: View, *, background: bool) -> None:
        self._cancel = cancel
        self._view = view
        self._background = background
        self._signal: int | None = None
        """The signal that cancelled the run."""

    async def consume(self, stream: AsyncGenerator[Event, None]) -> Result:
        """Show the output as it arrives, and return the result."""
        view = self._view
        self._handle_signals()
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    match event:
                        case Chunk():
                            await view.write(event)
                        case Started():
                            await view.begin(event)
                        case Ended(result):
                            said = result.out.head + result.out.tail
                            if self._background and said:  # the task has ended already
                                await view.write(Chunk("stderr", said))
                            return result
        finally:
            await view.end()
        raise AssertionError("a stream ends with Ended")

    def _handle_signals(self) -> None:
        def stop(number: int) -> None:
            if self._signal is not None:
                self._view.abandon()
                os._exit(128 + number)
            self._signal = number
            self._view.stop_waiting()
            self._cancel.cancel()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # ignored on purpose, as under nohup
                loop.add_signal_handler(number, stop, number)

    def exit_code(self, result: Result) -> int:
        """Return the exit code for the result."""
        failure = self._view.failure
        if self._signal is not None and isinstance(result.outcome, Cancelled):
            return 128 + self._signal
        if isinstance(failure, BrokenPipeError):
            return EXIT_SIGPIPE
        if failure is not None:
            notice(f"Cannot write the output: {failure.strerror}.")
            return EXIT_ERROR
        return result.outcome.exit_status
