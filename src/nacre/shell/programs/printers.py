"""Output of well-known programs, as far as it is known: literal text, or at least its origin."""

from __future__ import annotations

import os
import re
from collections import deque

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import Command
from nacre.shell.interpreter.assignments import store
from nacre.shell.interpreter.commands import ProgramHandler
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import State
from nacre.shell.options import OptionSpec
from nacre.shell.symbolic import (
    DECODED,
    DOWNLOADED,
    STAR,
    UNKNOWN,
    UNKNOWN_NONEMPTY,
    is_fully_known,
    is_literal,
    to_source,
)
from nacre.shell.syntax.escapes import ansi_c

_CURL = OptionSpec(
    "AbcCdDeEFhHKmoPQrTuUwxXyYz", "output request header data user url proxy max-time retry connect-timeout"
)
_WGET = OptionSpec("OoaietTUPQDIAR", "output-document output-file user-agent header directory-prefix timeout tries")
_DIRECTIVE = lazy_regex(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z])|\(.*?\)T)|\\(?:.|$)[0-9a-fA-F]{0,3}", re.DOTALL)
_CLASSES = {"upper": "A-Z", "lower": "a-z", "digit": "0-9", "alpha": "A-Za-z", "alnum": "A-Za-z0-9", "space": " \t\n"}
_TO = lazy_regex("(.)-(.)", re.DOTALL)
_ZERO = lazy_regex(r"\\0([0-7]{1,3})")
"""Matches an octal number in `echo -e`."""
_COMPRESSORS = "gunzip zcat gzip bunzip2 bzip2 bzcat xz unxz xzcat zstd unzstd zstdcat lz4 gpg uncompress".split()
_SAME = frozenset(
    "head tail grep egrep fgrep uniq tac nl cut fold fmt expand unexpand column "
    "iconv strings dos2unix pv sponge envsubst jq yq zcat gunzip gzip bunzip2 bzcat xz xzcat unxz zstd "
    "zstdcat lz4".split()
)
_PRINT_UNKNOWN = frozenset("date hostname uname nproc seq wc tty".split())


def _echo(interpreter: Interpreter, command: Command, state: State) -> str:
    words = list(command.args)
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes = "e" in words.pop(0)
    text = " ".join(words)
    return (ansi_c(_ZERO.sub(r"\\\1", text)) if escapes else text) + "\n"


def _printf(interpreter: Interpreter, command: Command, state: State) -> str:
    words = list(command.args)
    name = ""
    if words[:1] == ["-v"] and len(words) > 1:
        name = words[1]
        words = words[2:]
    if words[:1] == ["--"]:
        words = words[1:]
    text = _format_words(interpreter, words[0], words[1:]) if words else ""
    if name:
        store(interpreter.expander(command, state), name, text)
        return ""
    return text


def _format_words(interpreter: Interpreter, form: str, words: list[str]) -> str:
    """Apply a printf format again and again while there are words for it."""
    form, left, out = to_source(form), deque(words), []

    def fill(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        if found[0][0] == "\\":
            return ansi_c(found[0]) or "\0"
        word = left.popleft() if left else ""
        return ansi_c(word) if found[1] == "b" else word

    while not interpreter.script.gave_up:
        before = len(left)
        out.append(_DIRECTIVE.sub(fill, form))
        interpreter.budget.charge(len(form))
        if not left or len(left) == before:
            break
    return interpreter.budget.keep_if_short("".join(out))


def _cat(interpreter: Interpreter, command: Command, state: State) -> str:
    texts = []
    for name in command.operands() or ["-"]:
        if name in ("-", "/dev/stdin", "/dev/fd/0"):
            texts.append(UNKNOWN if command.stdin is None else command.stdin)
        else:
            held = interpreter.pipes.content(state.path(name), state, command.frame)
            texts.append(UNKNOWN if held is None else held)
    return _concatenate(interpreter, texts)


def _concatenate(interpreter: Interpreter, texts: list[str]) -> str:
    return "".join(texts) if interpreter.budget.charge(sum(map(len, texts))) else UNKNOWN


def _tee(interpreter: Interpreter, command: Command, state: State) -> str:
    text = UNKNOWN if command.stdin is None else command.stdin
    for name in command.operands():
        state.files[state.path(name)] = text
    return text


def _pass_through(interpreter: Interpreter, command: Command, state: State) -> str:
    """Return the input of a filter, which is assumed to pass everything; of all files, it may keep only some."""
    if command.stdin is not None:
        return command.stdin.replace(STAR, UNKNOWN_NONEMPTY)
    texts = [interpreter.pipes.content(state.path(name), state, command.frame) for name in command.operands()]
    return _concatenate(interpreter, [text for text in texts if text is not None]) or UNKNOWN


def _tr(interpreter: Interpreter, command: Command, state: State) -> str:
    text = command.stdin
    if text is None or command.has_flag("-d", "-s", "-c", "-C", "--delete", "--squeeze-repeats", "--complement"):
        return text or UNKNOWN
    operands = [ansi_c(to_source(word)) for word in command.operands()]
    if len(operands) != 2 or not interpreter.budget.charge(sum(map(_span, operands))):
        return text
    sets = [_characters(word) for word in operands]
    if not all(sets):
        return text
    to = sets[1] + sets[1][-1] * (len(sets[0]) - len(sets[1]))
    return text.translate({ord(a): b for a, b in zip(sets[0], to, strict=False)})


def _characters(text: str) -> str:
    """Return the characters of a set of tr: `a-z`, `[:upper:]`."""
    text = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], ""), text)
    return _TO.sub(lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), text)


def _span(text: str) -> int:
    """Return the number of characters that the ranges of a set stand for."""
    return sum(max(0, ord(last) - ord(first)) for first, last in _TO.findall(text))


def _rev(interpreter: Interpreter, command: Command, state: State) -> str:
    text = command.stdin
    return "\n".join(line[::-1] for line in text.split("\n")) if text is not None and is_fully_known(text) else UNKNOWN


def _decoder(interpreter: Interpreter, command: Command, state: State) -> str:
    match command.name:
        case "xxd":
            decodes = command.has_flag("-r", "-revert", "--revert")
        case "openssl":
            if "s_client" in command.args:
                return DOWNLOADED
            decodes = any(word in ("-d", "-decode") for word in command.args) and any(
                word in ("enc", "base64", "-base64") or word.lstrip("-").startswith(("aes", "des"))
                for word in command.args
            )
        case "uudecode":
            decodes = True
        case _:
            decodes = command.has_flag("-d", "-D", "--decode")
    return DECODED if decodes else UNKNOWN


def _curl(interpreter: Interpreter, command: Command, state: State) -> str:
    output = _last(command, _CURL, "-o", "--output")
    if command.has_flag("-O", "--remote-name", "--remote-name-all"):
        output = _basename(command.operands())
    return _save_download(output, state)


def _wget(interpreter: Interpreter, command: Command, state: State) -> str:
    output = _last(command, _WGET, "-O", "--output-document")
    if output is None:
        output = _basename(command.operands("-P", "--directory-prefix"))
        if directory := _last(command, _WGET, "-P", "--directory-prefix"):
            output = f"{directory}/{output}"
    return _save_download(output, state)


def _last(command: Command, shape: OptionSpec, *names: str) -> str | None:
    """Return the value of an option that may come after operands; None if it is not given."""
    argv = command.argv
    for index in range(1, len(argv)):
        if argv[index][:1] == "-" and (value := shape.value(("", *argv[index : index + 2]), *names)) is not None:
            return value
    return None


def _basename(words: list[str]) -> str:
    return next(
        (word.split("?")[0].rstrip("/").rsplit("/", 1)[-1] for word in words if "/" in word or "." in word),
        UNKNOWN_NONEMPTY,
    )


def _save_download(output: str | None, state: State) -> str:
    if output in (None, "-", "/dev/stdout"):
        return DOWNLOADED
    assert output is not None
    state.files[state.path(output)] = DOWNLOADED
    return ""


def _downloads(interpreter: Interpreter, command: Command, state: State) -> str:
    if command.name == "aria2c":
        return _save_download(_last(command, OptionSpec("od"), "-o", "--out") or _basename(command.operands()), state)
    return DOWNLOADED


def _copy(interpreter: Interpreter, command: Command, state: State) -> str:
    operands = command.operands("-t", "-m", "-o", "-g")
    if len(operands) == 2 and (texts := state.files.contents(state.path(operands[0]))):
        state.files.put(state.path(operands[1]), texts)
    return ""


def _path(interpreter: Interpreter, command: Command, state: State) -> str:
    operands = command.operands("-s", "--relative-to")
    if not operands or not is_literal(operands[-1]):
        return UNKNOWN_NONEMPTY if command.name == "dirname" else UNKNOWN
    match command.name:
        case "dirname":
            return os.path.dirname(operands[-1].rstrip("/")) or ("/" if operands[-1].startswith("/") else ".")
        case "basename":
            name = os.path.basename(operands[0].rstrip("/"))
            ending = operands[1] if len(operands) == 2 and not command.has_flag("-a", "--multiple") else ""
            return (name if name == ending else name.removesuffix(ending)) or UNKNOWN_NONEMPTY
    return state.path(operands[-1])


def _printenv(interpreter: Interpreter, command: Command, state: State) -> str:
    if len(command.args) == 1:
        value = (state.variables.values_of(command.args[0]) or [UNKNOWN])[0]
        return value if isinstance(value, str) else UNKNOWN
    return UNKNOWN


def _ls(interpreter: Interpreter, command: Command, state: State) -> str:
    operands = command.operands()
    if operands and command.has_flag("-d", "--directory"):
        return "\n".join(operands)
    return STAR if not operands or state.path(operands[0]) in ("/", state.home) else UNKNOWN_NONEMPTY


def _mktemp(interpreter: Interpreter, command: Command, state: State) -> str:
    named = command.operands("-p", "--suffix", "--tmpdir")
    return named[0] if named and "/" in named[0] else "/tmp/tmp.XXXXXXXXXX"


def _which(interpreter: Interpreter, command: Command, state: State) -> str:
    """Return the path of a program: somewhere on PATH. Also for `command -v`; `type` prints more without `-p`, `-P`."""
    names, tables = command.operands(), state.variables.tables
    if len(names) != 1 or not is_literal(names[0]) or names[0] in state.aliases or "BASH_CMDS" in tables:
        return UNKNOWN_NONEMPTY
    if (command.name == "type" and not command.has_flag("-p", "-P")) or command.has_flag("-V", "-a"):
        return UNKNOWN_NONEMPTY
    return names[0] if "/" in names[0] or names[0] in state.functions.bodies else f"{UNKNOWN_NONEMPTY}/{names[0]}"


def _decompressor(interpreter: Interpreter, command: Command, state: State) -> str:
    text = command.stdin
    of_files = any(word != "-" for word in command.operands())
    if text is not None and not of_files and (DOWNLOADED in text or is_literal(text)):
        return text
    compresses = command.name in ("gzip", "xz", "zstd", "bzip2", "gpg") and not command.has_flag(
        "-d", "--decompress", "--decrypt"
    )
    return UNKNOWN if compresses else DECODED


def _remote(interpreter: Interpreter, command: Command, state: State) -> str:
    """Return the output of programs with a subcommand that prints remote data."""
    args = command.args
    match command.name:
        case "aws" | "gsutil" | "gcloud":
            fetches = any(word in ("-", "/dev/stdout", "cat") for word in args)
        case "gh":
            fetches = args[:1] == ("api",) or args[:2] in (("gist", "view"), ("release", "download"))
        case _:
            fetches = "s_client" in args
    return DOWNLOADED if fetches else UNKNOWN


def _scp(interpreter: Interpreter, command: Command, state: State) -> str:
    from nacre.shell.programs.shells import local_commands  # rarely needed

    local_commands(interpreter, command, state)
    operands = command.operands()
    for source_ in operands[:-1]:
        if ":" in source_:
            name = source_.rpartition("/")[2].rpartition(":")[2]
            target = operands[-1]
            state.files[state.path(f"{target}/{name}" if target.endswith(("/", ".")) else target)] = DOWNLOADED
    return ""


def _user(interpreter: Interpreter, command: Command, state: State) -> str:
    return state.user if command.name != "id" or command.has_flag("-n", "--name") else UNKNOWN_NONEMPTY


def _print_unknown(interpreter: Interpreter, command: Command, state: State) -> str:
    return UNKNOWN_NONEMPTY


HANDLERS: dict[str, ProgramHandler] = {
    **dict.fromkeys(_SAME, _pass_through),
    **dict.fromkeys(_PRINT_UNKNOWN, _print_unknown),
    **dict.fromkeys(("base64", "gbase64", "base32", "basenc", "xxd", "openssl", "uudecode"), _decoder),
    **dict.fromkeys(("curl", "curlie"), _curl),
    **dict.fromkeys(("wget", "wget2"), _wget),
    **dict.fromkeys(("http", "https", "xh", "aria2c", "lynx", "w3m", "links", "fetch", "ftp", "GET"), _downloads),
    **dict.fromkeys(("nc", "ncat", "netcat", "socat", "telnet"), _downloads),
    **dict.fromkeys(("cp", "mv", "install", "ln"), _copy),
    **dict.fromkeys(("dirname", "basename", "realpath", "readlink"), _path),
    **dict.fromkeys(("which", "type"), _which),
    **dict.fromkeys(_COMPRESSORS, _decompressor),
    **dict.fromkeys(("aws", "gsutil", "gcloud", "gh"), _remote),
    **dict.fromkeys(("whoami", "logname", "id"), _user),
    "scp": _scp,
    "ls": _ls,
    "mktemp": _mktemp,
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "tee": _tee,
    "tr": _tr,
    "rev": _rev,
    "printenv": _printenv,
}
