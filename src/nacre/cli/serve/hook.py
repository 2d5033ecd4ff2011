"""`nacre hook`: reads an agent's JSON on stdin and answers in the agent's protocol. Its `install` is in `hook_install`.

Starts as fast as `nacre check`, because an agent calls it before each of its commands. Every failure is a refusal, exit
code 2: any other code would let the command run.
"""

from __future__ import annotations

import gc
import os

from nacre.cli.common.arguments import Arguments
from nacre.cli.common.exit_codes import EXIT_BLOCK
from nacre.cli.common.messages import HelpRequested, write_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser
    from nacre.hooks.agents.protocol import HookReply

TIMEOUT_S = 20.0
"""Limit for the whole check. Some agents run the command if the hook takes over a minute: refuse before that."""


class _Arguments(Arguments):
    COMMAND = "hook"
    USAGE = (
        ("[--no-ask]", "check an agent's command: its JSON on stdin, the answer in its format"),
        ("install AGENT [options]", "add it to the agent's settings (see nacre hook install --help)"),
    )
    DESCRIPTION = """\
Supports the hooks of Claude Code (PreToolUse), Codex (PreToolUse), Gemini CLI (BeforeTool) and Cursor
(beforeShellExecution, preToolUse), and detects the agent from the payload. Only shell commands are checked. What the
checker refuses is refused; what it would ask a person about is asked if the agent supports that, and otherwise refused;
for everything else the hook gives no decision.
"""
    EPILOG = """\
exit codes: 0 no decision, or the one on stdout; 2 refused, with the reason on stderr, also if nacre itself failed,
or could not read its input.
"""

    no_ask = False

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        parser.add_argument("--no-ask", action="store_true", help="refuse instead of asking a person")


def hook(words: list[str]) -> int:
    collects = gc.isenabled()
    gc.disable()  # all that is loaded now stays in use: there is nothing to collect
    try:
        return _hook(words)
    except HelpRequested:
        raise
    except BaseException as error:
        return _say(_failure(error))
    finally:
        _stop_clock()
        if collects:
            gc.enable()


def _hook(words: list[str]) -> int:
    ask = words != ["--no-ask"]  # as agents call it: without loading argparse
    if words and ask:
        ask = not _Arguments.parse(words).no_ask
    if os.isatty(0):
        from nacre.cli.common.parser import OptionParser

        write_out(OptionParser(_Arguments).format_help(), to=2)
        return EXIT_BLOCK
    _start_clock()
    from nacre.hooks.handle import MAX_PAYLOAD_BYTES, answer

    return _say(answer(_input(MAX_PAYLOAD_BYTES + 1), ask=ask))


def _input(most: int) -> bytes:
    parts = []
    while most > 0 and (part := os.read(0, min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _start_clock() -> None:
    import signal

    def late(*_: object) -> None:
        raise TimeoutError(f"no answer within {TIMEOUT_S:g} seconds")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S, 1)  # repeats, in case other code catches the first TimeoutError


def _stop_clock() -> None:
    import signal

    signal.setitimer(signal.ITIMER_REAL, 0)


def _failure(error: BaseException) -> HookReply:
    from nacre.hooks.agents.protocol import refusal

    return refusal(f"nacre hook failed ({type(error).__name__}: {error}), so the command is refused.")


def _say(reply: HookReply) -> int:
    """Write the reply and return the exit code. If it cannot be written, refuse."""
    try:
        if reply.err:
            write_out(reply.err, to=2)
        if reply.out:
            write_out(reply.out)
    except Exception:
        return EXIT_BLOCK
    return reply.code
