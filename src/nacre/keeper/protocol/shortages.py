"""Errnos of temporary resource shortages when starting a process, each with a hint for the user."""

from __future__ import annotations

import errno

SHORTAGE_HINTS = {
    errno.EAGAIN: "The limit on processes is reached; end some, or run fewer at once.",
    errno.ENOMEM: "There is not enough memory to start it.",
    errno.ENFILE: "The system has too many open files.",
    errno.EMFILE: "Too many files are open; run fewer commands at once, or raise `ulimit -n`.",
    errno.ETOOMANYREFS: "Too many descriptors are on their way between programs; run fewer commands at once.",
}
