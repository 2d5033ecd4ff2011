#!/usr/bin/env bash
# usage: test-frameworks.sh [NAME…]
#
# Runs the tests of each adapter against its framework, in an environment of its own. A framework that cannot be
# installed here is passed over, and named at the end; fails if a test fails, or if none could be installed. ARGS go to
# pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- pydantic-ai langchain openai-agents anthropic inspect-ai claude-agent-sdk deepagents

passed=() failed=() absent=()
for name; do
    if ! scripts/framework-venv.sh "$name"; then
        absent+=("$name")
        continue
    fi
    module=${name//-/_}
    printf '\n=== %s\n' "$name"
    # Their warnings are theirs to mend.
    # shellcheck disable=SC2086
    if ".venv-$name/bin/pytest" -m framework -o filterwarnings=default -n0 "tests/adapters/test_$module.py" ${ARGS:-}; then
        passed+=("$name")
    else
        failed+=("$name")
    fi
done

printf '\npassed: %s\n' "${passed[*]:-none}"
((${#absent[@]} == 0)) || printf 'not installed here: %s\n' "${absent[*]}"
((${#failed[@]} == 0)) || { printf 'failed: %s\n' "${failed[*]}"; exit 1; }
((${#passed[@]})) || exit 1
