"""Turn a request and its context into a plan.

`plan` decides the timeout, the times of grace and promotion, the size limits of output and the environment; `access`
decides what the sandbox enforces, and the resource limits; `paths` decides the working directory and the output
directories. `pipestatus` finds out whether bash can report each exit status of a pipeline; `validate` checks single
arguments.
"""
