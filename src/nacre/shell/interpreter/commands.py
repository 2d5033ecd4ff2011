"""Follow simple commands: their words, redirections and variables, and the commands that they run in turn.

Records Commands, each with the one that runs it. The handler of a program knows what it does with its arguments.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from shlex import quote
from typing import TypeAlias

from nacre.shell.command import MAX_ARGUMENTS, Command, Script
from nacre.shell.env_code import runs_code
from nacre.shell.interpreter.alternatives import Checkpoint, each_choice
from nacre.shell.interpreter.assignments import assign, assigned_value
from nacre.shell.interpreter.budget import MAX_COMMANDS, MAX_WORK, TOO_LONG_REASON
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.files import Contents as Held
from nacre.shell.interpreter.scripts import ScriptRunner
from nacre.shell.interpreter.state import Alias, State, Variables
from nacre.shell.registry import ProgramRegistry
from nacre.shell.symbolic import TOO_LONG, UNKNOWN, has_glob, is_literal, may_equal, with_unknowns_empty
from nacre.shell.syntax.nodes import DECLARES, OWNING, Assignment, Function, Node, SimpleCommand, Word
from nacre.shell.values.arrays import table_entry
from nacre.shell.values.values import MAX_VALUES

COST_EXPAND = 500
"""Cost, in characters, of expanding a command once more; `COST_WORD`: of one more word."""
COST_WORD = 50
COST_GLOB = 100_000
"""Cost, in characters, of finding the programs that a glob may name."""

ProgramHandler: TypeAlias = "Callable[[CommandRunner, Command, State], str]"
"""Follows a program: applies its effects to the state, follows the commands it runs; returns what it would print."""


class CommandRunner(ScriptRunner):
    """Follows simple commands. `Interpreter` follows the lists and compound commands around them."""

    def __init__(self, script: Script, registry: ProgramRegistry) -> None:
        super().__init__(script)
        self.handlers = registry
        self._after = ""
        """As in `Command.operator_before`."""

    @abstractmethod
    def call(
        self,
        function: Function,
        state: State,
        stdin: str | None,
        arguments: list[str] | None,
        firm: int = MAX_ARGUMENTS,
    ) -> str:
        """Follow a call of a function; return what it prints. `firm`: the number of `arguments` that are certain."""

    def program_output(self, command: Command, name: str, state: State) -> str:
        """Return what another program would print, given the same arguments."""
        follower = self.handlers.get(name)
        return follower(self, command, state) if follower else UNKNOWN

    # simple commands

    def simple(self, node: SimpleCommand, state: State, stdin: str | None) -> str:
        """Follow a simple command; return what it prints."""
        self._list_start, self._stdin = node, stdin
        self._spent += node.end - node.start
        argv = node.argv
        if (
            argv
            and not (node.redirects or node.assignments)
            and argv[0] not in state.aliases
            and "BASH_ALIASES" not in state.variables.tables
        ):
            command = self.command(argv, node, state)  # just a fast path: most commands are such
            command.stdin = stdin
            return self._run(command, state)
        expander, pipes, sinks = Expander(state, self), self._pipes, len(self._pending_sinks)
        argv = self._words(node, expander)
        if expander.choices > 1 or _has_choices(node):
            return self._for_each_choice(node, argv, expander, state, stdin, sinks)
        printed = self._run_prepared(node, argv, expander, state, stdin)
        self._pipes = pipes
        self.run_pending_sinks(sinks, state)
        return printed

    def _for_each_choice(
        self,
        node: SimpleCommand,
        first: tuple[str, ...],
        expander: Expander,
        state: State,
        stdin: str | None,
        sinks: int,
    ) -> str:
        """Follow a command with all the values that its variables may have, each time from the state it started in."""
        before, argv, printed, pipes = Checkpoint(state), first, dict[str, None](), self._pipes
        seen, more = {first}, node.redirects or node.assignments
        alternatives: list[Checkpoint] = []
        files, wrote = state.files.checkpoint(), list[dict[str, Held]]()
        for _ in each_choice(expander):
            if alternatives:
                before.restore(state)
                if not self.charge(COST_EXPAND):
                    break
                self._list_start, self._stdin = node, stdin
                argv = self._words(node, expander)
                if any(TOO_LONG in word for word in argv):
                    self.give_up(f"a variable may have more than {MAX_VALUES} values")
                if (argv in seen and not more) or not self.should_follow(
                    expander.choice, [w for w in argv if w not in first]
                ):
                    continue
                seen.add(argv)
            state.variables = Variables(before.variables)
            printed[self._run_prepared(node, argv, expander, state, stdin)] = None
            self._pipes = pipes
            self.run_pending_sinks(sinks, state)
            alternatives.append(Checkpoint(state))
            if not state.loops.issuperset(expander.alternatives):
                wrote.append(state.files.rollback(files))
        state.files.merge(*wrote, stays=False)
        self.charge(before.merge(alternatives, state))
        if len(printed) > 1 and self._texts is not None:
            self._texts += printed
        return self.keep_if_short("".join(printed))

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
                    self.charge(len(expander.state.maps))
                    expander.state.maps |= {word.name}
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
                if self.script.gave_up:
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

    def _run_prepared(
        self, node: SimpleCommand, argv: tuple[str, ...], expander: Expander, state: State, stdin: str | None
    ) -> str:
        assigned: dict[str, str] = {}
        for assignment in node.assignments:
            if self.script.gave_up:
                break
            value = assigned_value(assignment, expander)
            if argv:
                assigned[assignment.name] = value if isinstance(value, str) else " ".join(value)
            else:
                assign(expander, assignment, value)
        command = self.command(argv, node, state)
        command.stdin, command.certain_args = stdin, expander.certain_args
        if node.redirects:
            command.redirects, command.stdin = self.open_redirects(node.redirects, expander, stdin)
            self._pipes = self._redirected_pipes(command.redirects)
        command.assigned = assigned
        if argv and (alias := self._alias(node.name, node, state)):
            sure = state.expands_aliases and alias.certain and alias.depth == self.depth and not self._inside
            inner, files = state if sure else state.fork(), state.files.checkpoint()
            text = self._expand_alias(alias, argv, node, state)
            printed = self.run_text(command, text, inner, stdin=command.stdin, alias=argv[0])
            if sure:
                return self.apply_redirects(command, printed, state)
            state.files.mark_uncertain(files)
            self.charge(state.merge(inner))
        if argv == ("exec",) and command.stdin is not stdin:
            state.pending_stdin = command.stdin
        if argv:
            return self.apply_redirects(command, self._run(command, state), state)
        if command.redirects or node.assignments:
            self.record(command)
            return self.apply_redirects(command, command.stdin or "", state) if command.redirects else ""
        return ""

    def command(self, argv: tuple[str, ...], node: Node, state: State) -> Command:
        """Create a command for a node, without recording it."""
        if self._inside:
            command = Command(argv, *self._inside, cwd=state.cwd, home=state.home)
        else:
            command = Command(argv, node.start, node.end, cwd=state.cwd, home=state.home)
        command.cwd_certain = state.cwd_certain
        return command

    def record(self, command: Command) -> None:
        """Add a command to the script, with its parent, pipes and operator."""
        command.parent = self._parent
        command.operator_before = self._after
        command.pipe_in, command.pipe_out = self._pipes
        commands = self.script.commands
        self._spent += COST_WORD * len(command.argv)
        if self._spent > MAX_WORK:
            self.charge(0)
        if len(commands) < MAX_COMMANDS:
            commands.append(command)
        else:
            self.give_up(f"it runs more than {MAX_COMMANDS} commands")
        if self._dropped_text and any(TOO_LONG in word for word in command.argv):
            self.give_up(TOO_LONG_REASON)

    def _run(self, command: Command, state: State, *, functions: bool = True) -> str:
        self.record(command)
        if self.script.gave_up:
            return UNKNOWN
        if command.assigned:
            return self._with_assigned(command, state)
        printed = self._dispatch(command, state, functions=functions)
        state.variables.own["_"] = [command.argv[-1]]
        return printed

    def _with_assigned(self, command: Command, state: State) -> str:
        """Follow `NAME=value command`: the assignment holds for this command only."""
        before, passed = {name: state.variables.get(name) for name in command.assigned}, state.exported
        state.exported |= command.assigned.keys()
        for name, value in command.assigned.items():
            state.set(name, value)
            if runs_code(name):
                self.run_env_code(name, value, state, command)
        printed = self._dispatch(command, state)
        state.exported = passed
        for name, values in before.items():
            state.variables.own[name] = values
        return printed

    def _dispatch(self, command: Command, state: State, *, functions: bool = True) -> str:
        first = command.argv[0]
        if functions and state.functions and (function := state.functions.get(first)):
            command.is_function_call, files = first not in state.uncertain_functions, state.files.checkpoint()
            printed = self.call(function, state, command.stdin, list(command.args), command.certain_args)
            if command.is_function_call:
                return printed
            state.files.mark_uncertain(files)
            return self._either_output(printed, self._dispatch(command, state, functions=False))
        if "BASH_CMDS" in state.variables.tables and "/" not in first and is_literal(first):
            self._from_hash_table(command, state)
        if follower := self.handlers.get(command.name):
            return follower(self, command, state)
        if not is_literal(first):
            self.note_unknown(first)
            rest = with_unknowns_empty(first)
            if rest != first and is_literal(
                rest
            ):  # an empty `$SUDO` before the command, `"$PREFIX"/bin/x`, `r${none}m`
                words = (rest, *command.args) if rest else command.args
                other, files = state.fork(), state.files.checkpoint()
                printed = self.run_wrapped(command, words, other, functions=bool(rest))
                state.files.mark_uncertain(files)
                self.charge(state.merge(other))
                return printed
            if has_glob(command.name):
                self.charge(COST_GLOB)
                for name in [name for name in self.handlers if may_equal(command.name, name)]:
                    self.run_wrapped(command, (name, *command.args), state)
        elif "/" in first and state.path(first) in state.files:
            return self.read_file(command, state.path(first), state, list(command.args)) or ""
        return UNKNOWN

    def _either_output(self, printed: str, other: str) -> str:
        """Combine the output of a function that may not exist and of whatever else has its name."""
        if other == UNKNOWN:
            self._output_partial = self._output_partial or bool(printed)
            return printed or UNKNOWN
        if printed not in ("", UNKNOWN, other) and self._texts is not None:
            self._texts += [printed, other]
        return other

    def _from_hash_table(self, command: Command, state: State) -> None:
        """Follow the path that `hash` stores for a name; bash may have forgotten it by now."""
        if path := table_entry(state.variables.values_of("BASH_CMDS"), command.argv[0]):
            other, files = state.fork(), state.files.checkpoint()
            path = f"./{path}" if is_literal(path) and "/" not in path else path
            self.run_wrapped(command, (path, *command.args), other)
            state.files.mark_uncertain(files)
            self.charge(state.merge(other))

    def _expand_alias(self, alias: Alias, argv: tuple[str, ...], node: SimpleCommand, state: State) -> str:
        """Return the text that a command stands for. After an alias that ends in a blank, the next word may be one."""
        words = [quote(word) for word in argv]
        text, index = alias.text, 1
        while text[-1:] in (" ", "\t") and index < len(node.words):
            word = node.words[index]
            name = word.unquoted_text() if isinstance(word, Word) else None
            following = self._alias(name, node, state) if name and words[index : index + 1] == [name] else None
            if following is None:
                break
            text, index = text + following.text, index + 1
        return " ".join((text, *words[index:]))

    def _alias(self, name: str | None, node: SimpleCommand, state: State) -> Alias | None:
        """Return the alias of a command word, if any: the word is unquoted, the alias defined on an earlier line."""
        if not name or name in self._aliases or not state.may_expand_aliases:
            return None
        if "BASH_ALIASES" in state.variables.tables and (
            text := table_entry(state.variables.values_of("BASH_ALIASES"), name)
        ):
            return Alias(text, 0, -1)
        alias = state.aliases.get(name)
        if alias is None or alias.depth != self.depth or self._inside:
            return alias
        return alias if self.script.text.find("\n", alias.end, node.start) >= 0 else alias.before


def _has_choices(node: SimpleCommand) -> bool:
    """Tell whether anything besides its words may have several values."""
    return any(each.target.literal is None for each in node.redirects) or any(
        each.value.literal is None or each.elements is not None or each.subscript is not None
        for each in node.assignments
    )
