"""Follow a script as bash would run it, without running anything, and record its commands.

Every branch is taken, every loop once with all values its variable may have, functions where they are called (and those
that are not called, at the end). Commands inside words, wrappers, texts for other shells and files that the script
itself writes are followed, too; each command refers to the one that runs it.
"""

from __future__ import annotations

from nacre.shell.command import Command, Redirection, Script
from nacre.shell.frame import TOP, Frame
from nacre.shell.interpreter.budget import Budget
from nacre.shell.interpreter.commands import CommandRunner, create_command
from nacre.shell.interpreter.compounds import CompoundRunner
from nacre.shell.interpreter.control_flow import (
    COST_NODE,
    ChainStart,
    CwdState,
    always_succeeds,
    assume_nonempty,
    choose,
    choose_found,
    drop_facts,
    end_chain,
    exits,
    may_exit,
    still_there,
)
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.functions import FunctionCalls
from nacre.shell.interpreter.pipes import Pipes
from nacre.shell.interpreter.scripts import ScriptRunner
from nacre.shell.interpreter.state import COST_ENTRY, State
from nacre.shell.interpreter.substitutions import Substitutions
from nacre.shell.symbolic import UNKNOWN
from nacre.shell.syntax.nodes import AndOr, Block, ListItem, Node, Pipeline, SimpleCommand
from nacre.shell.syntax.nonempty_tests import nonempty_if
from nacre.shell.values.values import Value
from nacre.shell.values.variables import Variables


class Interpreter:
    """Follows lists and pipelines, and gives the commands in them to its parts."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.budget = Budget(script)
        self.pipes = Pipes(self.budget)
        self.substitutions = Substitutions(self)
        self.scripts = ScriptRunner(self)
        self.functions = FunctionCalls(self)
        self.commands = CommandRunner(self)
        self.compounds = CompoundRunner(self)

    def interpret(self, block: Block, state: State, stdin: str | None) -> None:
        """Follow a whole script: its commands, then its traps and the functions that it never calls."""
        self.block(block, state, TOP.with_stdin(stdin))
        self.scripts.run_traps(0, state, TOP)
        self.functions.finish(state, TOP)

    def close(self) -> None:
        """Drop the parts. They refer back to this object, so only the garbage collector would free them all."""
        vars(self).clear()

    def expander(self, command: Command, state: State) -> Expander:
        """Return an expander for texts that a command expands itself."""
        return Expander(state, self, command.frame, command)

    # lists

    def block(self, block: Block, state: State, frame: Frame) -> str:
        """Follow the commands of a block; return what they print."""
        only = block.only_item
        if only is None or state.pending_stdin is not None or self.script.gave_up:
            return self._list(block, state, frame)
        return self._item(only, state, frame)  # just a fast path: most blocks are such

    def _list(self, block: Block, state: State, frame: Frame) -> str:
        printed: list[str] = []
        given, settled = frame.stdin, state.cd_count
        previous: AndOr | None = None
        for statement in block.statements:
            if self.script.gave_up:
                return UNKNOWN
            if previous is not None:
                if frame.operator != ";":
                    frame = frame.with_operator(";")
                if state.in_find_loop and may_exit(previous):
                    choose_found(state, self.budget)
                if state.cd_count != settled:
                    alone = not previous.rest  # `set -e` ignores `false && true`
                    state.cwd_certain = state.cwd_certain and state.options.errexit and alone
            if state.pending_stdin is not None:
                frame, state.pending_stdin = frame.with_stdin(state.pending_stdin), None
            if statement.rest:
                settled = self._and_or(statement, state, frame, printed)
            else:
                settled = state.cd_count
                follow = self.in_background if statement.background else self.node
                printed.append(follow(statement.node, state, frame))
                if statement.negated and state.cd_count != settled:
                    state.cwd_certain = False
            previous = statement
        if frame.stdin is not given and state.pending_stdin is None:
            state.pending_stdin = frame.stdin  # the lists around this one get it, too
        return printed[0] if len(printed) == 1 else self.budget.keep_if_short("".join(printed))

    def _and_or(self, statement: AndOr, state: State, frame: Frame, printed: list[str]) -> int:
        """Follow commands joined by `&&` and `||`; append what each of them prints to `printed`.

        Returns the number of directory changes after which the directory is certain: those before, or before `|| exit`.
        """
        given, here = frame.stdin, (state.cwd, state.cwd_certain, state.cd_count)
        before: ListItem = statement
        settled = state.cd_count
        printed.append(self._item(before, state, frame))
        chain: ChainStart | None = None
        guards: dict[str, list[Value] | None] = {}
        for item in statement.rest:
            if self.script.gave_up:
                return settled
            if state.pending_stdin is not None:
                frame, state.pending_stdin = frame.with_stdin(state.pending_stdin), None
            if item.operator == "||":
                if guards:
                    drop_facts(guards, state)
            else:
                frame = frame.with_operator(item.operator)
                if chain is None and not always_succeeds(before):
                    chain = ChainStart(state, before)
                    state.variables = Variables(state.variables)
            assume_nonempty(nonempty_if(before, succeeds=item.operator == "&&"), state, guards)
            moves = state.cd_count
            printed.append(self._run_chained(item, state, frame, chain, before, here))
            if item.negated and state.cd_count != moves:
                state.cwd_certain = False
            if printed[-1]:
                frame.mark_partial()
            if exits(item.node):
                for name in nonempty_if(before, succeeds=item.operator == "||"):
                    state.assume_nonempty(name)
            if item.operator == "||":
                chain = None
                settled = state.cd_count if exits(item.node) else settled
            before = item
        if guards:
            drop_facts(guards, state)
        if chain is not None:
            self.budget.charge(end_chain(chain, state, statement.items[-2:]))
        if frame.stdin is not given and state.pending_stdin is None:
            state.pending_stdin = frame.stdin  # the next statement gets it, too
        return settled

    def _item(self, item: ListItem, state: State, frame: Frame) -> str:
        """Follow a command or pipeline. A `cd` that must fail leaves the directory uncertain."""
        moves = state.cd_count
        printed = (self.in_background if item.background else self.node)(item.node, state, frame)
        if item.negated and state.cd_count != moves:
            state.cwd_certain = False
        return printed

    def _run_chained(
        self,
        item: ListItem,
        state: State,
        frame: Frame,
        chain: ChainStart | None,
        before: ListItem,
        here: CwdState,
    ) -> str:
        """Follow a command after `&&` or `||`.

        `chain`: the variables before the first `&&`; `here`: the working directory before the statement.
        """
        if item.operator == "&&":
            choose(state, self.budget)
            functions = state.functions.bodies
            printed = (self.in_background if item.background else self.node)(item.node, state, frame)
            if chain is not None and state.functions.bodies is not functions:
                self.budget.charge(COST_ENTRY * len(functions))
                state.mark_uncertain(functions)
            return printed
        done = state.fork()
        if chain is not None:
            self.budget.charge(end_chain(chain, state, []))
        if item.background:
            return self.in_background(item.node, state, frame)
        other, files = state.fork(), state.files.checkpoint()
        alone = not before.operator and not before.negated
        other.cwd, other.cwd_certain = here[0], alone and still_there(here, state, before)
        choose_found(other, self.budget)
        printed = self.node(item.node, other, frame)
        state.files.mark_uncertain(files)
        for name in nonempty_if(before, succeeds=True):
            done.assume_nonempty(name)
        state.cwd = here[0]
        if exits(item.node):
            self.budget.charge(state.merge(done, stays=False))
        else:
            self.budget.charge(state.merge(done, other, stays=False))
        return printed

    # pipelines and commands

    def node(self, node: Node, state: State, frame: Frame) -> str:
        """Follow a command of any kind; return what it prints."""
        if isinstance(node, SimpleCommand):
            return self.commands.simple(node, state, frame)
        if isinstance(node, Pipeline):
            return self._pipeline(node, state, frame)
        if not self.budget.charge(COST_NODE):
            return UNKNOWN
        opened: tuple[Redirection, ...] = ()
        inner, sinks = frame, self.substitutions.waiting
        if node.redirects:
            expander = Expander(state, self, frame, node)
            opened, stdin = self.pipes.open_redirects(node.redirects, expander, frame.stdin)
            inner = frame.with_pipes(self.pipes.redirect(opened, frame.pipes), stdin)
        printed = self.compounds.follow(node, state, inner)
        if opened:
            command = create_command((), node, state, inner)
            command.redirects = opened
            self.commands.record(command)
            printed = self.pipes.apply_redirects(command, printed, state)
        self.substitutions.run_waiting(sinks, state, frame)
        return printed

    def _pipeline(self, node: Pipeline, state: State, frame: Frame) -> str:
        (pipe_in, pipe_out), last = frame.pipes, len(node.stages) - 1
        first, stdin = self.pipes.add(node, last, frame.pipes), frame.stdin
        for number, stage in enumerate(node.stages):
            if stdin:
                self.budget.charge(len(stdin))
            pipes = first + number - 1 if number else pipe_in, first + number if number < last else pipe_out
            in_place = state.options.lastpipe and number == last
            stdin = self.node(stage, state if in_place else state.fork(), frame.with_pipes(pipes, stdin))
        return stdin or ""

    def in_background(self, node: Node, state: State, frame: Frame) -> str:
        """Follow a command in the background: it may not have written its files yet."""
        files = state.files.checkpoint()
        printed = self.node(node, state.fork(), frame)
        state.files.mark_uncertain(files)
        return printed
