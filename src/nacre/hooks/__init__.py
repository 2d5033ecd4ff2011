"""`nacre hook`: checks the shell commands of other agents, called by the hook of each agent.

`agents` has one pure module per agent's protocol. `handle` passes each command to the checker. `install` edits the
agents' settings files.
"""
