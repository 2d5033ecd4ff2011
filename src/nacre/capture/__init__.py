"""Capture output: take a byte stream of any length, keep a bounded part of it."""

from nacre.capture.collect import Collector

__all__ = ["Collector"]
