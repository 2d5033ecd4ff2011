"""Every command of the corpus, rewritten in every harmless way that takes one step: the verdict is the same.

`make fuzz` takes several steps, on randomly chosen commands; this test covers the first step completely.
"""

from __future__ import annotations

import pytest

from fuzz.rewriting import check_command, differs, list_complete_commands, steps
from nacre import Decision

PARTS = 12


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_one_harmless_rewriting_step_does_not_change_a_verdict(part: int) -> None:
    wrong: list[str] = []
    for command in list_complete_commands()[part::PARTS]:
        before = check_command(command)
        wrong += filter(None, (differs(command, before, text) for text in steps(command)))
    assert wrong == []


@pytest.mark.parametrize(
    "command",
    [
        "find . -type f | xargs rm -f",
        "find . ! -name keep.txt -type f | xargs rm -f",
        "find . -type f -print | xargs rm",
        'for f in $(find . -type f); do rm -f "$f"; done',
        'mapfile -t a < <(find . -type f); rm -f "${a[@]}"',
        'cd src && set -- rm -rf /; "$@"',
        '[ -n "$X" ] && set -- --force; git push "$@"',
        'cd src && g() { echo /; }; rm -rf "$(g)"',
    ],
)
def test_refused_command_stays_refused_after_rewriting(command: str) -> None:
    before = check_command(command)
    assert before.decision is Decision.REFUSE
    assert [wrong for text in steps(command) if (wrong := differs(command, before, text))] == []
