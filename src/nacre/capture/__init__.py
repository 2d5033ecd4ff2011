"""Capture: a stream of bytes of any length in, a bounded record out."""

from nacre.capture.collect import Collector

__all__ = ["Collector"]
