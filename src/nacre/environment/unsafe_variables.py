"""Variables that hand a command more than data: a name in, yes or no out.

Doors: addresses of sockets behind which something acts with more rights than the command, outside its process tree
(container daemons, key agents, the session bus, the display, the terminal, the editor). Removing the address does not
lock the door (`/var/run/docker.sock` is where it always is); that is the sandbox's work. It keeps programs from walking
through it unasked.

Spells: what makes bash run something before the command, or read the command's text in another way than it is written.
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
#   start processes that no kill of ours reaches. Podman, PipeWire, Wayland and gpg-agent listen there too.
# DISPLAY: every X client may read and type keys in every other window; and a dialogue waits for a person.
# TMUX and the terminals: `tmux send-keys` types into the person's shell.
# DOCKER_TLS_VERIFY, DOCKER_CERT_PATH: left alone they would turn the default host into another one.
# NOTIFY_SOCKET: a command could tell systemd that the host has stopped.
# NODE_CHANNEL_FD: names a descriptor that commands do not get; node dies of it.
# VSCODE_INSPECTOR_OPTIONS: makes every node wait for the editor's debugger.

_SOCKET_PREFIXES = ("DBUS_", "VSCODE_IPC_HOOK", "VSCODE_GIT_")

_BASH_VARIABLES = """
    BASH_ENV ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT BASH_COMPAT BASH_XTRACEFD BASH_ARGV0 FUNCNEST TMOUT CDPATH
    PS0 PS4 PROMPT_COMMAND
"""
# Seen with bash 5.2: SHELLOPTS=noexec runs nothing at all, POSIXLY_CORRECT switches to posix mode, TMOUT ends
# `read` early, CDPATH sends `cd src` elsewhere and prints it, BASH_ARGV0 is `$0`. PS4 may
# run commands under `set -x` (not for root).

_BUILTINS = """
    . : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo
    enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
    pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit
    umask unalias unset wait
"""
# Exported functions are inherited (`module` on a cluster), but one named `eval` or `cd` would stand in the builtin's
# place, in our own prelude too.

SOCKET_VARIABLES = frozenset(_SOCKET_VARIABLES.split())
BASH_VARIABLES = frozenset(_BASH_VARIABLES.split()) | {f"BASH_FUNC_{name}%%" for name in _BUILTINS.split()}
_NAMES = SOCKET_VARIABLES | BASH_VARIABLES


def is_unsafe(name: str) -> bool:
    """Whether a variable opens a door or changes what the text means."""
    return name in _NAMES or name.startswith(_SOCKET_PREFIXES)
