"""Values and helpers without knowledge of commands: frozen values, units, threads, system calls."""
