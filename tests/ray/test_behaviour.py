"""The tests of every engine, on the cluster."""

from tests.engines.test_behaviour import *  # noqa: F403
