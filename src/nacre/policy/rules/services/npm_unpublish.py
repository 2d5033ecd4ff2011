"""npm-unpublish: removes a published package, or a version of it, from the registry.

Why      packages that depend on it break, and the version number can never be used again.
Instead  `npm deprecate`, which warns and can be undone.
Misses   other registries; `cargo yank` and `gem yank` (allowed: yanked packages stay available).
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import parse_options, render, which_program
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, _: CheckContext) -> Hit | None:
    if not which_program(command, "npm", "pnpm"):
        return None
    given = parse_options(command.args, "Cw", "registry= prefix= otp= workspace= tag= dry-run force")
    if given.operands[:1] != ["unpublish"] or given.is_set("--dry-run") or given.has("--help"):
        return None
    return Hit(render(*command.argv))


RULE = Rule(
    id="npm-unpublish",
    decision=Decision.ASK,
    reason="would take the package off the registry: what depends on it breaks, and its version cannot be used again",
    instead="`npm deprecate`, which warns users and can be undone",
    commands=("npm", "pnpm"),
    match=match,
    hits=(
        "npm unpublish",
        "npm unpublish pkg@1.0.0",
        "npm unpublish pkg --force",
        "npm --registry https://npm.example.com unpublish pkg",
        "pnpm unpublish pkg",
        "cd dist && npm unpublish -f",
        "sudo bash -c 'npm unpublish pkg'",
    ),
    passes=(
        "npm publish --dry-run",
        "npm unpublish --dry-run",
        "npm deprecate pkg@1 'use 2'",
        "npm run unpublish",
        "npm uninstall -g typescript",
        "npm help unpublish",
        "cargo yank --version 1.0.0",
    ),
)
