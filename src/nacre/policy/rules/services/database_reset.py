"""database-reset: empties or rebuilds the database of a framework.

Why      all data is deleted, and the command does not say which database: that depends on settings.
Instead  migrate forward, or name the test environment.
Misses   a project's own tasks and scripts.
"""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render, which_program
from nacre.shell.command import Command
from nacre.verdict import Decision

_RAILS = lazy_regex(r"db:(?:drop|reset|purge|truncate_all|migrate:reset)(?::\w+)*")
_ACTIONS = {
    "rails": _RAILS,
    "rake": _RAILS,
    "manage.py": re.compile("flush|reset_db"),
    "django-admin": re.compile("flush|reset_db"),
    "artisan": re.compile("migrate:(?:fresh|reset|refresh)|db:wipe"),
    "mix": re.compile(r"ecto\.(?:drop|reset)"),
    "prisma": re.compile("migrate reset|db push.* --force-reset"),
    "typeorm": re.compile("schema:drop"),
    "sequelize": re.compile("db:drop"),
    "sequelize-cli": re.compile("db:drop"),
    "supabase": re.compile("db reset"),
    "dotnet": re.compile("ef database drop"),
}
"""Patterns for the arguments, matched from the first one on."""
_INTERPRETERS = ("python", "python3", "php", "ruby")
_ENVIRONMENTS = ("RAILS_ENV", "RACK_ENV", "MIX_ENV", "APP_ENV")


def match(command: Command, _: CheckContext) -> Hit | None:
    name, args = which_program(command, *_ACTIONS, *_INTERPRETERS), list(command.args)
    if name in _INTERPRETERS:
        name = args.pop(0).rsplit("/", 1)[-1] if args else ""
    deed = _ACTIONS.get(name)
    if deed is None or {"--help", "-h", "--dry-run", "--pretend"} & set(args) or _in_test(command):
        return None
    while args and args[0].startswith("-"):
        args.pop(0)
    rest = render(*args)
    found = any(deed.fullmatch(word) for word in args) if deed is _RAILS else deed.match(rest)
    return Hit(render(name, rest)) if found else None


def _in_test(command: Command) -> bool:
    given = [word.partition("=") for word in command.args]
    return any(command.assigned.get(name) == "test" for name in _ENVIRONMENTS) or any(
        name in (*_ENVIRONMENTS, "--env", "--environment") and value == "test" for name, _, value in given
    )


RULE = Rule(
    id="database-reset",
    decision=Decision.ASK,
    optional=True,
    reason="would delete all the data in the database that the settings point to",
    instead="run the pending migrations only, or ask the user which database this is",
    commands=(*_ACTIONS, *_INTERPRETERS),
    match=match,
    hits=(
        "rails db:drop",
        "bin/rails db:drop:all db:create",
        "bundle exec rake db:reset",
        "python manage.py flush --noinput",
        "./manage.py reset_db",
        "php artisan migrate:fresh --seed",
        "npx prisma migrate reset --force",
        "prisma db push --accept-data-loss --force-reset",
        "mix ecto.reset",
        "RAILS_ENV=production sudo bash -c 'rails db:reset'",
    ),
    passes=(
        "rails db:migrate",
        "RAILS_ENV=test rails db:drop",
        "rails db:reset RAILS_ENV=test",
        "python manage.py migrate",
        "python manage.py test flush",
        "python flush.py",
        "php artisan migrate",
        "npx prisma migrate dev",
        "mix ecto.migrate",
        "rake -T db:drop --help",
        "dotnet ef database update",
    ),
)
