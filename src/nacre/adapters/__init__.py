"""The rim: nacre as the tools, shells and sandboxes of other people's frameworks. One module each.

An adapter translates and does nothing else. It is the only one that imports its framework, and says how to install it
where that is missing.
"""
