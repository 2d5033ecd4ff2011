"""Whether a cluster lets this program in, and the words for when it does not."""

from __future__ import annotations

import os
from typing import Any

from nacre.errors import EngineUnavailable

MODE = "RAY_AUTH_MODE"
_TOKEN = "RAY_AUTH_TOKEN"
_PATH = "RAY_AUTH_TOKEN_PATH"
_FILE = "~/.ray/auth_token"


def authenticates() -> bool:
    """Whether this process shows a token. Where it shows none and was let in, nobody has to."""
    return os.environ.get(MODE, "").lower() == "token"  # Ray sets it where it has found a token by itself


def token_from() -> str | None:
    """Where the token that could be shown is, as Ray looks for it."""
    if os.environ.get(_TOKEN):
        return _TOKEN
    path = os.environ.get(_PATH) or os.path.expanduser(_FILE)
    return path if os.path.isfile(path) else None


def show_token(ray: Any, address: str | None) -> None:
    """Once, before Ray connects, which would show a wrong one again and again for twenty seconds, and then say that
    there is no cluster. AuthenticationError. Anything else that is wrong, Ray will say."""
    try:
        from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled
        from ray._private.services import canonicalize_bootstrap_address_or_die

        ensure_token_if_auth_enabled({}, create_token_if_missing=False)  # or the next would end the whole program
        ray._raylet.GcsClient(address=canonicalize_bootstrap_address_or_die(address or "auto"))
    except Exception as error:
        if is_refusal(ray, error):
            raise


def is_refusal(ray: Any, error: Exception) -> bool:
    return isinstance(error, getattr(ray.exceptions, "AuthenticationError", ()))


def access_denied(address: str | None) -> EngineUnavailable:
    cluster = f"The Ray cluster{f' at {address}' if address else ''}"
    remedy = f"Give this process the cluster's token, in {_TOKEN}, in a file that {_PATH} names, or in {_FILE}"
    found = token_from()
    if found is None:
        words = f"{cluster} asks for a token, and this process has none."
        return EngineUnavailable(words, f"{remedy}, and {MODE}=token.")
    if not authenticates():
        words = f"{cluster} asks for a token. There is one in {found}, but {MODE} does not say that it is to be shown."
        return EngineUnavailable(words, f"Set {MODE}=token.")
    return EngineUnavailable(f"{cluster} does not know the token that this process has from {found}.", f"{remedy}.")
