"""Errnos of temporary resource shortages when starting a process, each with a hint for the user."""

from __future__ import annotations

import errno

SHORTAGE_HINTS = {
    errno.EAGAIN: "The limit on processes is reached; stop some, or run fewer at once.",
    errno.ENOMEM: "There is not enough memory to start it.",
    errno.ENFILE: "The system has too many open files.",
    errno.EMFILE: "Too many files are open; run fewer commands at once, or raise `ulimit -n`.",
    errno.ETOOMANYREFS: "Too many file descriptors are in transit between processes; run fewer commands at once.",
}
