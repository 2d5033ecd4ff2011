"""Run out of file descriptors or processes: from the start, or while commands run."""

from __future__ import annotations

import os

from faults.round import Round, need
from tests.support.users import as_user, free_uid

_PROGRAM = "import sys; from faults import starved; getattr(starved, sys.argv[1])(*sys.argv[2:])"
_MIN_FREE_PROCESSES = 6
"""For a keeper, a shell, two processes of a command, a thread of the program, and a task's keeper about to
exit."""


async def descriptors(round: Round) -> None:
    """Descriptors for only some of the commands; none, while some run or before the first; or fewer than a keeper
    needs.

    Commands are sandboxed or not; but not with `workspace`, where the host itself examines the protected paths, and
    failing to do so is an error.
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
    need(said == "good\n", f"{kind} {most} {access}: it printed {said!r}")


async def processes(round: Round) -> None:
    """No more processes for a user, before the first command or after it.

    The kernel counts all processes of a user, so the test needs a separate one: root is exempt from this limit, and
    other users have programs that start and exit meanwhile.
    """
    user, store = free_uid(), round.place / "theirs"
    through = as_user(user)
    round.place.chmod(0o755)
    store.mkdir()
    os.chown(store, user, user)
    room, cold = round.random.randrange(_MIN_FREE_PROCESSES, 16), round.random.choice(("", "cold"))
    said = await round.program(_PROGRAM, "no_processes", store, room, cold, through=through)
    need(said == "good\n", f"room for {room} {cold}: it printed {said!r}")
