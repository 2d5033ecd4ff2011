"""Parser, messages and exit codes that all commands share."""
