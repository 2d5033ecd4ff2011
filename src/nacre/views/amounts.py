"""Sizes and times, as short as people write them. Pure."""

from __future__ import annotations

_NAMES = "KMGTPE"


def short_size(count: int) -> str:
    """In at most five characters: `999`, `1.2K`, `64M`."""
    value, unit = float(count), ""
    for name in _NAMES:
        if value < 999.5:
            break
        value, unit = value / 1024, name
    return f"{value:.1f}{unit}" if unit and value < 9.95 else f"{value:.0f}{unit}"


def short_span(seconds: float) -> str:
    """In at most six characters: `4.2s`, `42s`, `3m05s`, `2h07m`, `3d04h`."""
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
