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
# The tests without a separate make target.
USUAL := not slow and not mcp and not containers and not ray
# Code that behaves the same on every system: the checker, the text pipeline, the views, settings.
PURE := $(addprefix tests/,ansi shell policy output redact views config hooks fuzz)
# test-odd runs these in CI: code that starts processes, keeps tasks and names files. ODD=tests runs every test.
ODD ?= $(addprefix tests/,keeper tasks capture observe environment)
TYPED := src tests scripts fuzz faults $(if $(wildcard bench/*.py),bench) $(if $(wildcard examples/*.py),examples)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: venv ## see what nacre does
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

.PHONY: test
test: venv ## the behaviour tests
	$(BIN)/pytest -m '$(USUAL)' $(ARGS)

.PHONY: test-slow
test-slow: venv ## the slow tests: bounds on work, floods, thousands of runs, planted bugs for the harnesses
	$(BIN)/pytest -m slow --dist=load $(ARGS)

.PHONY: test-agents
test-agents: venv ## hooks in real agents, with a model on loopback (needs npm and the registry)
	scripts/need-npm.sh
	scripts/agents.sh .agents
	NACRE_AGENTS=$(CURDIR)/.agents $(BIN)/pytest -m agents $(ARGS) tests/agents

.PHONY: test-portable
test-portable: venv ## the tests in portable mode (Linux parts off), except the pure ones
	scripts/need-ps.sh
	NACRE_PORTABLE=1 $(BIN)/pytest -m 'not linux and $(USUAL)' $(addprefix --ignore=,$(PURE)) $(ARGS)

.PHONY: test-linux
test-linux: venv ## the tests that need the Linux parts
	$(BIN)/pytest -m 'linux and $(USUAL)' $(ARGS)

.PHONY: test-pure
test-pure: venv ## the pure tests: the same on every system
	$(BIN)/pytest -m 'not linux and $(USUAL)' $(PURE) $(ARGS)

.PHONY: test-user
test-user: ## the tests as an unprivileged user, except the pure ones (needs root; otherwise the plain tests)
	scripts/test-user.sh -m '$(USUAL)' $(addprefix --ignore=,$(PURE)) $(ARGS)

.PHONY: test-odd
test-odd: ## the tests in an odd environment: spaces in paths, long TMPDIR, few descriptors, a container's seccomp filter, hidepid=2
	scripts/test-odd.sh -m '$(USUAL)' $(ODD) $(ARGS)

.PHONY: test-mcp
test-mcp: ## the MCP server with the official client, in separate environments
	scripts/test-mcp.sh $(ARGS)

.PHONY: test-mcp-tools
test-mcp-tools: ## the MCP server with the official conformance suite, inspector and TypeScript client (needs npm)
	scripts/need-npm.sh
	scripts/test-mcp-tools.sh $(ARGS)

.PHONY: test-all
test-all: ## the tests on every installed Python from 3.11 up
	scripts/test-all.sh -m '$(USUAL)' $(ARGS)

.PHONY: test-telemetry
test-telemetry: ## runs as spans, with the real OpenTelemetry SDK
	scripts/test-telemetry.sh $(ARGS)

.PHONY: test-ray
test-ray: ## the Ray engine on three nodes on this machine, in a separate environment
	scripts/test-ray.sh $(ARGS)

.PHONY: test-containers
test-containers: ## the engines with podman (installed if missing), docker if it runs, and bubblewrap
	scripts/test-containers.sh $(ARGS)

.PHONY: test-frameworks
test-frameworks: ## the adapters with the real frameworks, in a separate environment; FRAMEWORKS='langchain anthropic'
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
bench: venv ## measure, and write the tables to bench/RESULTS.md
	scripts/rivals.sh
	$(BIN)/python -m bench $(ARGS)

.PHONY: bench-compare
bench-compare: venv ## measure this tree and the commit BASE in turns, row by row; ARGS='foundation --rounds 5'
	scripts/rivals.sh
	$(BIN)/python -m bench.compare $(BASE) $(ARGS)

.PHONY: peers
peers: venv ## run the same probes on other shell tools, and write bench/PEERS.md; ARGS='nacre swe-rex --probes echo,tree'
	$(BIN)/python -m bench.peers $(ARGS)

.PHONY: bench-ray
bench-ray: ## measure the Ray engine on three nodes on this machine, and write its table
	scripts/venv.sh .venv-ray ray
	.venv-ray/bin/python -m bench ray --keep

.PHONY: fuzz
fuzz: ## fuzz with 100,000 cases of hostile input; ARGS='running --cases 500 --seed 7' for some of them
	scripts/mcp-venvs.sh
	.venv-mcp/bin/python -m fuzz $(ARGS)

.PHONY: faults
faults: venv ## inject faults: 620 rounds of kills, 170 of full disks and the like; ARGS='--fault keeper --rounds 50 --seed 7' for some
	$(BIN)/python -m faults $(ARGS)

.PHONY: snapshots
snapshots: venv ## regenerate tests/interface/snapshots, which other programs depend on
	UPDATE_SNAPSHOTS=1 $(BIN)/pytest -n0 -m 'not mcp' tests/interface
	scripts/mcp-venvs.sh
	UPDATE_SNAPSHOTS=1 .venv-mcp/bin/pytest -n0 tests/interface/test_mcp_tools.py

.PHONY: requirements
requirements: venv ## list each requirement with the tests that prove it
	$(BIN)/python scripts/requirements.py $(ARGS)

.PHONY: rules
rules: venv ## regenerate docs/rules from the rules
	$(BIN)/python scripts/rule_pages.py

.PHONY: profiles
profiles: venv ## regenerate docs/profiles.md from the profiles
	$(BIN)/python scripts/profile_pages.py

.PHONY: gallery
gallery: venv ## draw the pictures in docs/gallery anew, from recorded results
	$(BIN)/python -m scripts.gallery --export docs/gallery $(ARGS)

.PHONY: pins
pins: ## pin the newest dependencies of every environment (needs uv)
	scripts/pins.sh $(UV)

.PHONY: clean
clean: ## remove environments and caches
	rm -rf .agents .venv .venv-* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: venv
venv:
	@scripts/venv.sh $(VENV)
