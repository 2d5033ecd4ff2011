"""The task of a run, as its keeper sees it: files, control socket, start and outcome."""
