"""A request and its context in, a plan out."""
