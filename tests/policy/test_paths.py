"""Precious places, and places that their owner may delete."""

from __future__ import annotations

import pytest

from nacre.policy.facts.precious_paths import PlaceKind, protected_place
from nacre.policy.rule import CheckContext
from nacre.shell import read

HOME = "/home/dev"
CWD = "/home/dev/project"


def kinds(text: str, *, cwd: str = CWD, mounts: tuple[str, ...] = ()) -> list[PlaceKind | None]:
    """Return the kind of place of each argument of the last command."""
    command = read(text, cwd=cwd, home=HOME).commands[-1]
    places = [
        protected_place(word, command, CheckContext(cwd, HOME, find_mount_points=lambda: mounts))
        for word in command.args
    ]
    return [None if place is None else place.kind for place in places]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("/ // /. /.. /tmp/.. /* /*/ /{*,.*} ../../.. $HOME/../..", PlaceKind.ROOT),
        ("/proc/self/root /proc/1/root/ /proc/thread-self/root/* /proc/$$/root /proc/self/root/..", PlaceKind.ROOT),
        ("/proc/self/root/etc /proc/self/task/1/root/usr/* /proc/self/root/proc/1/root/var", PlaceKind.SYSTEM),
        ("/proc/self/cwd /proc/self/cwd/* /proc/$$/cwd/ /proc/self/cwd/src/..", PlaceKind.HERE),
        ("/proc/1/cwd /proc/1/cwd/*", PlaceKind.ROOT),
        ("/proc/4242/cwd/* /proc/self/cwd/build /proc/self/cwdx", None),
        ("~ ~/ $HOME ~/* ~/.* ~/.??* ~/.[!.]* ~/./ .. ../* /home/alice /home/dev/project/..", PlaceKind.HOME),
        ("/etc /etc/ /etc/* //usr// /usr/* /tmp/../var /usr/lib /u* /usr/lib* /tmp", PlaceKind.SYSTEM),
        (". ./ * .* ./* */ */* .??* *.* $PWD $PWD/* ~/project src/.. ./src/../*", PlaceKind.HERE),
        (".git .git/ ./.git $PWD/.git src/../.git .git/* .git/objects /srv/app/.git", PlaceKind.HISTORY),
        ("/mnt/c /Volumes/disk /media/dev/stick", PlaceKind.MOUNT),
        ("~/Documents ~/.config ~/Desktop/*", PlaceKind.OWN),
        ("build ./build build/* *.o .*_cache a*b ~/.cache/* ~/tmp '*' '~' '.*' ../other", None),
        ("/tmp/* /tmp/x /var/lib/apt/lists/* /var/log/* /usr/local/go /opt/app /srv/x", None),
        (".git/index.lock template/.git /tmp/x/.git .github .git-old", None),
    ],
)
def test_protected_place_is_recognised_in_any_spelling(words: str, kind: PlaceKind | None) -> None:
    found = kinds(f"rm {words}")
    assert found == [kind] * len(found)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ('"$X"/*', PlaceKind.ROOT),
        ('"$X/"', PlaceKind.ROOT),
        ("/$X", PlaceKind.ROOT),
        ('"$X/$Y"', None),
        ('"$X/etc"', PlaceKind.SYSTEM),
        ('"$X"*', PlaceKind.HERE),
        ("./$X", PlaceKind.HERE),
        ('"$X"', None),
        ('"$X/dist"', None),
        ('"$X/tmp"', None),
        ('"$X/Library"', None),
        ('"$X/.git"', None),
        ('"${X:?}"/*', None),
        ('"build/$X"', None),
    ],
)
def test_unknown_variable_counts_as_empty(word: str, kind: PlaceKind | None) -> None:
    assert kinds(f"rm {word}") == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("cd / && rm usr", PlaceKind.SYSTEM),
        ("cd / && rm *", PlaceKind.ROOT),
        ("cd .. && rm project", PlaceKind.HERE),
        ("cd build; rm *", PlaceKind.HERE),
        ("cd build && rm *", None),
        ("cd src && rm ../.git", PlaceKind.HISTORY),
        ("cd src/pkg && rm ../../dist", None),
        ("cd /tmp/x && rm /tmp/x", None),
        ('cd "$X" && rm build', None),
        ('cd "$X" && rm ..', PlaceKind.HERE),
    ],
)
def test_relative_path_is_resolved_where_the_command_runs(text: str, kind: PlaceKind | None) -> None:
    assert kinds(text) == [kind]


def test_mount_point_is_protected_but_not_the_files_in_it() -> None:
    assert kinds("rm /data /data/* /data/x /tmp/*", mounts=("/data", "/tmp")) == [
        PlaceKind.MOUNT,
        PlaceKind.MOUNT,
        None,
        None,
    ]


def test_parents_of_the_working_directory_are_protected() -> None:
    assert kinds("rm /srv/app /srv/app/lib /srv/other", cwd="/srv/app/lib/x") == [PlaceKind.HERE, PlaceKind.HERE, None]
