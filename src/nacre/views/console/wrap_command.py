"""Wraps a long command into lines that a shell reads as the same command when they are copied. Pure.

Breaks lines only between words, with a `\\` at the end, and only if the result parses to the same commands.
"""

from __future__ import annotations

from nacre.ansi.width import columns
from nacre.shell import read
from nacre.views.console.escape import escape_command, escape_text

_INDENT = "    "
_MAX_COMMAND_CHARS = 4000
"""Longest command that is wrapped: nobody copies a longer one from here, and the terminal may break it anywhere."""


def wrap(command: str, width: int) -> list[str]:
    """Return lines of up to `width` columns where possible. Text that hides something is returned escaped instead, and
    is then not for copying."""
    lines = command.strip("\n").split("\n")
    if any(escape_text(line) != line or escape_command(line) != line for line in lines):
        return [escape_command(line) for line in lines]
    if all(columns(line) <= width for line in lines) or "<<" in command or len(command) > _MAX_COMMAND_CHARS:
        return lines
    broken = [part for line in lines for part in _break_line(line, width)]
    return broken if _same("\n".join(lines), "\n".join(broken)) else lines


def _same(one: str, other: str) -> bool:
    a, b = (read(text, cwd="/", home="~") for text in (one, other))
    if a.syntax_error or b.syntax_error or a.gave_up or b.gave_up:
        return False
    return [each.argv for each in a.commands] == [each.argv for each in b.commands]


def _break_line(line: str, width: int) -> list[str]:
    """Break the line, again and again, at the last space outside quotes that fits. A word that is too long stays
    whole."""
    out: list[str] = []
    places, start = _break_positions(line), 0
    while columns((_INDENT if out else "") + line[start:]) > width:
        room = width - 2 - (len(_INDENT) if out else 0)
        after = [place for place in places if place > start + 1]
        fitting = [place for place in after if columns(line[start:place]) <= room]
        if not after:
            break
        place = fitting[-1] if fitting else after[0]
        out.append((_INDENT if out else "") + line[start:place].rstrip() + " \\")
        start = place + 1
    return [*out, (_INDENT if out else "") + line[start:].lstrip()]


def _break_positions(line: str) -> list[int]:
    """Return the positions of spaces between words, judged by quotes and brackets only; `wrap` verifies the result.

    The syntax tree cannot tell: it has the positions of commands, not those of their words, and most words are never
    objects. To keep them would slow each check down for the few commands that are wrapped.
    """
    found: list[int] = []
    closers: list[str] = []
    position = 0
    while position < len(line):
        letter = line[position]
        inside = closers[-1] if closers else ""
        if letter == "\\" and inside != "'":
            position += 1
        elif letter == inside:
            closers.pop()
        elif inside == "'":
            pass
        elif letter in "'\"`" and not (letter == "'" and inside == '"'):
            closers.append(letter)
        elif letter in "({" and inside != '"':
            closers.append({"(": ")", "{": "}"}[letter])
        elif letter == "$" and line[position + 1 : position + 2] in ("(", "{"):
            closers.append({"(": ")", "{": "}"}[line[position + 1]])
            position += 1
        elif letter == " " and not closers:
            found.append(position)
        elif letter == "#" and not closers and line[position - 1 : position] in ("", " "):
            break  # the rest of the line is a comment
        position += 1
    return found
