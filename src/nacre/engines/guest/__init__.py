"""The part of an engine that runs on the other side: programs in bash, and the directory both sides share."""
