"""Turn a request and its context into a plan."""
