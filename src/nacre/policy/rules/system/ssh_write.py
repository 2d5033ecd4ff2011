"""ssh-write: changes keys, authorised keys or settings of ssh.

Why      a line in `authorized_keys` gives another person access; a lost key locks the user out.
Instead  use separate keys and settings for a task: `ssh -F ./ssh_config`, `ssh-keygen -f ./key`.
Misses   `ssh-keygen` and `ssh-copy-id`, which are daily work, as are known_hosts and modes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.facts.precious_paths import shorten_path
from nacre.policy.facts.writes import WRITERS, WriteKind, changes, written_paths
from nacre.policy.rule import CheckContext, Hit, Rule, hit_at
from nacre.shell import Command
from nacre.shell.paths import absolute
from nacre.shell.symbolic import UNKNOWN
from nacre.verdict import Decision

_SSH = lazy_regex(r"(.*)/\.ssh(?:/(?!known_hosts)(.*)|$)", re.DOTALL)
_HOME = lazy_regex(r"/root|/(?:home|Users)/[^/]+")


def match(command: Command, context: CheckContext) -> Hit | None:
    return hit_at(_targets(command, context), command) if "/.ssh" in written_paths(command) else None


def _targets(command: Command, context: CheckContext) -> Iterator[tuple[str, Hit]]:
    for deed, target in changes(command):
        found = _SSH.fullmatch(absolute(target, command.cwd))
        if found is None or deed not in (WriteKind.WRITE, WriteKind.REMOVE):
            continue
        owner, name = found.groups()
        guessed = owner.endswith(UNKNOWN) and (name or "").startswith("authorized_keys")
        if owner in (context.home, command.home) or _HOME.fullmatch(owner) or guessed:
            yield target, Hit(reason=f"would change who may log in, or how: {shorten_path(target)}")


RULE = Rule(
    id="ssh-write",
    decision=Decision.ASK,
    reason="would change who may log in, or how",
    instead="keep the task's own keys and settings apart, as in `ssh -F ./ssh_config`",
    commands=WRITERS,
    match=match,
    hits=(
        'echo "ssh-ed25519 AAAA x" >> ~/.ssh/authorized_keys',
        "cat key.pub | tee -a ~/.ssh/authorized_keys",
        "cp id_rsa ~/.ssh/",
        "mv config ~/.ssh/config",
        'echo x > "$HOME/.ssh/config"',
        "cd ~/.ssh && echo x >> authorized_keys",
        "sed -i 's/a/b/' ~/.ssh/config",
        "curl -s https://example.com/k -o ~/.ssh/authorized_keys",
        "echo x | sudo tee -a /home/dev/.ssh/authorized_keys",
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
