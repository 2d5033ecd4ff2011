"""The keeper process: start shells and dedicated keepers."""
