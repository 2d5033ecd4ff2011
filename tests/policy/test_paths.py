"""What counts as precious, and what is its owner's business."""

from __future__ import annotations

import pytest

from nacre.policy.facts.precious_paths import Kind, precious
from nacre.policy.rule import Around
from nacre.shell import read

HOME = "/home/dev"
CWD = "/home/dev/project"


def kinds(text: str, *, cwd: str = CWD, mounts: tuple[str, ...] = ()) -> list[Kind | None]:
    """Of each argument of the last command."""
    command = read(text, cwd=cwd, home=HOME).commands[-1]
    places = [precious(word, command, Around(cwd, HOME, mounts=lambda: mounts)) for word in command.args]
    return [None if place is None else place.kind for place in places]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("/ // /. /.. /tmp/.. /* /*/ /{*,.*} ../../.. $HOME/../..", Kind.ROOT),
        ("/proc/self/root /proc/1/root/ /proc/thread-self/root/* /proc/$$/root /proc/self/root/..", Kind.ROOT),
        ("/proc/self/root/etc /proc/self/task/1/root/usr/* /proc/self/root/proc/1/root/var", Kind.SYSTEM),
        ("/proc/self/cwd /proc/self/cwd/* /proc/$$/cwd/ /proc/self/cwd/src/..", Kind.HERE),
        ("/proc/1/cwd /proc/1/cwd/*", Kind.ROOT),
        ("/proc/4242/cwd/* /proc/self/cwd/build /proc/self/cwdx", None),
        ("~ ~/ $HOME ~/* ~/.* ~/.??* ~/.[!.]* ~/./ .. ../* /home/alice /home/dev/project/..", Kind.HOME),
        ("/etc /etc/ /etc/* //usr// /usr/* /tmp/../var /usr/lib /u* /usr/lib* /tmp", Kind.SYSTEM),
        (". ./ * .* ./* */ */* .??* *.* $PWD $PWD/* ~/project src/.. ./src/../*", Kind.HERE),
        (".git .git/ ./.git $PWD/.git src/../.git .git/* .git/objects /srv/app/.git", Kind.HISTORY),
        ("/mnt/c /Volumes/disk /media/dev/stick", Kind.MOUNT),
        ("~/Documents ~/.config ~/Desktop/*", Kind.OWN),
        ("build ./build build/* *.o .*_cache a*b ~/.cache/* ~/tmp '*' '~' '.*' ../other", None),
        ("/tmp/* /tmp/x /var/lib/apt/lists/* /var/log/* /usr/local/go /opt/app /srv/x", None),
        (".git/index.lock template/.git /tmp/x/.git .github .git-old", None),
    ],
)
def test_a_place_is_known_however_it_is_written(words: str, kind: Kind | None) -> None:
    found = kinds(f"rm {words}")
    assert found == [kind] * len(found)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ('"$X"/*', Kind.ROOT),
        ('"$X/"', Kind.ROOT),
        ("/$X", Kind.ROOT),
        ('"$X/$Y"', None),
        ('"$X/etc"', Kind.SYSTEM),
        ('"$X"*', Kind.HERE),
        ("./$X", Kind.HERE),
        ('"$X"', None),
        ('"$X/dist"', None),
        ('"$X/tmp"', None),
        ('"$X/Library"', None),
        ('"$X/.git"', None),
        ('"${X:?}"/*', None),
        ('"build/$X"', None),
    ],
)
def test_what_is_unknown_counts_as_empty(word: str, kind: Kind | None) -> None:
    assert kinds(f"rm {word}") == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("cd / && rm usr", Kind.SYSTEM),
        ("cd / && rm *", Kind.ROOT),
        ("cd .. && rm project", Kind.HERE),
        ("cd build; rm *", Kind.HERE),
        ("cd build && rm *", None),
        ("cd src && rm ../.git", Kind.HISTORY),
        ("cd src/pkg && rm ../../dist", None),
        ("cd /tmp/x && rm /tmp/x", None),
        ('cd "$X" && rm build', None),
        ('cd "$X" && rm ..', Kind.HERE),
    ],
)
def test_a_name_is_read_where_the_command_runs(text: str, kind: Kind | None) -> None:
    assert kinds(text) == [kind]


def test_the_root_of_a_mount_is_precious_and_what_is_in_it_is_not() -> None:
    assert kinds("rm /data /data/* /data/x /tmp/*", mounts=("/data", "/tmp")) == [Kind.MOUNT, Kind.MOUNT, None, None]


def test_what_holds_the_working_directory_is_precious() -> None:
    assert kinds("rm /srv/app /srv/app/lib /srv/other", cwd="/srv/app/lib/x") == [Kind.HERE, Kind.HERE, None]
