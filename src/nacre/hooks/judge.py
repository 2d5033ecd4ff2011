"""What is asked about → Verdict. The one place where a hook's question is decided.

Today that is the checker with its default policy. Rules of the user's own (`nacre.permissions`) belong here: they take
the same `Asked` and the checker's verdict, and give the verdict that counts.
"""

from __future__ import annotations

from nacre.checking import examine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.hooks.dialect import Asked
    from nacre.verdict import Verdict


def judge(asked: Asked) -> Verdict:
    return examine(asked.command, cwd=asked.cwd, ask_plain=False)[1]
