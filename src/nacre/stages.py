"""Which commands the last pipeline of a text is made of, where bash can be asked how each of them ended. Pure.

For that a line is added to what bash evaluates. So not where that line would be seen, or taken for something else:
after a here-document that has no end, in a text that bash would stumble over, or where a trap looks at every command.
"""

from __future__ import annotations

from nacre.patterns import later

UNKNOWN = "…"
"""A command whose name only bash knows."""
_LONGEST = 20_000
_SEES_ALL = later(r"<<|DEBUG|\bset\s+-\w*v|verbose")


def stages(command: str) -> tuple[str, ...]:
    """Their names; nothing if there is no such pipeline, or bash cannot be asked."""
    text = command.rstrip()
    if "|" not in text or len(text) > _LONGEST or text.endswith("\\") or _SEES_ALL.search(text):
        return ()
    from nacre.shell.parse import TooDeep, parse
    from nacre.shell.syntax import Pipeline, Simple

    try:
        block, broken = parse(text)
    except TooDeep:
        return ()
    last = block.items[-1] if block.items and not broken else None
    if last is None or last.background or not isinstance(last.node, Pipeline):
        return ()
    return tuple(stage.name or UNKNOWN if isinstance(stage, Simple) else UNKNOWN for stage in last.node.stages)
