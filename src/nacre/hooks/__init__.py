"""The guard of other agents: what an agent's hook is told in, what the agent understands out.

One module for each agent's dialect, pure; `answer` puts the question to the checker; the settings files of the agents
are the business of `places`, `in_json`, `in_toml` and `files`.
"""
