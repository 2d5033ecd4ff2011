"""Variables that keep programs from waiting for a person and from terminal output meant for one. Data only.

`NONINTERACTIVE` is set over the inherited environment, `INTERACTIVE` is removed from it; the caller's own `env` wins
over both. Standard input is `/dev/null` and there is no terminal, which already stops most prompts. These variables
handle the rest: programs that would open a window, wait for an editor, or appear to have succeeded.

Nothing here hides the user's configuration: git keeps its identity, aliases, credential helpers and `core.sshCommand`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NONINTERACTIVE: Mapping[str, str] = MappingProxyType(
    {
        # Pagers: a no-op on a pipe, but `script`, `docker -t` and the like give programs their own terminal.
        "PAGER": "cat",
        "GIT_PAGER": "cat",  # overrides core.pager
        "MANPAGER": "cat",
        # Editors: `true` leaves the message unchanged. `git commit` then fails ("Aborting commit due to empty commit
        # message"), and commands that already have a valid message succeed: --amend, merge, revert, rebase --continue.
        # An editor that fails would break those. `code --wait` would wait for ever.
        "EDITOR": "true",
        "VISUAL": "true",
        "GIT_EDITOR": "true",  # overrides core.editor
        "GIT_SEQUENCE_EDITOR": "true",  # overrides sequence.editor; `rebase -i` accepts its list unchanged
        # Passwords: fail with a message instead of prompting.
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",  # empty, not unset: git then runs neither core.askPass nor SSH_ASKPASS
        "GCM_INTERACTIVE": "never",  # Git Credential Manager's window
        "SSH_ASKPASS_REQUIRE": "never",
        # Prompts that have a default answer.
        "DEBIAN_FRONTEND": "noninteractive",
        "PIP_NO_INPUT": "1",
        "npm_config_yes": "true",  # at EOF, `npm init` exits 1 without a message
        # Colour and cursor movement.
        "TERM": "dumb",
        "NO_COLOR": "1",
        "CLICOLOR": "0",
        "CARGO_TERM_COLOR": "never",
        # Notices of new versions.
        "NO_UPDATE_NOTIFIER": "1",
        "npm_config_update_notifier": "false",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "GH_NO_UPDATE_NOTIFIER": "1",
    }
)
# Not set, on purpose. CI: changes how programs build and test. GIT_SSH_COMMAND: would override core.sshCommand, and ssh
# without a terminal fails anyway. GIT_CONFIG_GLOBAL, GIT_CONFIG_NOSYSTEM: the user's git identity is in those files.

_INTERACTIVE = """
    FORCE_COLOR CLICOLOR_FORCE COLORTERM PY_COLORS PYTHON_COLORS MYPY_FORCE_COLOR ANSIBLE_FORCE_COLOR GTEST_COLOR
    npm_config_color NPM_CONFIG_COLOR FORCE_HYPERLINK TTY_COMPATIBLE TTY_INTERACTIVE GH_FORCE_TTY
    SYSTEMD_PAGER GH_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER AWS_PAGER
    SUDO_EDITOR GH_EDITOR KUBE_EDITOR HGEDITOR SVN_EDITOR
    SSH_ASKPASS SUDO_ASKPASS GPG_TTY
"""
INTERACTIVE = frozenset(_INTERACTIVE.split())
"""Variables that force colour or a terminal (node warns when both FORCE_COLOR and NO_COLOR are set), pagers and editors
that would win over PAGER and EDITOR, and programs that prompt a person. GPG_TTY: pinentry would draw on the terminal of
the person who started the host, and wait; without it, signing with a locked key fails at once.
"""
