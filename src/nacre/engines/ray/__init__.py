"""Many machines: each run is placed on a node of a Ray cluster, and runs there as it would run here.

Ray places and keeps count of resources; on each node that is used an agent of ours runs commands with the local engine
and its keeper. Nothing of Ray is loaded before an engine is made.
"""

from nacre.engines.ray.engine import RayEngine
from nacre.engines.ray.tasks import PlacedTask, RayTasks

__all__ = ["PlacedTask", "RayEngine", "RayTasks"]
