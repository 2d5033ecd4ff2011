"""The keeper process: supervise runs, kill process trees, record tasks."""
