"""Programs that run another program with its own words: sudo, env, timeout, xargs, find, …"""

from __future__ import annotations

import re
import shlex

from nacre.shell.command import Command
from nacre.shell.environment import runs_code
from nacre.shell.escapes import ansi_c
from nacre.shell.options import Shape
from nacre.shell.runner import Follows, Runner
from nacre.shell.state import State
from nacre.shell.text import SOME, STAR, UNKNOWN, plain, source, whole

_SIMPLE = {
    "sudo": Shape("ughpCrtTUDRac", "user group host prompt close-from role type chdir chroot", assignments=True),
    "doas": Shape("uCa"),
    "command": Shape(),
    "builtin": Shape(),
    "nohup": Shape(),
    "nice": Shape("n", "adjustment"),
    "ionice": Shape("cnpPu", "class classdata pid pgid uid"),
    "timeout": Shape("ks", "kill-after signal", operands=1),
    "gtimeout": Shape("ks", "kill-after signal", operands=1),
    "time": Shape("fo", "format output"),
    "stdbuf": Shape("ioe", "input output error"),
    "setsid": Shape(),
    "setpriv": Shape("", "reuid regid groups inh-caps ambient-caps bounding-set"),
    "chroot": Shape("", "userspec groups", operands=1),
    "taskset": Shape("", operands=1),
    "chrt": Shape("TPD", operands=1),
    "strace": Shape("eoOpPsSuEabIX"),
    "ltrace": Shape("eoplsunaAFD"),
    "unshare": Shape("RwSG", "root wd setuid setgid"),
    "nsenter": Shape("tSGrw", "target setuid setgid"),
    "prlimit": Shape("p", "pid"),
    "systemd-run": Shape(
        "pEutd", "property setenv unit description slice uid gid nice working-directory", assignments=True
    ),
    "systemd-inhibit": Shape("", "what who why mode"),
    "gosu": Shape(operands=1),
    "su-exec": Shape(operands=1),
    "pkexec": Shape("", "user"),
    "fakeroot": Shape("lsib"),
    "eatmydata": Shape(),
    "unbuffer": Shape(),
    "rlwrap": Shape("afHPSs"),
    "catchsegv": Shape(),
    "caffeinate": Shape("tw"),
    "dbus-run-session": Shape("", "config-file"),
    "tini": Shape("eps"),
    "dumb-init": Shape("r"),
    "proxychains": Shape("f"),
    "proxychains4": Shape("f"),
    "torsocks": Shape(),
    "firejail": Shape(),
    "exec": Shape("a"),
    "busybox": Shape(),
    "toybox": Shape(),
    "xvfb-run": Shape("enfps", "error-file server-num auth-file xauth-protocol server-args"),
    "direnv": Shape(operands=2),
    "entr": Shape(),
    "cpulimit": Shape("lpec", "limit pid exe"),
    "trickle": Shape("du"),
    "chronic": Shape(),
    "ts-node": Shape(),
    "valgrind": Shape(),
    "arch": Shape(),
    "sshpass": Shape("pfdP"),
    "cross-env": Shape(assignments=True),
    "daemonize": Shape("acepuloE"),
    "dotenv": Shape("ef"),
    "watchexec": Shape("wefid"),
    "proot": Shape("rbwq"),
    "newgrp": Shape(operands=1),
    "setarch": Shape("", operands=1),
    "linux32": Shape(),
    "linux64": Shape(),
    "i386": Shape(),
    "numactl": Shape("NCmipl", "cpunodebind physcpubind membind interleave preferred"),
    "chpst": Shape("uUbeEn/mdopfctr"),
    "setuidgid": Shape(operands=1),
    "start-stop-daemon": Shape("xapugndkcNPI", "exec startas pidfile user group name chdir signal retry chuid"),
}
_ENV = Shape("uCSa", "unset chdir split-string argv0", assignments=True)
_SPLIT = re.compile(r"(?:-[i0v]*S|--split-string=?)(.*)", re.DOTALL)
_XARGS = Shape("adEILnPsJR", "arg-file delimiter max-lines max-args max-procs max-chars replace process-slot-var")
_PARALLEL = Shape(
    "jaIdCLnNSs", "jobs arg-file delimiter colsep max-args joblog results sshlogin workdir tmpdir delay timeout"
)
_FLOCK = Shape("wEc", "timeout conflict-exit-code command wait")
_WATCH = Shape("ndc", "interval")
_FILTERS = frozenset(
    "-name -iname -path -ipath -wholename -regex -iregex -mtime -mmin -atime -amin -ctime -cmin -newer "
    "-anewer -cnewer -size -empty -user -group -uid -gid -perm -links -inum -samefile -lname -nouser "
    "-nogroup -fstype".split()
)
_RUNNERS = {  # program: subcommands after which a command follows
    "conda": ("run",), "mamba": ("run",), "perf": ("stat", "record"),
    "uv": ("run",), "poetry": ("run",), "pipenv": ("run",), "pdm": ("run",), "rye": ("run",), "hatch": ("run",),
    "bundle": ("exec",), "npx": (), "bunx": (), "pnpx": (), "mise": ("exec", "x"), "asdf": ("exec",), "nix-shell": (),
    "rbenv": ("exec",), "pyenv": ("exec",), "npm": ("exec", "x"), "pnpm": ("exec", "dlx"), "yarn": ("exec", "dlx"),
}  # fmt: skip


def _simple(runner: Runner, command: Command, state: State) -> str:
    shape = _SIMPLE[command.name]
    rest = shape.command(command.argv)
    if command.name == "command" and command.args[:1] in (("-v",), ("-V",), ("-pv",)):
        return f"/usr/bin/{rest[0]}" if len(rest) == 1 and plain(rest[0]) else SOME
    if command.name in ("sudo", "doas") and not rest and command.has("-s", "-i", "--shell", "--login"):
        return runner.read(command, command.stdin or "", state.fork())
    directory = shape.value(command.argv, "-D", "--chdir") if command.name == "sudo" else None
    if directory is not None:
        state = state.fork()
        state.cwd = state.path(directory)
    return runner.follow(command, rest, state)


def _env(runner: Runner, command: Command, state: State) -> str:
    argv = _split_string(tuple("-i" if word == "-" else word for word in command.argv))
    rest = _ENV.command(argv)
    if not rest:
        return UNKNOWN
    inner = state.fork()
    if (directory := _ENV.value(argv, "-C", "--chdir")) is not None:
        inner.cwd = inner.path(directory)
    for word in argv[1 : len(argv) - len(rest)]:
        name, equals, value = word.partition("=")
        if not equals:
            continue
        if name.isidentifier():
            inner.set(name, value)
        if runs_code(name):
            runner.given(name, value, inner, command)
    return runner.follow(command, rest, inner)


def _split_string(argv: tuple[str, ...]) -> tuple[str, ...]:
    """`env -S "a b" c` is `env a b c`."""
    for index, word in enumerate(argv):
        found = _SPLIT.fullmatch(word)
        if found is None:
            continue
        text, after = (found[1], index + 1) if found[1] else ("".join(argv[index + 1 : index + 2]), index + 2)
        return (*argv[:index], *_shell_words(source(text)), *argv[after:])
    return argv


def _lines(stdin: str | None) -> list[str]:
    """What a program that takes arguments from its input gets."""
    if stdin is None or not stdin.strip():
        return [SOME]
    if not whole(stdin):
        return [stdin.strip() if stdin.strip() != UNKNOWN else SOME]
    return [line for line in re.split(r"[\n\0]", stdin) if line.strip()] or [SOME]


def _xargs(runner: Runner, command: Command, state: State) -> str:
    rest = _XARGS.command(command.argv)
    if any(re.match(r"-[a-z0-9]*[ie]\{\}$|-i$", word) for word in command.options()):
        mark = "{}"
    else:
        mark = _XARGS.value(command.argv, "-I", "-J", "--replace") or ""
    lines = _lines(command.stdin)
    if not rest:
        return "\n".join(lines)
    if mark:
        for number, line in enumerate(lines):
            if runner.worth(number, (line,)):
                runner.follow(command, _replaced(runner, rest, mark, line.strip()), state, "")
        return UNKNOWN
    whole_lines = _XARGS.value(command.argv, "-d", "--delimiter") is not None or command.has("-0", "--null")
    words: list[str] = []
    for line in lines:
        words += [line] if whole_lines else _shell_words(line)
    return runner.follow(command, (*rest, *words), state, "")


def _replaced(runner: Runner, words: tuple[str, ...], mark: str, text: str) -> tuple[str, ...]:
    """With a text in place of its mark, if that is not too much."""
    size = sum(len(word) + word.count(mark) * len(text) for word in words)
    if not runner.spend(size):
        return words[:1]
    return tuple(word.replace(mark, text) for word in words)


def _shell_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _parallel(runner: Runner, command: Command, state: State) -> str:
    rest = _PARALLEL.command(command.argv)
    values = _lines(command.stdin)
    for index, word in enumerate(rest):
        if word in (":::", ":::+", "::::"):
            values = list(rest[index + 1 :]) if word != "::::" else [SOME]
            rest = rest[:index]
            break
    marked = "{}" in " ".join(rest)
    for number, value in enumerate(values):
        if runner.worth(number, (value,)):
            words = _replaced(runner, rest, "{}", value) if marked else (*rest, value)
            runner.read(command, " ".join(words), state)
    return UNKNOWN


def _find(runner: Runner, command: Command, state: State) -> str:
    words = command.args
    index = next(
        (i for i, word in enumerate(words) if word[:1] in ("-", "(", "!") and word not in ("-H", "-L", "-P")),
        len(words),
    )
    starts = [word for word in words[:index] if word not in ("-H", "-L", "-P")] or ["."]
    filtered = any(
        word in _FILTERS and not (following in ("*", STAR, ".*") and word.endswith(("name", "path", "regex")))
        for word, following in zip(words, (*words[1:], ""), strict=False)
    )
    while index < len(words):
        if words[index] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = index + 1
            while end < len(words) and words[end] not in (";", "+"):
                end += 1
            for start in () if runner.script.closed else starts:
                found = f"{start.rstrip('/')}/{SOME if filtered else STAR}"
                runner.follow(command, _replaced(runner, words[index + 1 : end], "{}", found), state, "")
            index = end
        elif words[index] in ("-printf", "-fprintf") and index + 1 < len(words):
            return ansi_c(words[index + 1])
        index += 1
    if filtered or not all(plain(start) for start in starts):
        return SOME
    return "\n".join(f"{start.rstrip('/')}/{STAR}" for start in starts)


def _flock(runner: Runner, command: Command, state: State) -> str:
    first = _FLOCK.first(command.argv)
    text = _FLOCK.value(command.argv, "-c", "--command")
    rest = command.argv[first + 1 :]
    if text is None and rest[:1] in (("-c",), ("--command",)):
        text = " ".join(rest[1:2])
    if text is not None:
        return runner.read(command, text, state)
    return runner.follow(command, rest, state)


def _watch(runner: Runner, command: Command, state: State) -> str:
    return runner.read(command, " ".join(_WATCH.command(command.argv)), state)


def _hyperfine(runner: Runner, command: Command, state: State) -> str:
    for text in command.operands("-w", "-r", "-m", "-M", "-S", "-n"):
        runner.read(command, text, state.fork())
    return UNKNOWN


def _runner(runner: Runner, command: Command, state: State) -> str:
    subcommands = _RUNNERS[command.name]
    words = command.args
    if subcommands:
        if not words or words[0] not in subcommands:
            return UNKNOWN
        words = words[1:]
    while words and (words[0] == "--" or (words[0].startswith("-") and words[0] not in ("-c", "--command", "--run"))):
        words = words[1:]
    if words[:1] in (("-c",), ("--command",), ("--call",), ("--run",)) and len(words) > 1:
        return runner.read(command, words[1], state)
    return runner.follow(command, words, state)


FOLLOWERS: dict[str, Follows] = {
    **dict.fromkeys(_SIMPLE, _simple),
    **dict.fromkeys(_RUNNERS, _runner),
    "env": _env,
    "genv": _env,
    "xargs": _xargs,
    "gxargs": _xargs,
    "parallel": _parallel,
    "find": _find,
    "gfind": _find,
    "flock": _flock,
    "watch": _watch,
    "hyperfine": _hyperfine,
}
