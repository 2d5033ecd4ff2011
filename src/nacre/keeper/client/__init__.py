"""The host's side of the keeper: start it, submit runs, follow them."""
