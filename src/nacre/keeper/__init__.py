"""The keeper: a supervisor process, one per host process, that starts and owns every command.

`protocol` is used by both processes, `client` by the host, `server` and `spawn` by the keeper.

Other code runs in the keeper, too: `sandbox.kernel`, which applies the restrictions of a run, and `mount_table`,
`shortages` and `system` of `base`. None of it may import a slow module: the keeper starts very often.
"""
