"""The suite of every engine, on the cluster."""

from tests.engines.test_behaviour import *  # noqa: F403
