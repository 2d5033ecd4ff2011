"""Engines by name, for the command line."""

from __future__ import annotations

from nacre.engines.engine import Engine
from nacre.engines.local import LOCAL
from nacre.errors import InvalidRequest
from nacre.planning.validate import check_choice

NAMES = ("local", "bwrap", "podman", "docker", "ray")
_OF_CONTAINERS = ("podman", "docker")


def engine_named(name: str, *, image: str | None = None) -> Engine:
    """Return an engine by its name. InvalidRequest: unknown name, or `image` is missing or does not apply."""
    check_choice(name, NAMES, "engine")
    if image is not None and name not in _OF_CONTAINERS:
        raise InvalidRequest(
            "bad_image",
            f"`image` has no effect with engine={name!r}.",
            field="image",
            hint="Use podman or docker, or leave it out.",
        )
    if name in _OF_CONTAINERS:
        if not image:
            raise InvalidRequest(
                "no_image",
                f"{name} needs an image for its container.",
                field="image",
                hint=f"Name one that has bash; `{name} images` lists the local ones.",
            )
        from nacre.engines.containers.engine import Containers

        return Containers(image, program=name)
    if name == "bwrap":
        from nacre.engines.bubblewrap import Bubblewrap

        return Bubblewrap()
    if name == "ray":
        from nacre.engines.ray import RayEngine

        return RayEngine()
    return LOCAL
