"""Rules about databases, clouds, containers and package registries."""
