"""Views of a Result: the text that a model reads, and drawings for a person. Nothing here prints.

`model` has the text for a model, `answers` the answers of a tool call in the format of a profile; `console` has text
for a terminal, `panels` drawings with rich.

The live views of `nacre run`, which print, are in `cli.run`. `toolcall.task_tools` makes text for models, too: the
answers of the tools for background tasks.
"""
