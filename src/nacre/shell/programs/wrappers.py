"""Programs that run another program, given in their own arguments: sudo, env, timeout, xargs, …"""

from __future__ import annotations

import re
import shlex

from nacre.shell.command import Command
from nacre.shell.env_code import runs_code
from nacre.shell.interpreter.commands import ProgramHandler
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import State
from nacre.shell.option_tables import SUDO
from nacre.shell.options import OptionSpec
from nacre.shell.symbolic import UNKNOWN, UNKNOWN_NONEMPTY, is_fully_known, to_source
from nacre.shell.syntax.escapes import ansi_c

_SIMPLE = {
    "sudo": SUDO,
    "doas": OptionSpec("uCa"),
    "command": OptionSpec(),
    "builtin": OptionSpec(),
    "nohup": OptionSpec(),
    "nice": OptionSpec("n", "adjustment"),
    "ionice": OptionSpec("cnpPu", "class classdata pid pgid uid"),
    "timeout": OptionSpec("ks", "kill-after signal", operands=1),
    "gtimeout": OptionSpec("ks", "kill-after signal", operands=1),
    "time": OptionSpec("fo", "format output", flags="append portability verbose quiet"),
    "stdbuf": OptionSpec("ioe", "input output error"),
    "setsid": OptionSpec(flags="ctty fork wait"),
    "setpriv": OptionSpec(
        "",
        "reuid regid ruid euid rgid egid groups inh-caps ambient-caps bounding-set securebits pdeathsig "
        "selinux-label apparmor-profile landlock-access landlock-rule",
        flags="init-groups keep-groups clear-groups no-new-privs reset-env",
    ),
    "chroot": OptionSpec("", "userspec groups", operands=1),
    "taskset": OptionSpec("", operands=1, flags="all-tasks pid cpu-list"),
    "chrt": OptionSpec("TPD", "sched-runtime sched-period sched-deadline", operands=1),
    "strace": OptionSpec(
        "eoOpPsSuEabIX",
        "output attach string-limit trace-path user env columns detach-on interruptible summary-sort-by trace "
        "abbrev verbose raw signal status read write fault inject decode-fds summary-columns kvm",
    ),
    "ltrace": OptionSpec("eoplsunaAFD", "output library align debug config indent where"),
    "unshare": OptionSpec(
        "RwSGl",
        "root wd setuid setgid propagation setgroups map-user map-group map-users map-groups load-interp "
        "monotonic boottime",
    ),
    "nsenter": OptionSpec("tSGrw", "target setuid setgid"),
    "prlimit": OptionSpec("po", "pid output", attached="cdefilmnqrstuvxy"),
    "systemd-run": OptionSpec(
        "pEutHM",
        "property setenv unit description slice uid gid nice working-directory service-type machine host "
        "on-active on-boot on-calendar timer-property path-property socket-property",
        flags="user system scope pty pipe wait quiet collect same-dir shell",
        assignments=True,
    ),
    "systemd-inhibit": OptionSpec("", "what who why mode"),
    "gosu": OptionSpec(operands=1),
    "su-exec": OptionSpec(operands=1),
    "pkexec": OptionSpec("u", "user"),
    "fakeroot": OptionSpec("lsib", "lib faked"),
    "eatmydata": OptionSpec(),
    "unbuffer": OptionSpec(),
    "rlwrap": OptionSpec("bcfgHlmOpPqsStwz", attached="a"),
    "catchsegv": OptionSpec(),
    "caffeinate": OptionSpec("tw"),
    "dbus-launch": OptionSpec("", "config-file autolaunch"),
    "dbus-run-session": OptionSpec("", "config-file dbus-daemon"),
    "tini": OptionSpec("eps"),
    "dumb-init": OptionSpec("r"),
    "proxychains": OptionSpec("f"),
    "proxychains4": OptionSpec("f"),
    "torsocks": OptionSpec(),
    "firejail": OptionSpec(),
    "exec": OptionSpec("a"),
    "busybox": OptionSpec(),
    "toybox": OptionSpec(),
    "xvfb-run": OptionSpec("enfpsw", "error-file server-num auth-file xauth-protocol server-args wait"),
    "direnv": OptionSpec(operands=2),
    "entr": OptionSpec(),
    "cpulimit": OptionSpec("lpec", "limit pid exe"),
    "trickle": OptionSpec("du"),
    "chronic": OptionSpec(),
    "ts-node": OptionSpec(),
    "valgrind": OptionSpec(),
    "arch": OptionSpec(),
    "sshpass": OptionSpec("pfdP"),
    "ssh-agent": OptionSpec("aEOPt"),
    "cgexec": OptionSpec("g"),
    "cross-env": OptionSpec(assignments=True),
    "daemonize": OptionSpec("acepuloE"),
    "dotenv": OptionSpec("ef"),
    "watchexec": OptionSpec("wefid"),
    "proot": OptionSpec("rbwq"),
    "newgrp": OptionSpec(operands=1),
    "setarch": OptionSpec("", operands=1),
    "linux32": OptionSpec(),
    "linux64": OptionSpec(),
    "i386": OptionSpec(),
    "numactl": OptionSpec("NCmipl", "cpunodebind physcpubind membind interleave preferred"),
    "chpst": OptionSpec("uUbeEn/mdopfctr"),
    "setuidgid": OptionSpec(operands=1),
    "s6-setuidgid": OptionSpec(operands=1),
    "faketime": OptionSpec(operands=1),
    "winpty": OptionSpec(),
}
_AFTER_DASHES = {"op": "run", "doppler": "run", "dotenvx": "run", "aws-vault": "exec", "chamber": "exec"}
"""Programs that run the command after `--`, and the subcommand with which they do."""
ENV = OptionSpec(
    "uCSaP",
    "unset chdir split-string argv0",
    flags="ignore-environment ignore-signal null debug block-signal default-signal list-signal-handling",
    assignments=True,
)
_SPLITS = ("-S", "--split-string")
_XARGS = OptionSpec(
    "adEILnPsJRS",
    "arg-file delimiter max-args max-procs max-chars process-slot-var",
    flags="null no-run-if-empty verbose interactive exit open-tty show-limits replace eof max-lines",
    attached="iel",
)
_PARALLEL = OptionSpec(
    "jaIdCELnNPSs",
    "jobs max-procs arg-file delimiter colsep max-args max-replace-args joblog results sshlogin sshloginfile workdir "
    "wd tmpdir delay timeout retries load memfree nice block recend recstart tagstring shellquote env basefile return "
    "halt tempdir trc profile",
)
_DAEMON = OptionSpec(
    "xapugndkcNPIrRs",
    "exec startas pidfile user group name chdir signal retry chuid chroot nicelevel procsched iosched umask "
    "output ppid",
    flags="start stop status test background make-pidfile quiet verbose oknodo remove-pidfile",
)
_FLOCK = OptionSpec("wEc", "timeout conflict-exit-code command wait", flags="close exclusive nonblock shared unlock")
_LOADER = OptionSpec(
    "", "library-path inhibit-rpath audit preload argv0 glibc-hwcaps-prepend glibc-hwcaps-mask", flags="list verify"
)
_WATCH = OptionSpec("nqs", "interval equexit shotsdir", attached="d")
_CALLS = ("-c", "--call", "--command", "--run")
_BINARIES = frozenset(("rimraf", "del", "del-cli"))
"""Programs with rules among those that `yarn` and `pnpm` run without a subcommand."""
_NODE = OptionSpec("pcwFC", "package call workspace prefix dir filter registry cache userconfig")
_PYTHON = OptionSpec(
    "pwiCPEG",
    "with with-editable with-requirements extra group only-group python package project directory env-file index-url "
    "index extra-index-url default-index find-links cache-dir config-file venv-path env name prefix cwd",
)
_RUNNERS: dict[str, tuple[tuple[str, ...], OptionSpec]] = {  # the subcommands that a command follows, and the options
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "rye", "hatch"), (("run",), _PYTHON)),
    **dict.fromkeys(("conda", "mamba"), (("run",), OptionSpec("np", "name prefix cwd"))),
    **dict.fromkeys(("npx", "bunx", "pnpx"), ((), _NODE)),
    **dict.fromkeys(("npm", "pnpm", "yarn"), (("exec", "x", "dlx"), _NODE)),
    **dict.fromkeys(("asdf", "bundle", "rbenv", "pyenv"), (("exec",), OptionSpec())),
    "mise": (("exec", "x"), OptionSpec("cCjE", "command cd jobs env")),
    "nix-shell": ((), OptionSpec("AIEijp", "run command attr include expr keep packages argstr cores max-jobs")),
    "perf": (
        ("stat", "record"),
        OptionSpec(
            "eptrCGxoIDMFcmuj", "event pid tid repeat cpu cgroup output delay freq count mmap-pages uid call-graph"
        ),
    ),
}


def _simple(interpreter: Interpreter, command: Command, state: State) -> str:
    shape = _SIMPLE[command.name]
    rest = shape.command(command.argv)
    if command.name == "command" and command.args[:1] in (("-v",), ("-V",), ("-pv",)):
        return interpreter.commands.program_output(command, "which", state)
    if command.name in ("sudo", "doas") and not rest and command.has_flag("-s", "-i", "--shell", "--login"):
        return interpreter.scripts.run_text(command, command.stdin or "", state.child())
    directory = shape.value(command.argv, "-D", "--chdir") if command.name == "sudo" else None
    if directory is not None:
        state = state.fork()
        state.cwd = state.path(directory)
    if command.name == "prlimit" and rest and re.fullmatch(r"[\d:]+|unlimited", rest[0]):  # as people expect it
        rest = rest[1:]
    return interpreter.scripts.run_wrapped(command, rest, state)


def _env(interpreter: Interpreter, command: Command, state: State) -> str:
    argv = _split_string(tuple("-i" if word == "-" else word for word in command.argv))
    rest = ENV.command(argv)
    if not rest:
        return UNKNOWN
    inner, given = state.fork(), ENV.leading(argv)
    if (directory := ENV.value(argv, "-C", "--chdir")) is not None:
        inner.cwd = inner.path(directory)
    for name in given.values("-u", "--unset"):
        inner.forget(name)
    if given.has("-i", "--ignore-environment"):
        inner.attributes = inner.attributes.replace_values(exported=frozenset())
    for word in argv[1 : len(argv) - len(rest)]:
        name, equals, value = word.partition("=")
        if not equals:
            continue
        if name.isidentifier():
            inner.set(name, value)
            inner.attributes = inner.attributes.replace_values(exported=inner.attributes.exported | {name})
        if runs_code(name):
            interpreter.scripts.run_env_code(name, value, inner, command)
    return interpreter.scripts.run_wrapped(command, rest, inner)


def _split_string(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the argv with `-S` expanded: `env -S "a b" c` is `env a b c`."""
    index = 1
    while index < len(argv) and argv[index][:1] == "-" and argv[index] != "--":
        options, taken = ENV.option(argv[index], argv[index + 1] if index + 1 < len(argv) else None)
        after = index + 1 + taken
        for name, value in options:
            if name in _SPLITS and value is not None:
                return (*argv[:index], *_shell_words(to_source(value)), *argv[after:])
        index = after
    return argv


def _lines(stdin: str | None, between: str | None = None) -> list[str]:
    """Return the arguments that a program reads from its input. `between`: the delimiter, as for `xargs -d`."""
    if stdin is None or not stdin.strip():
        return [UNKNOWN_NONEMPTY]
    if not is_fully_known(stdin):
        return [stdin.strip() if stdin.strip() != UNKNOWN else UNKNOWN_NONEMPTY]
    if between is not None:
        ends = ansi_c(between)[:1] or "\0"
        return [line for line in stdin.split(ends) if line] if is_fully_known(between) else [UNKNOWN_NONEMPTY]
    return [line for line in re.split(r"[\n\0]", stdin) if line.strip()] or [UNKNOWN_NONEMPTY]


def _xargs(interpreter: Interpreter, command: Command, state: State) -> str:
    rest = _XARGS.command(command.argv)
    given = _XARGS.leading(command.argv)
    marks = given.values("-I", "-J", "-i", "--replace") or ["{}"] * given.has("-i", "--replace")
    mark = marks[-1] if marks else ""
    if not mark and _empty(command) and not given.has("-a", "--arg-file"):
        return interpreter.scripts.run_wrapped(command, () if given.has("-r", "--no-run-if-empty") else rest, state, "")
    file = given.values("-a", "--arg-file")
    ends = given.values("-d", "--delimiter")
    lines = _lines(
        interpreter.pipes.content(state.path(file[-1]), state, command.frame) if file else command.stdin,
        ends[-1] if ends else None,
    )
    if not rest:
        return "\n".join(lines)
    if mark:
        for number, line in enumerate(lines):
            if interpreter.budget.should_follow(number, (line,)):
                interpreter.scripts.run_wrapped(
                    command, interpreter.scripts.substitute_marker(rest, mark, line.strip()), state, ""
                )
        return UNKNOWN
    whole_lines = given.has("-d", "--delimiter", "-0", "--null")
    words: list[str] = []
    for line in lines:
        words += [line] if whole_lines else _shell_words(line)
    return interpreter.scripts.run_wrapped(command, (*rest, *words), state, "")


def _empty(command: Command) -> bool:
    """Tell whether the input is certainly empty."""
    nothing = any(each.operator == "<" and each.target == "/dev/null" for each in command.redirects)
    return nothing or (command.stdin is not None and not command.stdin.strip())


def _shell_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _parallel(interpreter: Interpreter, command: Command, state: State) -> str:
    rest = _PARALLEL.command(command.argv)
    values = _lines(command.stdin)
    for index, word in enumerate(rest):
        if word in (":::", ":::+", "::::"):
            values = list(rest[index + 1 :]) if word != "::::" else [UNKNOWN_NONEMPTY]
            rest = rest[:index]
            break
    marked = "{}" in " ".join(rest)
    for number, value in enumerate(values):
        if interpreter.budget.should_follow(number, (value,)):
            words = interpreter.scripts.substitute_marker(rest, "{}", value) if marked else (*rest, value)
            interpreter.scripts.run_text(command, " ".join(words), state)
    return UNKNOWN


def _after_dashes(interpreter: Interpreter, command: Command, state: State) -> str:
    words = command.args
    if "--" not in words or _AFTER_DASHES[command.name] not in words[: words.index("--")]:
        return UNKNOWN
    return interpreter.scripts.run_wrapped(command, words[words.index("--") + 1 :], state)


def _capsh(interpreter: Interpreter, command: Command, state: State) -> str:
    """Follow the shell that capsh starts, or the capsh that it becomes with `==`. Its arguments follow `--` or `-+`."""
    for index, word in enumerate(command.argv):
        if word in ("--", "-+"):
            shells = [each[8:] for each in command.argv[:index] if each.startswith("--shell=")]
            return interpreter.scripts.run_wrapped(
                command, (*(shells[-1:] or ("bash",)), *command.argv[index + 1 :]), state
            )
    return UNKNOWN


def _loader(interpreter: Interpreter, command: Command, state: State) -> str:
    """Follow the program that the dynamic linker runs: `ld-linux-x86-64.so.2 /bin/rm -r x` is `/bin/rm -r x`."""
    looks = _LOADER.leading(command.argv).has("--list", "--verify")
    return UNKNOWN if looks else interpreter.scripts.run_wrapped(command, _LOADER.command(command.argv), state)


def _daemon(interpreter: Interpreter, command: Command, state: State) -> str:
    """Follow the program of start-stop-daemon, which is the value of an option; its arguments follow `--`."""
    given = _DAEMON.parse(command.args)
    program = given.values("-a", "--startas") or given.values("-x", "--exec")
    return (
        interpreter.scripts.run_wrapped(command, (*program[-1:], *given.operands), state.fork()) if program else UNKNOWN
    )


def _flock(interpreter: Interpreter, command: Command, state: State) -> str:
    first = _FLOCK.first(command.argv)
    text = _FLOCK.value(command.argv, "-c", "--command")
    rest = command.argv[first + 1 :]
    if text is None:  # it may come after the file
        text = _FLOCK.value(("flock", *rest), "-c", "--command")
    if text is not None:
        return interpreter.scripts.run_text(command, text, state.child())
    return interpreter.scripts.run_wrapped(command, rest, state)


def _watch(interpreter: Interpreter, command: Command, state: State) -> str:
    return interpreter.scripts.run_text(command, " ".join(_WATCH.command(command.argv)), state.child())


def _hyperfine(interpreter: Interpreter, command: Command, state: State) -> str:
    for text in command.operands("-w", "-r", "-m", "-M", "-S", "-n"):
        interpreter.scripts.run_text(command, text, state.child())
    return UNKNOWN


def _runner(interpreter: Interpreter, command: Command, state: State) -> str:
    subcommands, shape = _RUNNERS[command.name]
    argv = command.argv
    if subcommands:
        argv = argv[shape.first(argv) :]
        if command.name in ("pnpm", "yarn") and argv and argv[0] in _BINARIES:
            return interpreter.scripts.run_wrapped(command, argv, state)
        if not argv or argv[0] not in subcommands:
            return UNKNOWN
    text = shape.value(argv, *_CALLS)
    if text is not None:
        return interpreter.scripts.run_text(command, text, state)
    words = argv[shape.first(argv) :]
    if command.name == "mise" and "--" in words:  # `mise exec node@20 -- npm test`
        words = words[words.index("--") + 1 :]
    return interpreter.scripts.run_wrapped(command, words, state)


HANDLERS: dict[str, ProgramHandler] = {
    **dict.fromkeys(_SIMPLE, _simple),
    **dict.fromkeys(_RUNNERS, _runner),
    **dict.fromkeys(_AFTER_DASHES, _after_dashes),
    "capsh": _capsh,
    "ld.so": _loader,
    "env": _env,
    "genv": _env,
    "xargs": _xargs,
    "gxargs": _xargs,
    "parallel": _parallel,
    "flock": _flock,
    "start-stop-daemon": _daemon,
    "watch": _watch,
    "hyperfine": _hyperfine,
}
