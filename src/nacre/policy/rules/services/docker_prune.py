"""docker-prune: `system prune` of all images or volumes that no container uses, and `system reset`.

Why      volumes hold data (databases) that exists nowhere else; the images must be built or pulled again.
Instead  `docker image prune`, or remove by name.
Misses   single kinds, which is allowed (`docker image prune -a`, `docker volume prune`); `docker compose down -v`;
         `docker volume rm $(docker volume ls -q)` and other lists made at run time.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import parse_options, render, which_program
from nacre.shell.command import Command
from nacre.verdict import Decision

_VALUED = "config= connection= context= host= log-level= url= root= runroot= tlscacert= tlscert= tlskey= filter="
_VOLUMES = "would delete every volume that no container uses, with the data in it"


def match(command: Command, _: CheckContext) -> Hit | None:
    if not which_program(command, "docker", "podman", "nerdctl"):
        return None
    given = parse_options(command.args, "cHl", _VALUED)
    if given.has("--help"):
        return None
    words = render(*command.argv)
    match given.operands[:2]:
        case ["system", "prune"] if given.is_set("--volumes"):
            return Hit(words, _VOLUMES)
        case ["system", "prune"] if given.is_set("-a", "--all"):
            return Hit(words)
        case ["system", "reset"]:
            return Hit(words, "would delete every container, image, network and volume")
    return None


RULE = Rule(
    id="docker-prune",
    decision=Decision.ASK,
    reason="would delete every stopped container and every image that no container uses",
    instead="remove by name what you mean: `docker rm`, `docker rmi`, `docker volume rm`",
    commands=("docker", "podman", "nerdctl"),
    match=match,
    hits=(
        "docker system prune -a",
        "docker system prune -af",
        "docker system prune --all --force",
        "docker system prune -f --volumes",
        "docker --context prod system prune -fa",
        "docker -H tcp://10.0.0.1 system prune -af",
        "podman system prune -a",
        "podman system reset",
        "yes | sudo docker system prune -a",
        "bash -c 'docker system prune --force --all'",
    ),
    passes=(
        "docker volume prune -f",
        "docker system prune -f",
        "docker system prune --all=false",
        "docker image prune -a",
        "docker container prune -f",
        "docker builder prune -af",
        "docker system df",
        "docker volume ls",
        "docker volume rm cache",
        "docker rm -f web",
        "docker compose down",
        "docker system prune --help",
        "echo docker system prune -a",
    ),
)
