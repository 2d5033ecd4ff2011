# A Python from 3.11 up, bash, git and the package registry are enough: each target sets up what it needs.
#
#   make test ARGS='-k timeout'     arguments for pytest
#   make test PYTHON=python3.12     another interpreter; VENV=.venv-3.12 leaves .venv as it is

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export PYTHON ?=
export ARGS ?=
FRAMEWORKS ?=
BASE ?= HEAD~1
UV ?= uv
VENV ?= .venv
BIN := $(VENV)/bin
# What has no command of its own.
USUAL := not slow and not mcp and not containers and not ray
# What is the same on every system: the checker, the text pipeline, the views, settings.
PURE := $(addprefix tests/,ansi shell policy output redact views config hooks fuzz)
# What test-odd runs in CI: what starts processes, keeps tasks and names files. ODD=tests for every test.
ODD ?= $(addprefix tests/,keeper tasks capture observe environment)
TYPED := src tests scripts fuzz faults $(if $(wildcard bench/*.py),bench) $(if $(wildcard examples/*.py),examples)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: venv ## see what nacre does
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

.PHONY: test
test: venv ## the behaviour tests
	$(BIN)/pytest -m '$(USUAL)' $(ARGS)

.PHONY: test-slow
test-slow: venv ## what takes long to prove: bounds on work, floods, thousands of runs, harnesses that can fail
	$(BIN)/pytest -m slow --dist=load $(ARGS)

.PHONY: test-agents
test-agents: venv ## hooks in real agents, with a model on loopback (needs npm and the registry)
	scripts/need-npm.sh
	scripts/agents.sh .agents
	NACRE_AGENTS=$(CURDIR)/.agents $(BIN)/pytest -m agents $(ARGS) tests/agents

.PHONY: test-portable
test-portable: venv ## the same with the Linux parts switched off, without what has none
	scripts/need-ps.sh
	NACRE_PORTABLE=1 $(BIN)/pytest -m 'not linux and $(USUAL)' $(addprefix --ignore=,$(PURE)) $(ARGS)

.PHONY: test-linux
test-linux: venv ## what test-portable leaves out: the Linux parts
	$(BIN)/pytest -m 'linux and $(USUAL)' $(ARGS)

.PHONY: test-pure
test-pure: venv ## and what is the same on every system
	$(BIN)/pytest -m 'not linux and $(USUAL)' $(PURE) $(ARGS)

.PHONY: test-user
test-user: ## the same as a user without privileges, without what is the same for everybody (from root; else just the tests)
	scripts/test-user.sh -m '$(USUAL)' $(addprefix --ignore=,$(PURE)) $(ARGS)

.PHONY: test-odd
test-odd: ## the same in an odd place: spaces in paths, a long TMPDIR, few descriptors, a container's seccomp filter, hidepid=2
	scripts/test-odd.sh -m '$(USUAL)' $(ODD) $(ARGS)

.PHONY: test-mcp
test-mcp: ## the MCP server with the official client, in environments of their own
	scripts/test-mcp.sh $(ARGS)

.PHONY: test-mcp-tools
test-mcp-tools: ## the MCP server with the official conformance suite, inspector and TypeScript client (needs npm)
	scripts/need-npm.sh
	scripts/test-mcp-tools.sh $(ARGS)

.PHONY: test-all
test-all: ## the same on every Python from 3.11 up that is here
	scripts/test-all.sh -m '$(USUAL)' $(ARGS)

.PHONY: test-telemetry
test-telemetry: ## runs as spans, with the real OpenTelemetry SDK
	scripts/test-telemetry.sh $(ARGS)

.PHONY: test-ray
test-ray: ## the Ray engine on three nodes on this machine, in an environment of its own
	scripts/test-ray.sh $(ARGS)

.PHONY: test-containers
test-containers: ## the engines with podman (installed if need be), docker where it runs, and bubblewrap
	scripts/test-containers.sh $(ARGS)

.PHONY: test-frameworks
test-frameworks: ## the adapters against the real frameworks, in an environment of their own; FRAMEWORKS='langchain anthropic'
	scripts/test-frameworks.sh $(FRAMEWORKS)

.PHONY: check
check: venv ## lint, format, types, import directions, requirement marks, names and sizes
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports
	$(BIN)/python scripts/requirements.py --strict
	$(BIN)/python -m scripts.lint

.PHONY: bench
bench: venv ## measure; keeps the table in bench/RESULTS.md
	scripts/rivals.sh
	$(BIN)/python -m bench $(ARGS)

.PHONY: bench-compare
bench-compare: venv ## measure this tree and the commit BASE in turns, row by row; ARGS='foundation --rounds 5'
	scripts/rivals.sh
	$(BIN)/python -m bench.compare $(BASE) $(ARGS)

.PHONY: peers
peers: venv ## the same probes on the shell tools of others; keeps bench/PEERS.md; ARGS='nacre swe-rex --probes echo,tree'
	$(BIN)/python -m bench.peers $(ARGS)

.PHONY: bench-ray
bench-ray: ## measure the Ray engine on three nodes on this machine; keeps its table
	scripts/venv.sh .venv-ray ray
	.venv-ray/bin/python -m bench ray --keep

.PHONY: fuzz
fuzz: ## 100,000 cases of hostile input; ARGS='running --cases 500 --seed 7' for some of them
	scripts/mcp-venvs.sh
	.venv-mcp/bin/python -m fuzz $(ARGS)

.PHONY: faults
faults: venv ## 620 rounds of kills, 170 of full disks and the like; ARGS='--fault keeper --rounds 50 --seed 7' for some
	$(BIN)/python -m faults $(ARGS)

.PHONY: snapshots
snapshots: venv ## write tests/interface/snapshots anew, from what other programs see now
	UPDATE_SNAPSHOTS=1 $(BIN)/pytest -n0 -m 'not mcp' tests/interface
	scripts/mcp-venvs.sh
	UPDATE_SNAPSHOTS=1 .venv-mcp/bin/pytest -n0 tests/interface/test_mcp_tools.py

.PHONY: requirements
requirements: venv ## each requirement with the tests that prove it
	$(BIN)/python scripts/requirements.py $(ARGS)

.PHONY: rules
rules: venv ## write docs/rules anew from the rules
	$(BIN)/python scripts/rule_pages.py

.PHONY: profiles
profiles: venv ## write docs/profiles.md anew from the profiles
	$(BIN)/python scripts/profile_pages.py

.PHONY: gallery
gallery: venv ## draw the pictures in docs/gallery anew, from recorded results
	$(BIN)/python -m scripts.gallery --export docs/gallery $(ARGS)

.PHONY: pins
pins: ## pin the newest dependencies of every environment anew (needs uv)
	scripts/pins.sh $(UV)

.PHONY: clean
clean: ## remove environments and caches
	rm -rf .agents .venv .venv-* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: venv
venv:
	@scripts/venv.sh $(VENV)
