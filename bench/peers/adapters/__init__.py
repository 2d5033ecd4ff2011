"""One module for each peer; `bench.peers.contract` says what it has to offer."""
