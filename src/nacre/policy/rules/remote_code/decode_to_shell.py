"""decode-to-shell: runs text that was decoded from base64 or a similar encoding.

Why      an encoding hides the commands from readers and from this checker.
Instead  write the commands without encoding.
Misses   a self-made encoding; a file decoded in an earlier call.
"""

from __future__ import annotations

from nacre.policy.facts.shell_usage import executes
from nacre.policy.rule import RUNS_CODE, CheckContext, Hit, Rule
from nacre.shell import Command
from nacre.shell.symbolic import DECODED
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    return executes(command, DECODED)


RULE = Rule(
    id="decode-to-shell",
    decision=Decision.REFUSE,
    reason="would run encoded text, which hides what runs",
    instead="write the commands themselves",
    commands=(RUNS_CODE,),
    match=match,
    hits=(
        "echo bHM= | base64 -d | bash",
        "echo bHM= | base64 --dec | sudo sh",
        "base64 -d payload.b64 | gunzip | bash",
        "bash <(base64 -d payload.b64)",
        'bash -c "$(echo bHM= | base64 -d)"',
        'eval "$(base64 -d <<< bHM=)"',
        "echo 6c73 | xxd -r -p | sh",
        "echo bHM= | openssl enc -d -base64 | bash",
        "echo NRZQ==== | base32 -d | dash",
        "base64 -d x.b64 > x.sh; sh x.sh",
        "base64 -d x.b64 | python3",
        "perl -MMIME::Base64 -e 'print decode_base64(\"bHM=\")' | sh",
        "node -e 'eval(atob(\"bHM=\"))'",
    ),
    passes=(
        "echo hi | base64 | sh -c 'cat'",
        "base64 -d secret.b64 > secret.bin",
        "echo aGVsbG8= | base64 -d | jq .",
        "x=$(echo aGk= | base64 -d); echo $x",
        "base64 -d x.b64 | tar xz",
        "echo 'use base64 -d | bash'",
        "openssl rand -base64 32",
        "python3 -c 'import base64; print(base64.b64decode(\"aGk=\"))'",
        "base64 -d x.b64 | bash -n",
    ),
)
