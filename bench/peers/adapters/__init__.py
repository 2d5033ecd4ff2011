"""One module per peer; `bench.peers.contract` defines its interface."""
