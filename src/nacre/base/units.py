"""Sizes and durations: parsed from what people write, formatted short for columns or as words for sentences. Pure."""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex

_SIZE = lazy_regex(r"(\d{1,15}(?:\.\d{1,9})?) ?([kmgtKMGT]?)(?:[iI]?[bB])?")
_SPAN = lazy_regex(r"(\d{1,15}(?:\.\d{1,9})?) ?(ms|s|m|min|h|d|)")
_SIZE_UNITS = "KMGTPE"
_SIZE_WORDS = ((2**30, "GB"), (2**20, "MB"), (2**10, "KB"))
_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def parse_size(word: str) -> int | None:
    """Parse a size (`512M`, `4GiB`, `1000`) into bytes; None if it is not one."""
    found = _SIZE.fullmatch(word)
    return None if found is None else int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))


def parse_duration(word: str) -> float | None:
    """Parse a duration (`90`, `1.5`, `300ms`, `5m`, `7d`) into seconds; None if it is not one."""
    found = _SPAN.fullmatch(word)
    return None if found is None else float(found[1]) * _UNITS[found[2]]


def format_size(count: int) -> str:
    """Format a number of bytes for a column, in at most five characters: `999`, `1.2K`, `64M`."""
    value, unit = float(count), ""
    for name in _SIZE_UNITS:
        if value < 999.5:
            break
        value, unit = value / 1024, name
    return f"{value:.1f}{unit}" if unit and value < 9.95 else f"{value:.0f}{unit}"


def describe_size(count: float, *, exact: bool = False) -> str:
    """Describe a number of bytes for a sentence: `999 bytes`, `1.5 KB`, `64 MB`. With `exact` it is never rounded."""
    for unit, name in _SIZE_WORDS:
        if count >= unit and not (exact and count * 10 % unit):
            number = count / unit
            return f"{number:{'g' if exact else '.0f' if number >= 999.5 else '.3g'}} {name}"
    return f"{count:{',' if exact else 'g'}} byte{'' if count == 1 else 's'}"


def format_duration(seconds: float, *, precise: bool = False) -> str:
    """Format a duration for a column, in at most six characters: `4.2s`, `42s`, `3m05s`, `2h07m`, `3d04h`.

    With `precise` it has milliseconds below 10 s and tenths below a minute: `4213ms`, `42.1s`.
    """
    if precise and seconds < 60:
        return f"{seconds * 1000:.0f}ms" if seconds < 10 else f"{seconds:.1f}s"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    days, rest = divmod(whole, 86400)
    return f"{days}d{rest // 3600:02}h" if days < 1000 else f"{days}d"


def describe_duration(seconds: float) -> str:
    """Describe a duration for a sentence: `4.2 s`, `42 s`, `3 min 5 s`, `2 h 7 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 2 * 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
