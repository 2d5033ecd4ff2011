"""Handlers of programs, by name. A module is loaded on first use: most programs never occur in a script."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.shell.interpreter.commands import ProgramHandler

MODULES = {
    "printers": (
        "GET aria2c aws base32 base64 basename basenc bunzip2 bzcat bzip2 cat column cp curl curlie cut date "
        "dirname dos2unix echo egrep envsubst expand fetch fgrep fmt fold ftp gbase64 gcloud gh gpg grep gsutil "
        "gunzip gzip head hostname http https iconv id install jq links ln logname ls lynx lz4 mktemp mv nc ncat "
        "netcat nl nproc openssl printenv printf pv readlink realpath rev scp seq socat sponge strings tac tail "
        "tee telnet tr tty type uname uncompress unexpand uniq unxz unzstd uudecode w3m wc wget wget2 which "
        "whoami xh xxd xz xzcat yq zcat zstd zstdcat"
    ),
    "exec_options": (
        "bsdtar dd ed ex gdb git gmake gsed gtar make man mariadb mysql nvim psql rg rsync sed sftp sort split "
        "sqlite3 tar vi vim yes zip"
    ),
    "wrappers": (
        "arch asdf aws-vault builtin bundle bunx busybox caffeinate capsh catchsegv cgexec chamber chpst chronic "
        "chroot chrt command conda cpulimit cross-env daemonize dbus-launch dbus-run-session direnv doas doppler "
        "dotenv dotenvx dumb-init eatmydata entr env exec fakeroot faketime firejail flock genv gosu gtimeout gxargs "
        "hatch hyperfine i386 ionice ld.so linux32 linux64 ltrace mamba mise newgrp nice nix-shell nohup npm npx "
        "nsenter numactl op parallel pdm perf pipenv pkexec pnpm pnpx poetry prlimit proot proxychains proxychains4 "
        "pyenv rbenv rlwrap rye s6-setuidgid setarch setpriv setsid setuidgid ssh-agent sshpass start-stop-daemon "
        "stdbuf strace su-exec sudo systemd-inhibit systemd-run taskset time timeout tini torsocks toybox trickle "
        "ts-node unbuffer unshare uv valgrind watch watchexec winpty xargs xvfb-run yarn"
    ),
    "find": "fd fdfind find gfind",
    "shells": (
        ". Rscript ash at awk bash batch bun crontab csh dash deno eval expect fish gawk groovy julia ksh lua mawk "
        "mksh mosh nawk node nodejs osascript pdksh perl php pwsh pypy pypy3 python python2 python3 python3.10 "
        "python3.11 python3.12 python3.13 python3.14 python3.15 python3.16 python3.17 python3.18 python3.19 "
        "python3.6 python3.7 python3.8 python3.9 rbash ruby runuser screen script sg sh source ssh su tclsh tcsh "
        "tmux trap yash zsh"
    ),
    "nested_nacre": "nacre",
    "builtins": (
        ": [ alias break cd chdir compgen continue declare exit export false getopts jobs let local mapfile popd "
        "hash pushd pwd read readarray readonly return set shift shopt test true typeset umask unalias unset wait"
    ),
}
_MODULE_NAMES = {name: module for module, names in MODULES.items() for name in names.split()}


def is_known(name: str) -> bool:
    """Tell whether a program has a handler. Loads nothing."""
    return _registered_name(name) in _MODULE_NAMES


def _registered_name(name: str) -> str:
    """Return the name that a program is registered under. The dynamic linker has a name for each architecture."""
    return "ld.so" if name.startswith(("ld-linux", "ld-musl-", "ld64")) and ".so." in name else name


class ProgramRegistry:
    """A lazy mapping from the names of programs to their handlers."""

    def __init__(self) -> None:
        self._loaded: dict[str, ProgramHandler] = {}

    def get(self, name: str) -> ProgramHandler | None:
        """Return the handler of a program, loading its module if needed; None if it has no handler."""
        name = _registered_name(name)
        known = self._loaded.get(name)
        if known is None and name in _MODULE_NAMES:
            self._loaded.update(import_module(f"nacre.shell.programs.{_MODULE_NAMES[name]}").HANDLERS)
            return self._loaded[name]
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULE_NAMES)


HANDLERS = ProgramRegistry()
