"""Decide whether a variable gives a command more than data.

Socket variables: addresses of sockets behind which a process acts with more rights than the command, outside its
process tree (container daemons, key agents, the session bus, the display, the terminal, the editor). Removing the
address does not block access (`/var/run/docker.sock` has a fixed path); that is the sandbox's job. It keeps programs
from using such a socket by default.

Bash variables: they make bash run code before the command, or interpret the script in another way than it is written.
"""

from __future__ import annotations

_SOCKET_VARIABLES = """
    DOCKER_HOST DOCKER_CONTEXT DOCKER_CERT_PATH DOCKER_TLS_VERIFY BUILDKIT_HOST
    CONTAINER_HOST CONTAINER_CONNECTION CONTAINER_SSHKEY CONTAINERD_ADDRESS LXD_DIR LXD_SOCKET INCUS_DIR INCUS_SOCKET
    SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO GNOME_KEYRING_CONTROL GNOME_KEYRING_PID
    KRB5CCNAME KRB5_KTNAME KRB5_CLIENT_KTNAME
    XDG_RUNTIME_DIR AT_SPI_BUS_ADDRESS SESSION_MANAGER ICEAUTHORITY
    DISPLAY WAYLAND_DISPLAY WAYLAND_SOCKET XAUTHORITY MIR_SOCKET SWAYSOCK I3SOCK HYPRLAND_INSTANCE_SIGNATURE
    NOTIFY_SOCKET WATCHDOG_PID WATCHDOG_USEC LISTEN_PID LISTEN_FDS LISTEN_FDNAMES
    TMUX TMUX_PANE STY ZELLIJ KITTY_LISTEN_ON WEZTERM_UNIX_SOCKET ALACRITTY_SOCKET
    GNOME_TERMINAL_SCREEN GNOME_TERMINAL_SERVICE KONSOLE_DBUS_SERVICE KONSOLE_DBUS_SESSION KONSOLE_DBUS_WINDOW
    NVIM NVIM_LISTEN_ADDRESS EMACS_SERVER_FILE EMACS_SOCKET_NAME VSCODE_INSPECTOR_OPTIONS
    NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE
"""
# XDG_RUNTIME_DIR: without DBUS_SESSION_BUS_ADDRESS, clients look for the bus in there, and `systemd-run --user` would
#   start processes that nacre cannot kill. Podman, PipeWire, Wayland and gpg-agent listen there too.
# DISPLAY: every X client may read and type keys in every other window; and a dialogue waits for a person.
# TMUX and the terminals: `tmux send-keys` types into the user's shell.
# DOCKER_TLS_VERIFY, DOCKER_CERT_PATH: without DOCKER_HOST, they would change the default host.
# NOTIFY_SOCKET: a command could report to systemd that the host has stopped.
# NODE_CHANNEL_FD: names a descriptor that commands do not inherit; node crashes.
# VSCODE_INSPECTOR_OPTIONS: makes every node process wait for the editor's debugger.

_SOCKET_PREFIXES = ("DBUS_", "VSCODE_IPC_HOOK", "VSCODE_GIT_")

_BASH_VARIABLES = """
    BASH_ENV ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT BASH_COMPAT BASH_XTRACEFD BASH_ARGV0 FUNCNEST TMOUT CDPATH
    PS0 PS4 PROMPT_COMMAND
"""
# Seen with bash 5.2: SHELLOPTS=noexec runs nothing at all, POSIXLY_CORRECT switches to posix mode, TMOUT ends `read`
# early, CDPATH sends `cd src` elsewhere and prints it, BASH_ARGV0 sets `$0`. PS4 may run commands under `set -x` (not
# for root).

_BUILTINS = """
    . : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo
    enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
    pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit
    umask unalias unset wait
"""
# Exported functions are inherited (`module` on a cluster), but one named `eval` or `cd` would replace the builtin, in
# nacre's own prelude too.

SOCKET_VARIABLES = frozenset(_SOCKET_VARIABLES.split())
BASH_VARIABLES = frozenset(_BASH_VARIABLES.split()) | {f"BASH_FUNC_{name}%%" for name in _BUILTINS.split()}
_NAMES = SOCKET_VARIABLES | BASH_VARIABLES


def is_unsafe(name: str) -> bool:
    """Return whether a variable gives access to a socket or changes how bash interprets the script."""
    return name in _NAMES or name.startswith(_SOCKET_PREFIXES)
