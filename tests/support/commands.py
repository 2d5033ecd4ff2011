"""Commands that several tests run."""

from __future__ import annotations

STUBBORN = "setsid sleep 999 & (setsid sh -c 'trap \"\" TERM; sleep 999' &); sleep 999"
"""A tree that a signal to its shell or to its process group does not end: sessions of their own, one deaf to TERM."""
