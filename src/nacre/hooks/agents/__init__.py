"""The hook protocol of each agent.

A new agent needs a change in three places: a module here that reads its payloads and writes its replies (types in
`protocol`), an item of `PROTOCOLS` in `hooks/handle.py`, and an item of `AGENTS` in `hooks/install/locations.py` with
its settings files. If these are not among the protected names of `sandbox/protected_names.py`, add them there.
"""
