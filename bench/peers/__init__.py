"""The shell tools people would use instead, side by side: one adapter each, the same probes for all (`make peers`).

    __main__ → venvs (one for each peer) → warden (a process for each run) → driver → probes → adapters/NAME → the peer
             → tables (bench/PEERS.md, and the short form in the README)

What runs in a peer's environment (driver, probes, processes, contract, adapters) is stdlib only, but for the peer.
"""
