"""Adapters: nacre as the tools, shells and sandboxes of agent frameworks. One module per framework.

An adapter only translates. It is the only module that imports its framework, and if that is missing, the ImportError
says how to install it.
"""
