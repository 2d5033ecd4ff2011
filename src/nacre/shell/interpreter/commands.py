"""Follow simple commands: their words, redirections and variables, and the commands that they run in turn.

Records Commands, each with the one that runs it. The handler of a program knows what it does with its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from shlex import quote
from typing import TYPE_CHECKING, TypeAlias

from nacre.shell.command import MAX_ARGUMENTS, Command
from nacre.shell.env_code import runs_code
from nacre.shell.frame import Frame
from nacre.shell.interpreter.alternatives import Checkpoint, each_choice
from nacre.shell.interpreter.assignments import assign, assigned_value
from nacre.shell.interpreter.budget import MAX_COMMANDS, MAX_WORK, TOO_LONG_REASON
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.state import Alias, State
from nacre.shell.registry import HANDLERS
from nacre.shell.symbolic import TOO_LONG, UNKNOWN, has_glob, is_literal, may_equal, with_unknowns_empty
from nacre.shell.syntax.nodes import DECLARES, OWNING, Assignment, Node, SimpleCommand, Word
from nacre.shell.values.arrays import table_entry
from nacre.shell.values.files import Contents as Held
from nacre.shell.values.values import MAX_VALUES
from nacre.shell.values.variables import Variables

if TYPE_CHECKING:
    from nacre.shell.interpreter.interpreter import Interpreter

COST_EXPAND = 500
"""Cost, in characters, of expanding a command once more; `COST_WORD`: of one more word."""
COST_WORD = 50
COST_GLOB = 100_000
"""Cost, in characters, of finding the programs that a glob may name."""

ProgramHandler: TypeAlias = "Callable[[Interpreter, Command, State], str]"
"""Follows a program: applies its effects to the state, follows the commands it runs; returns what it would print."""


class CommandRunner:
    """Follows simple commands."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._budget = interpreter.budget
        self._script = interpreter.script
        self._handlers = HANDLERS

    def program_output(self, command: Command, name: str, state: State) -> str:
        """Return what another program would print, given the same arguments."""
        follower = self._handlers.get(name)
        return follower(self._interpreter, command, state) if follower else UNKNOWN

    # simple commands

    def simple(self, node: SimpleCommand, state: State, frame: Frame) -> str:
        """Follow a simple command; return what it prints."""
        self._budget.spent += node.end - node.start
        argv = node.argv
        if (
            argv
            and not (node.redirects or node.assignments)
            and argv[0] not in state.aliases
            and "BASH_ALIASES" not in state.variables.tables
        ):
            command = create_command(argv, node, state, frame)  # just a fast path: most commands are such
            command.stdin = frame.stdin
            return self.run(command, state)
        expander, substitutions = Expander(state, self._interpreter, frame, node), self._interpreter.substitutions
        sinks = substitutions.waiting
        argv = self._words(node, expander)
        if expander.choices > 1 or _has_choices(node):
            return self._for_each_choice(node, argv, expander, sinks)
        printed = self._run_prepared(node, argv, expander)
        substitutions.run_waiting(sinks, state, frame)
        return printed

    def _for_each_choice(self, node: SimpleCommand, first: tuple[str, ...], expander: Expander, sinks: int) -> str:
        """Follow a command with all the values that its variables may have, each time from the state it started in."""
        state, frame, budget = expander.state, expander.frame, self._budget
        before, argv, printed = Checkpoint(state), first, dict[str, None]()
        seen, more = {first}, node.redirects or node.assignments
        alternatives: list[Checkpoint] = []
        files, wrote = state.files.checkpoint(), list[dict[str, Held]]()
        for _ in each_choice(expander):
            if alternatives:
                before.restore(state)
                if not budget.charge(COST_EXPAND):
                    break
                argv = self._words(node, expander)
                if any(TOO_LONG in word for word in argv):
                    budget.give_up(f"a variable may have more than {MAX_VALUES} values")
                if (argv in seen and not more) or not budget.should_follow(
                    expander.choice, [w for w in argv if w not in first]
                ):
                    continue
                seen.add(argv)
            state.variables = Variables(before.variables)
            printed[self._run_prepared(node, argv, expander)] = None
            self._interpreter.substitutions.run_waiting(sinks, state, frame)
            alternatives.append(Checkpoint(state))
            if not state.loops.issuperset(expander.alternatives):
                wrote.append(state.files.rollback(files))
        state.files.merge(*wrote, stays=False)
        budget.charge(before.merge(alternatives, state))
        if len(printed) > 1 and frame.output is not None:
            frame.output.texts += printed
        return budget.keep_if_short("".join(printed))

    def _words(self, node: SimpleCommand, expander: Expander) -> tuple[str, ...]:
        if node.argv is not None:
            return node.argv
        argv: list[str] = []
        looked, keyed = 1, False
        expander.certain_args = MAX_ARGUMENTS
        for word in node.words:
            if not isinstance(word, Word):
                if not keyed and word.elements is not None and argv and argv[0] in DECLARES:
                    keyed = any(each[:1] == "-" and "A" in each for each in argv[looked:])
                    looked = len(argv)
                if keyed and word.elements is not None:
                    attributes = expander.state.attributes
                    self._budget.charge(len(attributes.maps))
                    expander.state.attributes = attributes.replace_values(maps=attributes.maps | {word.name})
                if argv and argv[0] in OWNING and "-g" not in argv:
                    expander.state.make_local(word.name)
                found = self._arguments(word, expander, declared=bool(argv) and argv[0] in DECLARES)
                if expander.certain_args == MAX_ARGUMENTS and not all(map(is_literal, found)) and word.value.may_split:
                    expander.certain_args = max(0, len(argv) - 1)
                argv += found
            elif word.literal is not None:
                argv.append(word.literal)
            else:
                found = expander.fields(word)
                if expander.certain_args == MAX_ARGUMENTS and not all(map(is_literal, found)) and word.may_split:
                    expander.certain_args = max(0, len(argv) - 1)
                argv += found
                if self._script.gave_up:
                    break
        return tuple(argv)

    def _arguments(self, assignment: Assignment, expander: Expander, *, declared: bool) -> list[str]:
        """Expand `name=value` among the arguments: to several words, if it has braces. An array is assigned at once.

        Only if `declared` it is an assignment; otherwise it is an ordinary word.
        """
        key = "" if assignment.subscript is None else f"[{expander.text(assignment.subscript)}]"
        start = f"{assignment.name}{key}{'+' if assignment.append else ''}="
        if assignment.elements is None and assignment.value.literal is None:
            if not declared:
                return expander.assigned_fields(start, assignment.value)
            found = [start + expander.text(word, assigned=True) for word in expander.expand_braces(assignment.value)]
            if len(found) > 1:
                return found
        value = assigned_value(assignment, expander)
        if isinstance(value, tuple):
            expander.state.set(assignment.name, value)
            return [assignment.name]
        return [start + value]

    def _run_prepared(self, node: SimpleCommand, argv: tuple[str, ...], expander: Expander) -> str:
        interpreter, state, frame = self._interpreter, expander.state, expander.frame
        assigned: dict[str, str] = {}
        for assignment in node.assignments:
            if self._script.gave_up:
                break
            value = assigned_value(assignment, expander)
            if argv:
                assigned[assignment.name] = value if isinstance(value, str) else " ".join(value)
            else:
                assign(expander, assignment, value)
        command = create_command(argv, node, state, frame)
        command.stdin, command.certain_args = frame.stdin, expander.certain_args
        if node.redirects:
            command.redirects, command.stdin = interpreter.pipes.open_redirects(node.redirects, expander, frame.stdin)
            command.frame = frame.with_pipes(interpreter.pipes.redirect(command.redirects, frame.pipes), frame.stdin)
        command.assigned = assigned
        if argv and (alias := self._alias(node.name, node, state, frame)):
            printed = self._run_alias(alias, command, node, state)
            if printed is not None:
                return printed
        if argv == ("exec",) and command.stdin is not frame.stdin:
            state.pending_stdin = command.stdin
        if argv:
            return interpreter.pipes.apply_redirects(command, self.run(command, state), state)
        if command.redirects or node.assignments:
            self.record(command)
            if command.redirects:
                return interpreter.pipes.apply_redirects(command, command.stdin or "", state)
        return ""

    def record(self, command: Command) -> None:
        """Add a command to the script."""
        commands, budget = self._script.commands, self._budget
        budget.spent += COST_WORD * len(command.argv)
        if budget.spent > MAX_WORK:
            budget.charge(0)
        if len(commands) < MAX_COMMANDS:
            commands.append(command)
        else:
            budget.give_up(f"it runs more than {MAX_COMMANDS} commands")
        if budget.dropped_text and any(TOO_LONG in word for word in command.argv):
            budget.give_up(TOO_LONG_REASON)

    def run(self, command: Command, state: State, *, functions: bool = True) -> str:
        """Record and follow a command; return what it prints."""
        self.record(command)
        if self._script.gave_up:
            return UNKNOWN
        if command.assigned:
            return self._with_assigned(command, state)
        printed = self._dispatch(command, state, functions=functions)
        state.variables.own["_"] = [command.argv[-1]]
        return printed

    def _with_assigned(self, command: Command, state: State) -> str:
        """Follow `NAME=value command`: the assignment holds for this command only."""
        before, passed = {name: state.variables.get(name) for name in command.assigned}, state.attributes.exported
        state.attributes = state.attributes.replace_values(exported=passed.union(command.assigned))
        for name, value in command.assigned.items():
            state.set(name, value)
            if runs_code(name):
                self._interpreter.scripts.run_env_code(name, value, state, command)
        printed = self._dispatch(command, state)
        state.attributes = state.attributes.replace_values(exported=passed)
        for name, values in before.items():
            state.variables.own[name] = values
        return printed

    def _dispatch(self, command: Command, state: State, *, functions: bool = True) -> str:
        first = command.argv[0]
        if functions and (bodies := state.functions.bodies) and (function := bodies.get(first)):
            command.is_function_call, files = first not in state.functions.uncertain, state.files.checkpoint()
            frame = command.frame.with_stdin(command.stdin)
            printed = self._interpreter.functions.call(function, state, frame, list(command.args), command.certain_args)
            if command.is_function_call:
                return printed
            state.files.mark_uncertain(files)
            return _either_output(printed, self._dispatch(command, state, functions=False), frame)
        if "BASH_CMDS" in state.variables.tables and "/" not in first and is_literal(first):
            self._from_hash_table(command, state)
        if follower := self._handlers.get(command.name):
            return follower(self._interpreter, command, state)
        if not is_literal(first):
            return self._run_partly_known(command, state)
        if "/" in first and state.path(first) in state.files:
            return self._interpreter.scripts.read_file(command, state.path(first), state, list(command.args)) or ""
        return UNKNOWN

    def _run_partly_known(self, command: Command, state: State) -> str:
        """Follow a command whose name is not fully known: whatever it may be."""
        first, scripts = command.argv[0], self._interpreter.scripts
        self._budget.note_unknown(first)
        rest = with_unknowns_empty(first)
        if rest != first and is_literal(rest):  # an empty `$SUDO` before the command, `"$PREFIX"/bin/x`, `r${none}m`
            words = (rest, *command.args) if rest else command.args
            other, files = state.fork(), state.files.checkpoint()
            printed = scripts.run_wrapped(command, words, other, functions=bool(rest))
            state.files.mark_uncertain(files)
            self._budget.charge(state.merge(other))
            return printed
        if has_glob(command.name):
            self._budget.charge(COST_GLOB)
            for name in [name for name in self._handlers if may_equal(command.name, name)]:
                scripts.run_wrapped(command, (name, *command.args), state)
        return UNKNOWN

    def _from_hash_table(self, command: Command, state: State) -> None:
        """Follow the path that `hash` stores for a name; bash may have forgotten it by now."""
        if path := table_entry(state.variables.values_of("BASH_CMDS"), command.argv[0]):
            other, files = state.fork(), state.files.checkpoint()
            path = f"./{path}" if is_literal(path) and "/" not in path else path
            self._interpreter.scripts.run_wrapped(command, (path, *command.args), other)
            state.files.mark_uncertain(files)
            self._budget.charge(state.merge(other))

    # aliases

    def _run_alias(self, alias: Alias, command: Command, node: SimpleCommand, state: State) -> str | None:
        """Follow an alias. Return what it prints; None if the word may not be one, so that the command is followed."""
        frame, budget = command.frame, self._budget
        sure = state.options.expands_aliases and alias.certain and alias.depth == frame.depth and frame.span is None
        inner, files = state if sure else state.fork(), state.files.checkpoint()
        text = self._expand_alias(alias, command.argv, node, state, frame)
        command.frame = frame.with_parent(None)  # no command runs it: it is only a text
        printed = self._interpreter.scripts.run_text(command, text, inner, stdin=command.stdin, alias=command.argv[0])
        if sure:
            return self._interpreter.pipes.apply_redirects(command, printed, state)
        command.frame = frame
        state.files.mark_uncertain(files)
        budget.charge(state.merge(inner))
        return None

    def _expand_alias(
        self, alias: Alias, argv: tuple[str, ...], node: SimpleCommand, state: State, frame: Frame
    ) -> str:
        """Return the text that a command stands for. After an alias that ends in a blank, the next word may be one."""
        words = [quote(word) for word in argv]
        text, index = alias.text, 1
        while text[-1:] in (" ", "\t") and index < len(node.words):
            word = node.words[index]
            name = word.unquoted_text() if isinstance(word, Word) else None
            following = self._alias(name, node, state, frame) if name and words[index : index + 1] == [name] else None
            if following is None:
                break
            text, index = text + following.text, index + 1
        return " ".join((text, *words[index:]))

    def _alias(self, name: str | None, node: SimpleCommand, state: State, frame: Frame) -> Alias | None:
        """Return the alias of a command word, if any: the word is unquoted, the alias defined on an earlier line."""
        if not name or name in frame.aliases or not state.may_expand_aliases:
            return None
        if "BASH_ALIASES" in state.variables.tables and (
            text := table_entry(state.variables.values_of("BASH_ALIASES"), name)
        ):
            return Alias(text, 0, -1)
        alias = state.aliases.get(name)
        if alias is None or alias.depth != frame.depth or frame.span is not None:
            return alias
        return alias if self._script.text.find("\n", alias.end, node.start) >= 0 else alias.before


def create_command(argv: tuple[str, ...], node: Node, state: State, frame: Frame) -> Command:
    """Create a command for a node, without recording it."""
    if frame.span is None:
        command = Command(argv, node.start, node.end, cwd=state.cwd, home=state.home)
    else:
        command = Command(argv, *frame.span, cwd=state.cwd, home=state.home)
    command.frame = frame
    command.cwd_certain = state.cwd_certain
    return command


def _either_output(printed: str, other: str, frame: Frame) -> str:
    """Combine the output of a function that may not exist and of whatever else has its name."""
    if other == UNKNOWN:
        if printed:
            frame.mark_partial()
        return printed or UNKNOWN
    if printed not in ("", UNKNOWN, other) and frame.output is not None:
        frame.output.texts += [printed, other]
    return other


def _has_choices(node: SimpleCommand) -> bool:
    """Tell whether anything besides its words may have several values."""
    return any(each.target.literal is None for each in node.redirects) or any(
        each.value.literal is None or each.elements is not None or each.subscript is not None
        for each in node.assignments
    )
