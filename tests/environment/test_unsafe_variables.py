from __future__ import annotations

import os
import subprocess

import pytest

from nacre.environment.build import build_env
from nacre.environment.unsafe_variables import is_unsafe
from tests.support.waiting import HANG_TIMEOUT_S

SOCKET_VARIABLES = """
    DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS_VERIFY CONTAINER_HOST BUILDKIT_HOST SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO
    DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DBUS_STARTER_ADDRESS XDG_RUNTIME_DIR KRB5CCNAME DISPLAY XAUTHORITY
    WAYLAND_DISPLAY NOTIFY_SOCKET LISTEN_FDS TMUX STY NVIM VSCODE_IPC_HOOK VSCODE_IPC_HOOK_CLI VSCODE_GIT_IPC_HANDLE
    VSCODE_INSPECTOR_OPTIONS KITTY_LISTEN_ON NODE_CHANNEL_FD
"""
BASH_VARIABLES = "BASH_ENV ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT PROMPT_COMMAND PS4 CDPATH TMOUT BASH_FUNC_eval%%"
PLAIN = """
    PATH HOME XDG_CONFIG_HOME XDG_DATA_DIRS XDG_SESSION_TYPE KUBECONFIG DOCKER_CONFIG DOCKER_BUILDKIT SSH_CONNECTION
    SSH_CLIENT GNUPGHOME VSCODE_PID TERM_PROGRAM ENVIRONMENT ENV_NAME BASH BASH_VERSION PS1 BASH_FUNC_module%%
    BASH_FUNC_which%% LD_LIBRARY_PATH PYTHONPATH VIRTUAL_ENV NODE_OPTIONS
"""


@pytest.mark.req("M-11")
@pytest.mark.parametrize("name", [*SOCKET_VARIABLES.split(), *BASH_VARIABLES.split()])
def test_socket_and_bash_variables_are_removed_unless_in_pass_env(name: str) -> None:
    inherited = {name: "/x"}
    assert build_env(inherited, env={}).removed == (name,)
    assert build_env(inherited, env={}, pass_env=[name]).values[name] == "/x"


@pytest.mark.parametrize("name", PLAIN.split())
def test_other_variables_are_not_unsafe(name: str) -> None:
    assert not is_unsafe(name)


@pytest.mark.parametrize(
    ("spell", "command"),
    [
        ({"SHELLOPTS": "noexec"}, "echo plain"),
        ({"BASHOPTS": "nullglob"}, "[[ $(echo no-such-file*) ]] && echo plain"),
        ({"POSIXLY_CORRECT": "1"}, "[[ :$SHELLOPTS: == *:posix:* ]] || echo plain"),
        ({"CDPATH": "/"}, "cd usr 2>/dev/null || echo plain"),
        ({"BASH_ARGV0": "other"}, "[[ $0 != other ]] && echo plain"),
        ({"FUNCNEST": "1"}, "f() { echo plain; }; g() { f; }; g"),
        ({"BASH_FUNC_echo%%": "() { builtin echo hijacked; }"}, "echo plain"),
        ({"BASH_FUNC_eval%%": "() { echo hijacked; }"}, "eval 'echo plain'"),
        ({"BASH_XTRACEFD": "1"}, "{ set -x; : traced; } 2>/dev/null; { set +x; } 2>/dev/null; echo plain"),
    ],
    ids=lambda case: next(iter(case)) if isinstance(case, dict) else "",
)
def test_variables_that_change_bash_behaviour_have_no_effect(
    spell: dict[str, str], command: str, tmp_path: os.PathLike[str]
) -> None:
    def run_bash(env: dict[str, str]) -> str:
        return subprocess.run(
            ["bash", "-c", command],
            env=env,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_TIMEOUT_S,
            check=False,
        ).stdout

    inherited = {"PATH": os.environ["PATH"], **spell}
    assert run_bash(build_env(inherited, env={}).values) == "plain\n"
    assert run_bash(inherited) != "plain\n", "these variables have no effect on this bash, so the test proves nothing"


def test_file_named_in_BASH_ENV_does_not_run_before_the_command(tmp_path: os.PathLike[str]) -> None:
    early = os.path.join(tmp_path, "early")
    with open(early, "w") as file:
        file.write("echo early\n")
    env = build_env({"PATH": os.environ["PATH"], "BASH_ENV": early}, env={}).values
    said = subprocess.run(
        ["bash", "-c", "echo command"], env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT_S, check=True
    )
    assert said.stdout == "command\n"
