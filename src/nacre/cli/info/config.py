"""`nacre config`: prints the configuration of a directory, and the origin of each value."""

from __future__ import annotations

import os

from nacre.ansi.width import columns
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import printable, write_json, write_out
from nacre.config import load
from nacre.config.config import Config, Entry, Note, Origin
from nacre.config.settings import LISTS, SETTINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser

_DEFAULT = Origin("default")


class _Arguments(Arguments):
    COMMAND = "config"
    USAGE = (("[options]", "the settings here, and where each value came from"),)
    EPILOG = """\
Later places override earlier ones: the user's nacre/config.toml (of $XDG_CONFIG_HOME, or ~/.config) and
~/.claude/settings.json; the project's [tool.nacre] in pyproject.toml, .claude/settings.json and
.claude/settings.local.json, where they are stricter; variables NACRE_…; the options of a command.

exit codes: 0; 125 the configuration is invalid, or nacre itself failed.
"""

    all = False
    cwd: str | None = None
    json = False

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        add = parser.add_argument
        add("--all", action="store_true", help="also settings that are not set")
        add("--cwd", metavar="DIR", help="for commands that would run there (default: here)")
        add("--json", action="store_true", help="as one JSON object")


def config(words: list[str]) -> int:
    args = _Arguments.parse(words)
    found = load(args.cwd, lines=True)
    found.policy  # noqa: B018  # raises for settings that contradict each other; otherwise the first use would
    rows = [*_set(found), *(_unset(found) if args.all or args.json else ())]
    if args.json:
        write_json(
            {
                "settings": [{"key": key, "value": entry.value, **_origin(entry.origin)} for key, entry in rows],
                "not_applied": [{"key": each.key, "why": each.why, **_origin(each.origin)} for each in found.notes],
                "files": list(found.files),
            }
        )
    else:
        write_out("".join(f"{printable(line)}\n" for line in _lines(rows, found.notes)))
    return 0


def _set(found: Config) -> list[tuple[str, Entry]]:
    order = {key: place for place, key in enumerate((*SETTINGS, *(key.name for key in LISTS.values())))}
    keys = sorted(found.entries, key=lambda key: (order.get(key, len(order)), key))
    return [(key, entry) for key in keys for entry in found.entries[key]]


def _unset(found: Config) -> list[tuple[str, Entry]]:
    """Return the settings that are not configured, with their defaults. The profile in force decides some of them."""
    profile = found.profile
    known = {
        "profile": profile.name,
        "access": profile.access,
        "network": False,
        "unix_sockets": False,
        "allow_partial": False,
        "default_decision": profile.policy.default_decision.value,
        "audit": False,
        "claude_settings": True,
    }
    for name in ("timeout", "slow_timeout", "max_timeout", "output", "spill", "log"):
        known[name] = getattr(profile, name)
    return [(key, Entry(known.get(key), _DEFAULT)) for key in SETTINGS if key not in found.entries]


def _origin(origin: Origin) -> dict[str, object]:
    return {"layer": origin.layer, "file": origin.file, "line": origin.line}


def _lines(rows: list[tuple[str, Entry]], notes: tuple[Note, ...]) -> list[str]:
    if not rows and not notes:
        return ["Nothing is configured here. (--all lists all settings)"]
    cells = [(key, _format_value(entry.value), _place(entry.origin)) for key, entry in rows]
    first = max((columns(key) for key, _, _ in cells), default=0) + 2
    second = min(max((columns(value) for _, value, _ in cells), default=0), 40) + 2
    lines = [f"{_pad(key, first)}{_pad(value, second)}{place}".rstrip() for key, value, place in cells]
    if notes:
        lines += ["", "without effect:"]
        lines += [f"  {note.key}, {_place(note.origin)}: {note.why}" for note in notes]
    return lines


def _pad(text: str, width: int) -> str:
    """Add spaces up to a width in columns; a CJK character takes two."""
    return text + " " * (width - columns(text))


def _format_value(value: object) -> str:
    """Format a value for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _place(origin: Origin) -> str:
    home = os.path.expanduser("~")
    file = "~" + origin.file[len(home) :] if home != "/" and origin.file.startswith(home + "/") else origin.file
    return str(Origin(origin.layer, file, origin.line))
