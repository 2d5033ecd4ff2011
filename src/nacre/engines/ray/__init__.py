"""Ray engine: each run is placed on a node of a Ray cluster, and runs there as it would run here.

Ray schedules runs and accounts for resources. On each node in use, an agent (a Ray actor) runs commands with the local
engine and its keeper. Ray is not imported before an engine is created.
"""

from nacre.engines.ray.engine import RayEngine
from nacre.engines.ray.tasks import PlacedTask, RayTasks

__all__ = ["PlacedTask", "RayEngine", "RayTasks"]
