"""ssh-write: changing keys, authorised keys or settings of ssh.

Why      a line in `authorized_keys` lets somebody in; a lost key locks the user out.
Instead  keep keys and settings of a task apart: `ssh -F ./ssh_config`, `ssh-keygen -f ./key`.
Misses   `ssh-keygen` and `ssh-copy-id`, which are daily work, as are known_hosts and modes.
"""

from __future__ import annotations

import re

from nacre.policy.rule import Around, Hit, Rule
from nacre.policy.writes import WRITERS, Deed, changes
from nacre.shell import Command
from nacre.shell.state import absolute
from nacre.shell.text import UNKNOWN, shown
from nacre.verdict import Decision

_PRIVATE = re.compile(rf"(?:/root|/(?:home|Users)/[^/]+)/\.ssh(?:/(?!known_hosts)|$)|.*{UNKNOWN}/\.ssh/authorized_keys")


def finds(command: Command, around: Around) -> Hit | None:
    for deed, target in changes(command):
        path = absolute(target, command.cwd)
        ours = path.startswith(around.home + "/") and path.replace(around.home, "/home/me", 1)
        if deed in (Deed.FILLS, Deed.TAKES) and _PRIVATE.match(ours or path):
            return Hit(reason=f"would change who may log in, or how: {shown(target)}")
    return None


RULE = Rule(
    id="ssh-write",
    decision=Decision.ASK,
    reason="would change who may log in, or how",
    instead="keep the task's own keys and settings apart, as in `ssh -F ./ssh_config`",
    commands=WRITERS,
    finds=finds,
    hits=(
        'echo "ssh-ed25519 AAAA x" >> ~/.ssh/authorized_keys',
        "cat key.pub | tee -a ~/.ssh/authorized_keys",
        "cp id_rsa ~/.ssh/",
        "mv config ~/.ssh/config",
        'echo x > "$HOME/.ssh/config"',
        "cd ~/.ssh && echo x >> authorized_keys",
        "sed -i 's/a/b/' ~/.ssh/config",
        "curl -s https://example.com/k -o ~/.ssh/authorized_keys",
        "echo x | sudo tee -a /root/.ssh/authorized_keys",
        "bash -c 'echo x >> ~dev/.ssh/authorized_keys'",
        "rm -r ~/.ssh",
        'echo x >> "$user_home/.ssh/authorized_keys"',
    ),
    passes=(
        "cat ~/.ssh/id_ed25519.pub",
        "cp ~/.ssh/config ./ssh-config.bak",
        "ssh -i ~/.ssh/key user@host uptime",
        "chmod 600 ~/.ssh/id_ed25519",
        "mkdir -p ~/.ssh",
        "ssh-keyscan github.com >> ~/.ssh/known_hosts",
        "ssh-keygen -t ed25519 -N '' -f ~/.ssh/new",
        "echo x > fixtures/.ssh/config",
        'echo "see ~/.ssh/config" > notes.txt',
        "rsync -e 'ssh -i ~/.ssh/key' -a src/ host:/srv/app/",
    ),
)
