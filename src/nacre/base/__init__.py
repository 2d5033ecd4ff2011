"""Values and helpers that know nothing of commands: frozen values, units, threads, system calls."""
