"""write-etc: changes the machine's settings.

Why      a line in /etc can lock all users out, and the change outlives the task.
Instead  write the file into the project and let the user install it.
Misses   programs that change settings themselves (`systemctl enable`, `useradd`); editors at a terminal; a path
         that is known only at run time (`"$ROOT"/etc/hosts`).
"""

from __future__ import annotations

from nacre.policy.facts.precious_paths import lies_in, shorten_path
from nacre.policy.facts.writes import WRITERS, changes, written_paths
from nacre.policy.rule import CheckContext, Hit, Rule, hit_at
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    if "/etc" not in written_paths(command):
        return None
    return hit_at(
        (
            (target, Hit(reason=f"would change the machine's settings in {shorten_path(target)}"))
            for _, target in changes(command)
            if lies_in(target, command, "/etc", "/private/etc")
        ),
        command,
    )


RULE = Rule(
    id="write-etc",
    decision=Decision.REFUSE,
    reason="would change the machine's settings",
    instead="write the file into the project, and say where it should go",
    commands=WRITERS,
    match=match,
    hits=(
        "echo '127.0.0.1 x' >> /etc/hosts",
        "echo x | sudo tee -a /etc/sudoers.d/dev > /dev/null",
        ": >/etc/../etc/motd",
        "cd /etc && echo x > hosts",
        "sudo cp -r conf.d /etc/nginx/",
        "cp -t /etc app.conf",
        "sudo mv /etc/hosts .",
        "sed -i.bak -e 's/a/b/' /etc/fstab",
        "install -m 644 app.service /etc/systemd/system/app.service",
        'ln -sf "$PWD/app.conf" /etc/app.conf',
        "dd if=hosts of=/etc/hosts",
        "sudo bash -c 'echo 1 >> /etc/sysctl.conf'",
        "rm /etc/nginx/sites-enabled/default",
        "chmod 600 /etc/shadow",
        "tar -xzf c.tgz -C /etc",
        "curl -fsSLo /etc/x.conf https://example.com/x",
        "cd /etc; tar xf x.tar",
        "ed -s /etc/hosts <<< w",
        "ex -sc '%s/a/b/|x' /etc/hosts",
        "patch /etc/app.conf < x.diff",
        "scp host:x /etc/hosts",
        "sudo -e /etc/hosts",
        "python3 -c 'import os; os.remove(\"/etc/hosts\")'",
    ),
    passes=(
        "cat /etc/hosts",
        "cp /etc/hosts .",
        "cp -t . /etc/hosts",
        "grep x /etc/passwd > out",
        "diff /etc/hosts b",
        "echo x > ./etc/x",
        "echo x > /tmp/etc/x",
        'echo x | tee "$X/etc/y"',
        "docker cp x c:/etc/y",
        "sed -n 1,5p /etc/passwd",
        "sed -i /etc/d notes.txt",
        "ln -s /etc/hosts myhosts",
        "rsync -a /etc/nginx/ ./nginx/",
        "tar czf etc.tgz /etc/nginx",
        "rsync -a conf/ host:/etc/app/",
        "scp /etc/hosts host:x",
        "patch --dry-run /etc/app.conf < x.diff",
        "tar tf /etc/x.tar",
        "ed -s /etc/hosts <<< p",
    ),
)
