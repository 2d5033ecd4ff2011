"""kubectl-delete-all: deletes all objects of a kind, or a whole namespace.

Why      a namespace includes workloads, secrets and volumes; with the wrong context they are those of production.
Instead  delete by name, or by the file that made it (`kubectl delete -f deploy.yaml`).
Misses   a selector that matches everything; `kubectl delete crd`; lists made at run time.
"""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import parse_options, render, which_program
from nacre.shell.command import Command
from nacre.verdict import Decision

_LONG = (
    "namespace= context= cluster= kubeconfig= server= token= user= as= as-group= as-uid= cache-dir= request-timeout= "
    "certificate-authority= client-certificate= client-key= tls-server-name= grace-period= timeout= field-selector= "
    "selector= filename= kustomize= output= all all-namespaces"
)


_NAMESPACES = ("ns", "namespace", "namespaces", "project", "projects")
_THROWAWAY = lazy_regex(r"(?:^|-)(?:pr|preview|review|test|tmp|temp|dev|ci|demo|sandbox)(?:-|\d|$)", re.IGNORECASE)
"""Matches namespaces that are meant to be deleted."""


def match(command: Command, _: CheckContext) -> Hit | None:
    name = which_program(command, "kubectl", "oc", "k3s", "microk8s")
    args = command.args[1:] if name in ("k3s", "microk8s") and command.args[:1] == ("kubectl",) else command.args
    given = parse_options(args, "nslfkov", _LONG)
    if not name or given.operands[:1] != ["delete"] or given.is_set("--dry-run") or given.has("--help"):
        return None
    words = render(*command.argv)
    if given.is_set("-A", "--all-namespaces"):
        return Hit(words, "would delete objects in every namespace of the cluster")
    if given.is_set("--all"):
        return Hit(words)
    kind, *names = [each for word in given.operands[1:] for each in word.split("/", 1)] or [""]
    if kind.lower() in _NAMESPACES and names and not all(_THROWAWAY.search(name) for name in names):
        return Hit(words, "would delete the namespace with all that is in it: workloads, secrets, volumes")
    return None


RULE = Rule(
    id="kubectl-delete-all",
    decision=Decision.ASK,
    reason="would delete every object of that kind in the namespace",
    instead="delete by name (`kubectl delete pod web-1`); `--dry-run=server` shows what would go",
    commands=("kubectl", "oc", "k3s", "microk8s"),
    match=match,
    hits=(
        "kubectl delete all --all",
        "kubectl delete pods --all -A",
        "kubectl delete --all pods --all-namespaces",
        "kubectl -n prod delete pvc,deploy,svc --all",
        "kubectl delete all --all=true",
        "kubectl --context prod delete all --all --force",
        "oc delete pods --all",
        "kubectl delete ns production",
        "kubectl delete namespace/prod --force --grace-period=0",
        "k3s kubectl delete ns --all",
        "sudo bash -c 'kubectl delete namespaces --all'",
    ),
    passes=(
        "kubectl delete ns pr-1234-preview",
        "kubectl delete pod web-1",
        "kubectl delete -f deploy.yaml",
        "kubectl delete pod -l app=test",
        "kubectl delete deployment web -n namespace",
        "kubectl delete ns demo --dry-run=client",
        "kubectl delete pod ns",
        "kubectl get all --all-namespaces",
        "kubectl get pods -A",
        "helm uninstall app-test -n dev",
        "kubectl logs -f deploy/web --all-containers",
    ),
)
