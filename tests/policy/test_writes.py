"""The files that the checker sees a command change."""

from __future__ import annotations

import pytest

from nacre.policy.facts.writes import WriteKind, changes
from nacre.shell import read

FILLS, TAKES, MARKS, MAKES = WriteKind.WRITE, WriteKind.REMOVE, WriteKind.CHANGE_MODE, WriteKind.CREATE_DIRECTORY


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ls > a 2>> b", [(FILLS, "a"), (FILLS, "b")]),
        ("ls 2>&1 < a >&-", []),
        ("cp a b c", [(FILLS, "c")]),
        ("cp -at c a b", [(FILLS, "c")]),
        ("cp --target-directory=c a", [(FILLS, "c")]),
        ("mv -f a b", [(FILLS, "b"), (TAKES, "a")]),
        ("ln -s a", []),
        ("install -m 755 -o root a b", [(FILLS, "b")]),
        ("install -d -m 755 a b", [(MAKES, "a"), (MAKES, "b")]),
        ("rsync -a a b --exclude x", [(FILLS, "b")]),
        ("dd if=a of=b", [(FILLS, "b")]),
        ("ddrescue a b map", [(FILLS, "b")]),
        ("tee -a a b", [(FILLS, "a"), (FILLS, "b")]),
        ("sed s/a/b/ f", []),
        ("sed -i /etc/d f g", [(FILLS, "f"), (FILLS, "g")]),
        ("sed -ni.bak -e p -e d f", [(FILLS, "f")]),
        ("sed --in-place p f", [(FILLS, "f")]),
        ("perl -pi -e s/a/b/ f", [(FILLS, "f")]),
        ("perl -pie s/a/b/ f", [(FILLS, "f")]),
        ("perl -e 'print 1' f", []),
        ("chmod -x f", [(MARKS, "f")]),
        ("chmod -R 755 f", [(MARKS, "f")]),
        ("chown --reference=a f", [(MARKS, "f")]),
        ("curl -fsSLo f https://example.com", [(FILLS, "f")]),
        ("curl -o- https://example.com", []),
        ("wget -qO f https://example.com", [(FILLS, "f")]),
        ("wget -P d https://example.com", [(FILLS, "d")]),
        ("tar -C d -xf a.tar", [(FILLS, "d")]),
        ("tar xzf a.tgz -C d", [(FILLS, "d")]),
        ("tar czf a.tgz -C d x", []),
        ("unzip a.zip -d d", [(FILLS, "d")]),
        ("gpg --dearmor -o f", [(FILLS, "f")]),
        ("openssl enc -d -in a -out b", [(FILLS, "b")]),
        ("mkdir -m 700 -p d", [(MAKES, "d")]),
        ("rm -rf a b", [(TAKES, "a"), (TAKES, "b")]),
        ("touch -d yesterday f", [(FILLS, "f")]),
        ("find . -fprint a -fprintf b %p -fls c", [(FILLS, "a"), (FILLS, "b"), (FILLS, "c")]),
        ("/bin/t?e f", [(FILLS, "f")]),
        ("$X f", []),
    ],
)
def test_files_changed_by_a_command_are_found(text: str, found: list[tuple[WriteKind, str]]) -> None:
    command = read(text, cwd="/home/dev/project", home="/home/dev").commands[0]
    assert [tuple(change) for change in changes(command)] == found
