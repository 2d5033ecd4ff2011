"""Compare nacre with other shell tools: one adapter for each, the same probes for all (`make peers`).

    __main__ → venvs (one for each peer) → supervisor (one for each run) → driver → probes → adapters/NAME → the peer
             → tables (bench/PEERS.md, and the short form in the README)

The code that runs in a peer's environment (driver, probes, processes, contract, adapters) uses only the stdlib and the
peer.
"""
