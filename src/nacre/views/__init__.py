"""Views: a Result in, what a model reads or a person sees of it out. Nothing here draws by itself."""
