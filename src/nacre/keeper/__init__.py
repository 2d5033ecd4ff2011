"""The keeper: a supervisor process, one per host process, that starts and owns every command.

`protocol` is used by both processes, `client` by the host, `server` and `spawn` by the keeper.
"""
