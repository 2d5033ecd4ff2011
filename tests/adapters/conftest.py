"""Tests of an adapter need its framework (`make test-frameworks`); without it they are not collected."""

from __future__ import annotations

from importlib.util import find_spec

_NEEDS = {
    "test_anthropic.py": "anthropic",
    "test_claude_agent_sdk.py": "claude_agent_sdk",
    "test_deepagents.py": "langchain_tests",
    "test_inspect_ai.py": "inspect_ai",
    "test_langchain.py": "langchain_tests",
    "test_light.py": "langchain_tests",
    "test_openai_agents.py": "agents",
    "test_openai_agents_shell.py": "agents",
    "test_pydantic_ai.py": "pydantic_ai",
    "test_pydantic_ai_workspace.py": "pydantic_ai",
}
collect_ignore = [file for file, module in _NEEDS.items() if find_spec(module) is None]
