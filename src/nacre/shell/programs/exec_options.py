"""Programs with options whose value is a command: git's aliases and filters, tar's actions, sed's `e`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import Command
from nacre.shell.interpreter.commands import ProgramHandler
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import State
from nacre.shell.option_tables import OPTION_SPECS, parse_tar_options
from nacre.shell.options import spec_for
from nacre.shell.symbolic import UNKNOWN, UNKNOWN_NONEMPTY, is_fully_known

_GIT_SETTING = lazy_regex(
    r"(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|hookspath)|sequence\.editor|diff\.external|credential\.helper|"
    r"pager\.\w+|gpg\.program|(?:diff|merge|filter)\.[^=]*\.(?:command|driver|textconv|clean|smudge|process)|"
    r"(?:diff|merge)tool\.[^=]*\.cmd|interactive\.difffilter|uploadpack\.packobjectshook|remote\.[^=]*\.(?:upload|receive)pack)=(.*)",
    re.IGNORECASE | re.DOTALL,
)
_RULE = lazy_regex(r"[^\s#=:][^#=:]*::?(?!=)[^=;]*;")
_CONFIG = "/dev/git-config/"
"""Path prefix under which the settings made by `git config` are kept among the files."""
_GIT_COMMANDS = frozenset(
    "--exec -x --tree-filter --index-filter --msg-filter --env-filter --parent-filter --commit-filter "
    "--tag-name-filter --upload-pack --receive-pack --extcmd --setup --subdirectory-filter".split()
)
_TAR = (
    "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script", "--to-command", "--rsh-command",
    "--rmt-command",
)  # fmt: skip
_ESCAPES = lazy_regex(r"(?:^|[\n;])[ \t\r]*+(?:\\!|\.shell|\.system)[ \t]*+([^\n]+)")
_SED_WRITES = lazy_regex(r"(?:^|[;{}\n/0-9$])[ \t]*+[wW][ \t]++([^\n;}]+)")
_SED_EXECUTES = lazy_regex(r"(?:^|[;{}\n]|(?<=[0-9$/]))[ \t]*+e(?:[ \t]++([^\n]+)|[ \t]*+(?=$|;|\}))", re.MULTILINE)
_SED_SIMPLE = lazy_regex(r"s(.)(\^?[\w .,:=@-]*\$?)\1([\w .,:=@/-]*)\1g?")
_SED_REPLACES = lazy_regex(r"s(?=([^\\\n]))")
_SED_FLAGS = lazy_regex(r"[gpiIm0-9]*+e")


def _git(interpreter: Interpreter, command: Command, state: State) -> str:
    args = command.args
    for index, word in enumerate(args):
        if word[:1] == "-":
            following = args[index + 1] if index + 1 < len(args) else ""
            if word == "-c" or word == "--config-env":
                _setting(interpreter, command, following, state)
            elif word in _GIT_COMMANDS and following:
                interpreter.scripts.run_text(command, following, state.child())
            elif "=" in word and word.startswith("--") and word.partition("=")[0] in _GIT_COMMANDS:
                interpreter.scripts.run_text(command, word.partition("=")[2], state.child())
        elif word.startswith("ext::"):
            interpreter.scripts.run_text(command, word[5:], state.child())
        elif word == "config" and interpreter.budget.charge(len(args)):
            operands = [each for each in args[index + 1 :] if not each.startswith("-")]
            if operands[:1] == ["set"]:
                operands = operands[1:]
            if len(operands) > 1:
                _setting(interpreter, command, f"{operands[0]}={operands[1]}", state)
                state.files[f"{_CONFIG}{operands[0]}"] = operands[1]
    _subcommand(interpreter, command, state)
    if state.files.settings and "config" not in args:
        _run_script_config(interpreter, command, state)
    for text in list(state.files.hooks.values()):
        interpreter.scripts.run_text(command, text, state.child())
    if "rev-parse" not in args:
        return UNKNOWN
    return ".git" if "--git-dir" in args else state.cwd if "--show-toplevel" in args else UNKNOWN_NONEMPTY


def _setting(interpreter: Interpreter, command: Command, setting: str, state: State) -> None:
    name, _, value = setting.partition("=")
    interpreter.budget.charge(len(command.args))
    if name.startswith("alias.") and value.startswith("!"):
        if name[6:] in command.args or "config" in command.args:
            interpreter.scripts.run_text(command, value[1:], state.child())
    elif found := _GIT_SETTING.match(setting):
        interpreter.scripts.run_text(command, found[1].removeprefix("!"), state.child())


def _run_script_config(interpreter: Interpreter, command: Command, state: State) -> None:
    """Follow the command with the git settings that the script itself has made."""
    if command.parent is not None and command.parent.name == "git":
        return
    settings, sub = state.files.settings, next((word for word in command.args if word[:1] != "-"), "")
    if sub == "push":
        names = [name for name in settings if name.startswith(f"{_CONFIG}remote.")]
    else:
        names = [name for name in (f"{_CONFIG}alias.{sub}",) if name in settings]
    for name in names:
        setting = f"{name[len(_CONFIG) :]}={settings[name]}"
        interpreter.scripts.run_wrapped(command, ("git", "-c", setting, *command.args), state.child())


def _subcommand(interpreter: Interpreter, command: Command, state: State) -> None:
    args = command.args
    if "bisect" in args and "run" in args:
        interpreter.scripts.run_wrapped(command, args[args.index("run") + 1 :], state.child())
    elif "submodule" in args and "foreach" in args:
        words = [word for word in args[args.index("foreach") + 1 :] if word not in ("--recursive", "--quiet", "-q")]
        interpreter.scripts.run_text(command, " ".join(words), state.child())


def _tar(interpreter: Interpreter, command: Command, state: State) -> str:
    given = parse_tar_options(command.args)
    actions = [each[5:] for each in given.values("--checkpoint-action") if each.startswith("exec=")]
    for text in (*actions, *given.values(*_TAR)):
        interpreter.scripts.run_text(command, text, state.child())
    if given.has("-O", "--to-stdout") and command.stdin is not None and not is_fully_known(command.stdin):
        return command.stdin
    return UNKNOWN


def _sed(interpreter: Interpreter, command: Command, state: State) -> str:
    given = command.parsed
    texts = given.values("-e", "--expression")
    texts += [
        interpreter.pipes.content(state.path(name), state, command.frame) or "" for name in given.values("-f", "--file")
    ]
    if not texts:
        texts = given.operands[:1]
    lines = UNKNOWN if command.stdin is None else command.stdin
    for text in texts:
        for found in _SED_EXECUTES.finditer(text):
            interpreter.scripts.run_text(command, found[1] or lines, state.child())
        for found in _SED_WRITES.finditer(text):
            interpreter.scripts.run_text(command, ": > " + quote(found[1].strip()), state.child())
        for replacement in _sed_executed(interpreter, text):
            interpreter.scripts.run_text(command, replacement or lines, state.child())
        if (simple := _SED_SIMPLE.fullmatch(text)) and is_fully_known(lines):
            lines = _sed_replaced(interpreter, simple[2], simple[3], lines)
    return lines


def _sed_executed(interpreter: Interpreter, text: str) -> Iterator[str]:
    """Yield the replacements of `s/…/…/e`, with any delimiter."""
    end = 0
    for found in _SED_REPLACES.finditer(text):
        start, mark = found.end() + 1, found[1]
        if found.start() < end:
            continue
        middle = _find_unescaped(text, mark, start)
        last = _find_unescaped(text, mark, middle + 1) if middle >= 0 else -1
        if not interpreter.budget.charge((last if last >= 0 else len(text)) - start):
            return
        if last >= 0 and (flags := _SED_FLAGS.match(text, last + 1)):
            end = flags.end()
            yield text[middle + 1 : last]


def _find_unescaped(text: str, mark: str, start: int) -> int:
    """Return the position of a character that no backslash escapes; -1 if there is none."""
    while (at := text.find(mark, start)) >= 0:
        before = at
        while before > start and text[before - 1] == "\\":
            before -= 1
        if (at - before) % 2 == 0:
            return at
        start = at + 1
    return -1


def _sed_replaced(interpreter: Interpreter, searched: str, replacement: str, lines: str) -> str:
    regex = re.compile(f"(?m){searched}")
    count = sum(1 for _ in regex.finditer(lines))
    if not interpreter.budget.charge(len(lines) + count * len(replacement)):
        return UNKNOWN
    return interpreter.budget.keep_if_short(regex.sub(lambda _: replacement, lines))


def _make(interpreter: Interpreter, command: Command, state: State) -> str:
    name = (command.parsed.values("-f", "--file", "--makefile") or ["Makefile"])[0]
    text = command.stdin if name == "-" else interpreter.pipes.content(state.path(name), state, command.frame)
    if command.has_flag("-n", "--dry-run", "--just-print"):
        return UNKNOWN
    for line in (text or "").split("\n"):
        for found in re.finditer(r"\$\(shell ([^()]*)\)", line):
            interpreter.scripts.run_text(command, found[1], state.child())
        if line.startswith("\t") or (";" in line and _RULE.match(line)):
            recipe = line if line[0] == "\t" else line.partition(";")[2]
            interpreter.scripts.run_text(command, recipe.lstrip("\t@-+ ").replace("$$", "$"), state.child())
    return UNKNOWN


def _dd(interpreter: Interpreter, command: Command, state: State) -> str:
    for word in command.args:
        if word.startswith("of="):
            state.files[state.path(word[3:])] = command.stdin or UNKNOWN
            return ""
    return command.stdin or UNKNOWN


def _yes(interpreter: Interpreter, command: Command, state: State) -> str:
    return " ".join(command.args or ("y",)) + "\n"


def _client(interpreter: Interpreter, command: Command, state: State) -> str:
    """Follow the shell escapes (`\\!`, `.shell`, `.system`) in arguments and input of a database client."""
    for text in (*command.args, command.stdin or ""):
        for found in _ESCAPES.finditer(text):
            interpreter.scripts.run_text(command, found[1], state.child())
    return UNKNOWN


def _option(*names: str) -> ProgramHandler:
    """Return a handler for a program that runs the values of these options."""

    def follow(interpreter: Interpreter, command: Command, state: State) -> str:
        for text in (
            spec_for(names).parse(command.args) if command.name not in OPTION_SPECS else command.parsed
        ).values(*names):
            interpreter.scripts.run_text(command, text, state.child())
        return UNKNOWN if command.stdin is None else command.stdin

    return follow


def _sftp(interpreter: Interpreter, command: Command, state: State) -> str:
    from nacre.shell.programs.shells import local_commands  # rarely needed

    local_commands(interpreter, command, state)
    return _option("-S")(interpreter, command, state)


def _editor(interpreter: Interpreter, command: Command, state: State) -> str:
    texts = [word[1:] for word in command.args if word[:1] == "+"]
    texts += [a for word, a in zip(command.args, command.args[1:], strict=False) if word in ("-c", "--cmd", "-ex")]
    for text in (*texts, *(command.stdin or "").split("\n")):
        if found := re.match(r":?(?:silent\s+)?(?:!|shell )(.+)", text, re.DOTALL):
            interpreter.scripts.run_text(command, found[1], state.child())
    return UNKNOWN


HANDLERS: dict[str, ProgramHandler] = {
    "git": _git,
    "tar": _tar,
    "gtar": _tar,
    "bsdtar": _tar,
    "sed": _sed,
    "gsed": _sed,
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3"), _client),
    "sort": _option("--compress-program"),
    "rsync": _option("-e", "--rsh", "--rsync-path"),
    "man": _option("-P", "--pager"),
    "sftp": _sftp,
    "zip": _option("-TT", "--unzip-command"),
    "split": _option("--filter"),
    "rg": _option("--pre"),
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "ex": _editor,
    "ed": _editor,
    "gdb": _editor,
    "make": _make,
    "gmake": _make,
    "dd": _dd,
    "yes": _yes,
}
