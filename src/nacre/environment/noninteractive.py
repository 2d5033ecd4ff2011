"""What keeps programs from waiting for a person, and from drawing for one. Data only.

`NONINTERACTIVE` is laid over what is inherited, `INTERACTIVE` is taken out of it; the caller's own `env` wins over
both. Standard input is `/dev/null` and there is no terminal, which already stops most prompts: here is what that does
not stop, because it would open a window, wait for an editor, or look as if it had worked.

Nothing here hides the user's configuration: git keeps its identity, aliases, credential helpers and `core.sshCommand`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NONINTERACTIVE: Mapping[str, str] = MappingProxyType(
    {
        # Pagers: a no-op on a pipe, but `script`, `docker -t` and the like give programs a terminal of their own.
        "PAGER": "cat",
        "GIT_PAGER": "cat",  # over core.pager
        "MANPAGER": "cat",
        # Editors: `true` leaves the text as it is. `git commit` then fails ("Aborting commit due to empty commit
        # message"), and what has a good text already goes on: --amend, merge, revert, rebase --continue. An editor that
        # fails would break those. `code --wait` would wait for ever.
        "EDITOR": "true",
        "VISUAL": "true",
        "GIT_EDITOR": "true",  # over core.editor
        "GIT_SEQUENCE_EDITOR": "true",  # over sequence.editor; `rebase -i` takes its list as it is
        # Passwords: fail with a message instead of asking.
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",  # empty, not absent: git then asks neither core.askPass nor SSH_ASKPASS
        "GCM_INTERACTIVE": "never",  # Git Credential Manager's window
        "SSH_ASKPASS_REQUIRE": "never",
        # Questions that have a default answer.
        "DEBIAN_FRONTEND": "noninteractive",
        "PIP_NO_INPUT": "1",
        "npm_config_yes": "true",  # `npm init` at the end of its input exits 1 and says nothing
        # Colour and cursor movement.
        "TERM": "dumb",
        "NO_COLOR": "1",
        "CLICOLOR": "0",
        "CARGO_TERM_COLOR": "never",
        # Advertisements for new versions.
        "NO_UPDATE_NOTIFIER": "1",
        "npm_config_update_notifier": "false",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "GH_NO_UPDATE_NOTIFIER": "1",
    }
)
# Left alone on purpose. CI: changes what is built and tested. GIT_SSH_COMMAND: would override core.sshCommand, and ssh
# without a terminal fails by itself. GIT_CONFIG_GLOBAL, GIT_CONFIG_NOSYSTEM: the identity is in there.

_INTERACTIVE = """
    FORCE_COLOR CLICOLOR_FORCE COLORTERM PY_COLORS PYTHON_COLORS MYPY_FORCE_COLOR ANSIBLE_FORCE_COLOR GTEST_COLOR
    npm_config_color NPM_CONFIG_COLOR FORCE_HYPERLINK TTY_COMPATIBLE TTY_INTERACTIVE GH_FORCE_TTY
    SYSTEMD_PAGER GH_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER AWS_PAGER
    SUDO_EDITOR GH_EDITOR KUBE_EDITOR HGEDITOR SVN_EDITOR
    SSH_ASKPASS SUDO_ASKPASS GPG_TTY
"""
INTERACTIVE = frozenset(_INTERACTIVE.split())
"""Values that ask for colour or a terminal (node warns when both FORCE_COLOR and NO_COLOR are set), special pagers and
editors that would win over PAGER and EDITOR, and ways to ask a person. GPG_TTY: pinentry would draw on the terminal of
the person who started the host, and wait; without it, signing with a locked key fails at once."""
