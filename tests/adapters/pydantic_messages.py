"""Tool results in the messages of pydantic-ai."""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, RetryPromptPart, ToolReturnPart


def answers(messages: list[ModelMessage]) -> list[ToolReturnPart | RetryPromptPart]:
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]


def answer_texts(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for part in answers(messages)]
