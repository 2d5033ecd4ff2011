"""Result → reader: what a model reads, what a person sees. Nothing here opens a file or draws by itself."""
