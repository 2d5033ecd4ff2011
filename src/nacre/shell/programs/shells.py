"""Programs that execute text: shells, eval, source, trap, ssh, su; and options of others whose value is a command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import Command
from nacre.shell.interpreter.commands import ProgramHandler
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import State
from nacre.shell.options import OptionSpec
from nacre.shell.symbolic import DECODED, DOWNLOADED, UNKNOWN, is_fully_known

SHELLS = frozenset("sh bash zsh dash ksh mksh ash fish rbash pdksh yash csh tcsh".split())
_EXPANDING_ALIASES = frozenset(("--posix", "posix", "expand_aliases"))
_SSH = OptionSpec("bcDEeFIiJLlmOopQRSWwB", operands=1)
_INTERPRETERS = {  # program: options whose value is code
    "python": "c", "python2": "c", "python3": "c", "pypy": "c", "pypy3": "c", "perl": "eE", "ruby": "e", "node": "ep",
    "nodejs": "ep", "php": "r", "lua": "e", "deno": "", "bun": "e", "osascript": "e", "Rscript": "e", "awk": "",
    "gawk": "", "mawk": "", "nawk": "", "tclsh": "", "expect": "c", "groovy": "e", "julia": "e", "pwsh": "c",
}  # fmt: skip
_TAKING = {"python": "WXm", "perl": "IMm", "ruby": "IrC", "node": "r", "php": "dc", "awk": "Fvf"}
_LOCAL_COMMAND = lazy_regex(
    r"(?:-o)?(?:ProxyCommand|LocalCommand|RemoteCommand|KnownHostsCommand)[= ](.+)", re.IGNORECASE | re.DOTALL
)
_TMUX_RUNS = frozenset(
    "new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window respawnw run-shell run "
    "display-popup popup pipe-pane pipep if-shell if send-keys send".split()
)
_TMUX = OptionSpec("cfLST")
_TMUX_COMMAND = OptionSpec("cefFnNstTxy")
_SCREEN = OptionSpec("cehpsSTt")
_SCHEDULE = lazy_regex(r"\s*(?:@\w+|(?:[^\s#]+[ \t]+){4}[^\s#]+)[ \t]+(.+)")
_SU = OptionSpec(
    "cugGsTw",
    "command session-command user group supp-group shell whitelist-environment",
    flags="login pty fast preserve-environment",
)
_SCRIPT = OptionSpec(
    "cEIOBmoT",
    "command echo log-in log-out log-io logging-format output-limit log-timing",
    flags="append return flush force quiet",
    attached="t",
    operands=1,
)
_VERSION = lazy_regex(r"(?<=[a-z])\d[\d.]*$")


def _shell(interpreter: Interpreter, command: Command, state: State) -> str:
    flags, settings, rest = shell_options(command.argv)
    if "n" in flags or "--version" in settings or "--help" in settings:
        return UNKNOWN
    inner = state.child()
    functions = state.functions
    passed = {name: body for name, body in functions.bodies.items() if name in functions.exported}
    inner.functions = functions.replace_values(bodies=passed)
    inner.aliases = {}
    inner.options = inner.options.replace_values(
        expands_aliases=command.name not in ("bash", "rbash")
        or "i" in flags
        or not _EXPANDING_ALIASES.isdisjoint(settings)
    )
    _startup(interpreter, command, inner, flags, settings)
    if "c" in flags:
        if not rest:
            return UNKNOWN
        arguments, zero = list(rest[2:]), rest[1] if len(rest) > 1 else "bash"
        return interpreter.scripts.run_text(
            command, rest[0], inner, stdin=command.stdin, arguments=arguments, zero=zero
        )
    if not rest or "s" in flags or rest[0] in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        arguments = [word for word in rest[0 if "s" in flags else 1 :] if word != "-"]
        return _run_text(interpreter, command, command.stdin, inner, arguments)
    printed = interpreter.scripts.read_file(command, inner.path(rest[0]), inner, list(rest[1:]))
    return UNKNOWN if printed is None else printed


def shell_options(argv: tuple[str, ...]) -> tuple[str, list[str], tuple[str, ...]]:
    """Return the letters of a shell's options, the long names and values, and the remaining arguments."""
    flags, settings, index = "", [], 1
    while index < len(argv):
        word = argv[index]
        index += 1
        if word in ("--", "-"):
            break
        if word.startswith("--"):
            settings.append(word)
            if word in ("--rcfile", "--init-file") and index < len(argv):
                settings.append(argv[index])
                index += 1
        elif word[:1] in ("-", "+"):
            flags += word[1:] if word[0] == "-" else ""
            takes = sum(word.count(letter) for letter in "oO")
            settings += argv[index : index + takes]
            index += takes
        else:
            return flags, settings, argv[index - 1 :]
    return flags, settings, argv[index:]


def _startup(interpreter: Interpreter, command: Command, state: State, flags: str, settings: list[str]) -> None:
    """Follow the files and variables that a shell executes before its text, where the script itself has set them."""
    files = []
    if "i" in flags:
        named = [after for word, after in pairwise(settings) if word in ("--rcfile", "--init-file")]
        files += named or [f"{state.home}/.bashrc"]
        files += [value for value in state.variables.values_of("ENV") if isinstance(value, str)]
        for name in ("PS0", "PS1"):
            for value in state.variables.values_of(name):
                interpreter.expander(command, state).expand_again(value if isinstance(value, str) else "")
        for value in state.variables.values_of("PROMPT_COMMAND"):
            interpreter.scripts.run_text(command, value if isinstance(value, str) else " ".join(value), state.fork())
    else:
        files += [value for value in state.variables.values_of("BASH_ENV") if isinstance(value, str)]
    if "l" in flags or "--login" in settings:
        files += [f"{state.home}/{name}" for name in (".bash_profile", ".bash_login", ".profile", ".zprofile")]
    for file in files:
        interpreter.scripts.read_file(command, state.path(file), state)


def _run_text(
    interpreter: Interpreter, command: Command, text: str | None, state: State, arguments: list[str] | None = None
) -> str:
    if text is None:
        return UNKNOWN
    return interpreter.scripts.run_text(command, text, state.fork(), arguments=arguments)


def _eval(interpreter: Interpreter, command: Command, state: State) -> str:
    words = command.args[1:] if command.args[:1] == ("--",) else command.args
    return interpreter.scripts.run_text(command, " ".join(words), state, stdin=command.stdin)


def _source(interpreter: Interpreter, command: Command, state: State) -> str:
    words = [word for word in command.args if word != "--"]
    if not words:
        return UNKNOWN
    if words[0] in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"):
        texts: tuple[str, ...] = () if command.stdin is None else (command.stdin,)
    else:
        texts = state.files.contents(state.path(words[0]))
    if len(texts) < 2:
        return interpreter.scripts.run_text(command, texts[0], state, arguments=words[1:] or None) if texts else UNKNOWN
    known = [text for text in texts if text != UNKNOWN]
    command.script, files, alternatives = "\n".join(known), state.files.checkpoint(), [state.fork() for _ in known]
    for text, way in zip(known, alternatives, strict=True):
        interpreter.scripts.run_text(command, text, way, arguments=words[1:] or None)
    state.files.mark_uncertain(files)
    interpreter.budget.charge(state.merge(*alternatives, stays=len(known) < len(texts)))
    return UNKNOWN


def _trap(interpreter: Interpreter, command: Command, state: State) -> str:
    words = [word for word in command.args if word != "--"]
    if len(words) > 1 and words[0] not in ("-", "", "-p", "-l"):
        interpreter.scripts.add_trap(command, words[0], state)
    return ""


def _ssh(interpreter: Interpreter, command: Command, state: State) -> str:
    words = _SSH.command(command.argv)
    if words and words[0][:1] == "-":  # options may follow the host, too
        words = words[_SSH.first(("ssh", *words)) - 1 :]
    text = " ".join(words[1:] if words[:1] == ("--",) else words) or command.stdin
    inner = state.child()
    local_commands(interpreter, command, state)
    inner.cwd = inner.home
    if text:
        interpreter.scripts.run_text(command, text, inner, stdin=command.stdin)
    return DOWNLOADED


def local_commands(interpreter: Interpreter, command: Command, state: State) -> None:
    """Follow the options of ssh, scp and sftp that are commands."""
    for word in command.args:
        if found := _LOCAL_COMMAND.match(word):
            interpreter.scripts.run_text(command, found[1], state.child())


def _su(interpreter: Interpreter, command: Command, state: State) -> str:
    text = _option_value(command, _SU)
    if text is None:
        if command.name != "su" or command.stdin is None:
            return UNKNOWN
        text = command.stdin
    return interpreter.scripts.run_text(command, text, state.child(), stdin=command.stdin)


def _option_value(command: Command, shape: OptionSpec) -> str | None:
    """Return the value of the command option. It may come after operands, or after `--`, where the shell gets it."""
    found = shape.parse(word for word in command.args if word != "--").values("-c", "--command", "--session-command")
    return found[0] if found else None


def _runuser(interpreter: Interpreter, command: Command, state: State) -> str:
    if _option_value(command, _SU) is not None:
        return _su(interpreter, command, state)
    return interpreter.scripts.run_wrapped(command, _SU.command(command.argv), state)


def _script(interpreter: Interpreter, command: Command, state: State) -> str:
    text = _option_value(command, _SCRIPT)
    if text is not None:
        return interpreter.scripts.run_text(command, text, state.child())
    return interpreter.scripts.run_wrapped(command, _SCRIPT.command(command.argv), state.child())


def _at_command(interpreter: Interpreter, command: Command, state: State) -> str:
    return _run_text(interpreter, command, command.stdin, state.child())


def _interpreter(interpreter: Interpreter, command: Command, state: State) -> str:
    base = _VERSION.sub("", command.name) or command.name
    letters = _INTERPRETERS.get(command.name, _INTERPRETERS.get(base, ""))
    shape = OptionSpec(letters + _TAKING.get(base, ""), "eval print command")
    codes = [code for letter in letters if (code := shape.value(command.argv, f"-{letter}", "--eval")) is not None]
    code = "\n".join(codes) if codes else None
    rest = command.argv[shape.first(command.argv) :]
    if base == "deno" and rest[:1] == ("eval",):
        code = next((word for word in rest[1:] if word[:1] != "-"), None)
    if code is None and shape.value(command.argv, "-m") == "nacre":
        return interpreter.scripts.run_wrapped(command, ("nacre", *rest), state)
    if code is None and base.endswith("awk"):
        code = rest[0] if rest else None
    elif code is None and not any(word == "-m" for word in command.args):
        from_input = not rest or rest[0] in ("-", "/dev/stdin")
        code = command.stdin if from_input else interpreter.pipes.content(state.path(rest[0]), state, command.frame)
    if code is None:
        decodes = "-d" in command.args and shape.value(command.argv, "-m") == "base64"
        return DECODED if decodes else UNKNOWN
    from nacre.shell.programs.code_literals import (  # slow
        origin_of,
        printed_by,
        shell_commands_in,
        source_of,
        takes_arguments,
        takes_input,
    )

    command.script = origin_of(code) + code
    for text, words in shell_commands_in(code, command.name):
        if words is not None:
            interpreter.scripts.run_wrapped(command, words, state.child())
        else:
            interpreter.scripts.run_text(command, text, state.child())
    if takes_arguments(code):
        interpreter.scripts.run_wrapped(command, rest[1:] if rest[:1] == (code,) else rest, state.child())
    if takes_input(code) and command.stdin is not None:
        interpreter.scripts.run_text(command, command.stdin, state.child())
    if base.endswith("awk") and command.stdin is not None and not is_fully_known(command.stdin):
        return command.stdin
    if DOWNLOADED in code or DECODED in code:
        return DOWNLOADED if DOWNLOADED in code else DECODED
    return source_of(code) or printed_by(code) or UNKNOWN


def _sg(interpreter: Interpreter, command: Command, state: State) -> str:
    words = [word for word in command.args if word not in ("-", "-c")]
    return interpreter.scripts.run_text(command, words[1], state.child()) if len(words) > 1 else UNKNOWN


def _terminal(interpreter: Interpreter, command: Command, state: State) -> str:
    """Follow the command of tmux or screen: one word is a command line for a shell, several are an argv."""
    if command.name == "screen":
        words = _SCREEN.command(command.argv)
        return interpreter.scripts.run_wrapped(command, words, state.child()) if words else UNKNOWN
    for call in _split(_TMUX.command(command.argv)):
        words = _TMUX_COMMAND.command(call)
        if call[0] not in _TMUX_RUNS or not words:
            continue
        if len(words) == 1 or call[0].startswith(("send", "if", "run", "pipe")):
            text = "\n".join(word for word in words if word not in ("Enter", "C-m"))
            interpreter.scripts.run_text(command, text, state.child())
        else:
            interpreter.scripts.run_wrapped(command, words, state.child())
    return UNKNOWN


def _split(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Split the commands in one call at each `;`."""
    start = 0
    for index, word in enumerate((*words, ";")):
        if word == ";" and index > start:
            yield words[start:index]
        if word == ";":
            start = index + 1


def _crontab(interpreter: Interpreter, command: Command, state: State) -> str:
    """Follow the crontab that it installs, which runs later."""
    given = OptionSpec("ucT").parse(command.args)
    if given.options and not given.has("-u"):
        return UNKNOWN
    name = given.operands[0] if given.operands else "-"
    text = (
        command.stdin
        if name in ("-", "/dev/stdin")
        else interpreter.pipes.content(state.path(name), state, command.frame)
    )
    if text:
        lines = [line.lstrip(UNKNOWN) for line in text.split("\n")]
        lines = [found[1] if (found := _SCHEDULE.fullmatch(line)) else line for line in lines]
        interpreter.scripts.run_text(command, "\n".join(lines), state.child())
    return ""


def is_interpreter(program: str) -> bool:
    """Tell whether a program is an interpreter of another language than the shell's."""
    return HANDLERS.get(program) is _interpreter


HANDLERS: dict[str, ProgramHandler] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(_INTERPRETERS, _interpreter),
    **{f"python3.{minor}": _interpreter for minor in range(6, 20)},
    "eval": _eval,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "ssh": _ssh,
    "mosh": _ssh,
    "sg": _sg,
    "tmux": _terminal,
    "screen": _terminal,
    "su": _su,
    "runuser": _runuser,
    "script": _script,
    "at": _at_command,
    "crontab": _crontab,
    "batch": _at_command,
}
