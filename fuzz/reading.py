"""Fuzz `check` with any text: generated scripts, corpus commands, both damaged, up to 100 KB.

It must never raise and never exceed its time limit, and positions in the verdict must be within the text. The verdict
must be right where it is known: for an unmodified command of the corpus, and for any text after a refused line.
"""

from __future__ import annotations

import json
import random
import time

from fuzz.corpus import HOME, PROJECT, commands, harmless
from nacre import check
from nacre.policy.permissions.patterns import Permissions
from nacre.policy.policy import Policy
from nacre.verdict import Decision
from tests.support.scripts import Inventor

SIGNS = "'\"`$(){}[]<>|&;\\\n #!~*?=\0\ud800é\u202e\ufdd0:,@%^+-"
PIECES = (
    "$(",
    "${",
    "<<E\n",
    "E\n",
    "))",
    "((",
    "[[",
    "]]",
    "case x in ",
    "esac",
    ";;",
    "do ",
    "done",
    "if ",
    "fi",
    "function f ",
    "\\\n",
    "$'",
    "&&",
    "||",
    "<(",
    "eval ",
    "bash -c '",
    "sudo ",
    "xargs ",
    "trap '",
    "-exec ",
    "\n",
)
MAX_TEXT_CHARS = 100_000
"""Maximum length of a text, in characters."""
BASE_CPU_S, CPU_S_PER_CHAR = 2.0, 0.0001
"""CPU seconds that a verdict may take, and the addition per character of the text: 12 s for the largest."""
_REFUSED, _RULE = "rm -rf /", "rm-root-or-home"
"""A line, and the rule that refuses it."""
_INCOMPLETE_RULE = "too-complex"
"""The rule that refuses a text that is not parsed to its end."""
_MAX_JUDGED_CHARS = 10_000
"""Maximum length of a text whose verdict is also checked, in characters; all texts are timed."""
_POLICY = Policy(
    permissions=Permissions(allow=("Bash(git:*)",), ask=("Bash(make *)",), deny=("Bash(curl * | sh)", "Bash(rm:*)"))
)


class Reading:
    def __init__(self) -> None:
        self._commands = commands()

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> str:
        made = random.Random(seed)
        text = Inventor(seed).script() if made.random() < 0.5 else made.choice(self._commands)
        for _ in range(made.choice((0, 1, 1, 2, 5, 20))):
            text = _damage_text(text, made, self._commands)
        if made.random() < 0.005:  # a large one; `fuzz.repeating` makes many
            text = (text + made.choice(("", "\n", ";", " ", "|"))) * (
                made.choice((1_000, 10_000, MAX_TEXT_CHARS)) // (len(text) + 1) + 1
            )
        return text[:MAX_TEXT_CHARS]

    def command(self, made: random.Random) -> str:
        """Return a command of the corpus."""
        return made.choice(self._commands)

    def slow(self, text: str, policy: Policy, took: float) -> str:
        """Return an error if `took` seconds are too long; else an empty string."""
        most = BASE_CPU_S + CPU_S_PER_CHAR * len(text)
        return f"it takes {took:.1f} s for {len(text):,} characters, and may take {most:.1f}" if took > most else ""

    def wrong(self, text: str) -> str:
        text = text.replace("\0", "")
        for policy in (Policy(), _POLICY):
            start = time.process_time()
            verdict = check(text, cwd=PROJECT, policy=policy)
            if said := self.slow(text, policy, time.process_time() - start):
                return said
            json.dumps(verdict.to_dict())
            for finding in verdict.findings:
                if not 0 <= finding.start <= finding.end <= len(text):
                    return f"{finding.rule} points outside of the text: {finding.start}, {finding.end}"
        return _find_misjudgement(text) if len(text) <= _MAX_JUDGED_CHARS else ""


def _find_misjudgement(text: str) -> str:
    wanted = harmless().get(text)
    verdict = check(text, cwd=PROJECT, env={"HOME": HOME})
    if wanted is not None and (verdict.decision is Decision.ALLOW) is not wanted:
        return f"it is {'harmless' if wanted else 'not harmless'}, and the verdict is {verdict.decision.value}"
    # bash has run a line before it reads the next: nothing after it can undo it or prevent it from being run
    verdict = check(f"{_REFUSED}\n{text}", cwd=PROJECT)
    if verdict.decision is not Decision.REFUSE or verdict.rule not in (_RULE, _INCOMPLETE_RULE):
        return f"behind `{_REFUSED}` the verdict is {verdict.decision.value} ({verdict.rule})"
    return ""


def _damage_text(text: str, made: random.Random, commands: list[str]) -> str:
    at = made.randrange(len(text) + 1)
    match made.randrange(6):
        case 0:
            return text[:at] + made.choice(SIGNS) + text[at:]
        case 1:
            return text[:at] + made.choice(PIECES) + text[at:]
        case 2:
            return text[:at] + text[at + made.randint(1, 5) :]
        case 3:
            return text[:at] + made.choice(commands)
        case 4:
            return text[:at] + text[at : at + made.randint(1, 40)] * made.randint(2, 5) + text[at:]
        case _:
            return made.choice(PIECES) + text
