"""The keeper: one process per host that owns every command. `client` is the host's side, `serve` the keeper's own."""
