"""database-drop: deletes a whole database, schema or keyspace, or all keys of a server.

Why      it cannot be undone without a backup, and the connection may not be to the test database.
Instead  make a dump first, or drop single tables.
Misses   tables and rows (`DROP TABLE`, `TRUNCATE`, `DELETE`), which are everyday work; a database that is a file;
         statements in files (`psql -f`), from programs, or composed by the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import parse_options, render, which_program
from nacre.policy.rules.services._sql import destroys, destroys_in_mongo
from nacre.shell.command import Command
from nacre.verdict import Decision

_CLIENTS = {  # letters of options with a value, long ones with a value, options whose value is SQL
    "mysql": ("uhPDSe", "user= host= port= database= socket= execute=", ("-e", "--execute")),
    "psql": ("cdfhpUvoFRPTL", "command= dbname= file= host= port= username= variable= output=", ("-c", "--command")),
    "clickhouse-client": ("hudq", "host= port= user= password= database= query=", ("-q", "--query")),
    "cqlsh": ("eufkp", "execute= username= password= file= keyspace=", ("-e", "--execute")),
    "sqlcmd": ("SUPdQqio", "", ("-Q", "-q")),
    "cockroach": ("ed", "execute= url= host= database= certs-dir=", ("-e", "--execute")),
}
_CLIENTS |= {"mariadb": _CLIENTS["mysql"], "mysqlsh": _CLIENTS["mysql"]}
_REDIS = ("redis-cli", "valkey-cli", "keydb-cli")
_MONGO = ("mongosh", "mongo")
_THROWAWAY = lazy_regex(r"(?:^|_)(?:test|testing|tmp|temp|dev|ci)(?:_|$)", re.IGNORECASE)
"""Matches names of databases that are meant to be dropped."""
_ADMIN = ("dropdb", "mysqladmin", "mariadb-admin")


def match(command: Command, _: CheckContext) -> Hit | None:
    name = which_program(command, *RULE.commands)
    if name in _REDIS:
        given = parse_options(command.args, "hpsaunridDx", "user= pass= sni= cacert= cert= key=")
        first = (given.operands or (command.stdin or "").split() or [""])[0]
        return Hit(render(name, first), _REASON) if first.lower() in ("flushall", "flushdb") else None
    if name in _ADMIN:
        return _admin(name, command)
    judge = destroys_in_mongo if name in _MONGO else destroys
    for text in _texts(name, command):
        if lost := judge(text):
            return Hit(f"{name}: {render(lost[0])}", lost[1])
    return None


def _texts(name: str, command: Command) -> Iterator[str]:
    """Yield the code that the client would execute."""
    if not name:
        return
    if command.stdin is not None:
        yield command.stdin
    if name in _MONGO:
        yield from parse_options(command.args, "hup", "eval=").values("--eval")
    elif name in ("sqlite3", "duckdb"):
        words = command.operands("-separator", "-init", "-newline", "-nullvalue", "-cmd", "-c", "-s")
        yield from words[1:] if ":memory:" not in words[:1] else ()
        yield from (b for a, b in zip(command.args, command.args[1:], strict=False) if a in ("-cmd", "-c", "-s"))
    else:
        letters, longs, options = _CLIENTS[name]
        yield from parse_options(command.args, letters, longs).values(*options)


def _admin(name: str, command: Command) -> Hit | None:
    operands = parse_options(command.args, "uhPSpU", "user= host= port= socket= username= maintenance-db=").operands
    if "--help" in command.args or not operands or (name != "dropdb" and operands[0] != "drop"):
        return None
    if _THROWAWAY.search(operands[-1]):
        return None
    return Hit(render(name, *operands))


_REASON = "would delete all the data in it"
RULE = Rule(
    id="database-drop",
    decision=Decision.ASK,
    reason="would delete the database with all its data",
    instead="make a dump first, and ask the user which database this is",
    commands=(*_CLIENTS, *_REDIS, *_MONGO, *_ADMIN, "sqlite3", "duckdb"),
    match=match,
    hits=(
        "mysql -u root -psecret -e 'drop database prod;'",
        "psql -h db --command='SELECT 1; DROP DATABASE IF EXISTS app'",
        "mysql -e 'DROP/**/SCHEMA `prod`'",
        "echo 'DROP DATABASE app;' | psql",
        "psql -U postgres <<'SQL'\n\\c postgres\nDROP\n  DATABASE app;\nSQL",
        "mongosh app --eval 'db.dropDatabase()'",
        "redis-cli -h cache FLUSHALL",
        "sudo -u postgres dropdb app",
        "mysqladmin -f -u root drop prod",
        "clickhouse-client -q 'drop database events'",
        "bash -c 'psql -c \"drop schema public cascade\"'",
    ),
    passes=(
        "psql -c \"SELECT 'drop database x'\"",
        "psql -c 'DROP TABLE IF EXISTS tmp_import'",
        "dropdb --if-exists app_test",
        "sqlite3 test.db 'DELETE FROM sessions;'",
        "psql -c 'SELECT 1 -- drop database x'",
        "mysql -e 'DELETE FROM users WHERE id = 1'",
        'psql -c "DELETE FROM users $CONDITION"',
        "psql -c 'ALTER TABLE users DROP COLUMN age'",
        "sqlite3 app.db 'SELECT count(*) FROM users;'",
        "mysql -e 'SELECT TRUNCATE(1.99, 1)'",
        'mysql -e "$SQL"',
        "redis-cli get flushall",
        "psql -f schema.sql",
        "mysqladmin status",
        "grep -r 'DROP DATABASE' migrations/",
    ),
)
