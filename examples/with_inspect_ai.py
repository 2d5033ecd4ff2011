"""nacre as a sandbox of inspect_ai. Runs offline: its mock model replaces a real one."""

import tempfile
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash


def add_usage(output: ModelOutput) -> ModelOutput:
    """Return an output with token usage: without it, inspect_ai would download a tokenizer to count tokens."""
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def model(messages: list[Any], *_: Any) -> ModelOutput:
    last = messages[-1]
    if isinstance(last, ChatMessageTool):
        return add_usage(ModelOutput.from_content("mockllm", last.text))
    return add_usage(ModelOutput.for_tool_call("mockllm", "bash", {"command": "cat greeting"}))


if __name__ == "__main__":
    task = Task(
        dataset=[Sample(input="Say hello.", files={"greeting": "hello\n"})],
        solver=[use_tools(bash()), generate()],
        sandbox="nacre",
    )
    with tempfile.TemporaryDirectory() as logs:
        (log,) = eval(task, model=get_model("mockllm/model", custom_outputs=model), log_dir=logs, display="none")
        print(log.samples[0].output.completion.strip())  # hello
