"""Commands in a podman or docker container."""
