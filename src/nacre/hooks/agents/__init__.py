"""The hook protocol of each agent."""
