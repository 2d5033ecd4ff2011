"""The interface of mycode's bash tool (proposal 0028): the executor, its task manager, streaming, the tool.

    executor = BashExecutor({"defaultTimeout": 60_000})
    output = await executor.execute({"command": "npm test"}, {"cwd": "/work"})
    async for event in executor.execute_with_streaming("npm install", cwd="/work"):
        ...

Input that violates the schema raises InvalidRequest; every outcome of a command is a BashOutput.
"""

from nacre.compat.mycode.executor import BashExecutor, BashTool
from nacre.compat.mycode.tasks import TaskManager
from nacre.compat.mycode.types import BashOutput, StreamEvent, TaskInfo
from nacre.profiles.mycode import DEFAULT_CONFIG

__all__ = [
    "DEFAULT_CONFIG",
    "BashExecutor",
    "BashOutput",
    "BashTool",
    "StreamEvent",
    "TaskInfo",
    "TaskManager",
    "bash_executor",
    "bash_tool",
    "execute_with_streaming",
]

bash_executor = BashExecutor()
"""An executor with the default configuration of the proposal."""
bash_tool = bash_executor.tool()
execute_with_streaming = bash_executor.execute_with_streaming
