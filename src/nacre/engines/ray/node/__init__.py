"""The agent on a node, and the messages between it and the driver."""
