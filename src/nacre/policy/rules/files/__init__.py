"""Rules about files and directories."""
