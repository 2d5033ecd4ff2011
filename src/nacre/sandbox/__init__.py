"""Access mode in, what the kernel will enforce out; and the calls that make it so."""
