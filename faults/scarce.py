"""Descriptors and processes that run out: from the start, or while commands run."""

from __future__ import annotations

import os

from faults.round import Round, need
from tests.support.users import as_user, free_uid

_PROGRAM = "import sys; from faults import starved; getattr(starved, sys.argv[1])(*sys.argv[2:])"
_ROOM = 6
"""For a keeper, a shell, two processes of its own, a thread of the program, and a task's keeper that is about to go."""


async def descriptors(round: Round) -> None:
    """Not enough for all commands at once; none, while some run or before the first; fewer than a keeper needs.

    Commands are confined, or not; but not to `workspace`, where the program itself looks at what is protected, and that
    it cannot is an error.
    """
    kind, most = round.random.choice(
        (
            ("few_descriptors", round.random.randrange(16, 90)),
            ("no_descriptors", round.random.choice(("", "cold"))),
            ("few_for_the_keeper", round.random.randrange(96, 130)),
            ("too_few_descriptors", round.random.randrange(32, 96)),
        )
    )
    access = round.random.choice([mode for mode in round.bash.access_modes if mode != "workspace"])
    said = await round.program(_PROGRAM, kind, round.store, most, access)
    need(said == "good\n", f"{kind} {most} {access}: it said {said!r}")


async def processes(round: Round) -> None:
    """No more of them for a user, before the first command or after it. The kernel counts all that a user has, so it is
    one of its own: root is held by no such limit, and anybody else has other programs that come and go."""
    user, store = free_uid(), round.place / "theirs"
    through = as_user(user)
    round.place.chmod(0o755)
    store.mkdir()
    os.chown(store, user, user)
    room, cold = round.random.randrange(_ROOM, 16), round.random.choice(("", "cold"))
    said = await round.program(_PROGRAM, "no_processes", store, room, cold, through=through)
    need(said == "good\n", f"room for {room} {cold}: it said {said!r}")
