"""The state of a protected directory, and changes to it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from nacre.protected_paths.quarantine import QUARANTINED

State = dict[str, tuple[str, int, bytes]]


def quarantined_names(place: Path) -> list[str]:
    return [name for name in os.listdir(place) if name.endswith(QUARANTINED)]


def drop_quarantine_notes(said: list[str]) -> list[str]:
    """Return the messages without the fate of the other version."""
    return [each.partition(" What was there ")[0] for each in said]


def state(place: Path) -> State:
    """Return kind, mode and content of everything below, except what is quarantined."""
    found: State = {}
    kept = set(quarantined_names(place))
    for path in sorted(place.rglob("*")):
        if kept & set(path.relative_to(place).parts[:1]):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            entry = ("link", 0, os.fsencode(os.readlink(path)))
        elif stat.S_ISDIR(mode):
            entry = ("directory", stat.S_IMODE(mode), b"")
        else:
            entry = ("file", stat.S_IMODE(mode), path.read_bytes() if stat.S_ISREG(mode) else b"")
        found[os.fsdecode(os.fsencode(path.relative_to(place)))] = entry
    return found


def fill_directory(place: Path) -> None:
    (place / "hooks" / "deep" / "deeper").mkdir(parents=True)
    (place / "hooks" / "run").write_text("#!/bin/sh\n")
    (place / "hooks" / "run").chmod(0o751)
    (place / "hooks" / "deep" / "deeper" / "leaf").write_bytes(bytes(range(256)))
    (place / "hooks" / "deep" / "link").symlink_to("/no/such/place")
    (place / "hooks" / "deep").chmod(0o710)
    Path(os.fsdecode(os.fsencode(place) + b"/hooks/caf\xe9")).write_text("not UTF-8")
