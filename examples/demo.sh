#!/usr/bin/env bash
# Shows what nacre does, in a few seconds. Runs each line after `$` as it is written, and prints its output.
# `make demo` runs this; `nacre` must be on PATH.
set -uo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
mkdir project
export XDG_STATE_HOME=$place/state FAKE_API_KEY=sk-no-real-key

[[ -t 1 ]] && bold=$'\e[1m' plain=$'\e[0m' || bold='' plain=''

scene() { printf '\n%s# %s%s\n' "$bold" "$1" "$plain"; }

# show CODE LINE: runs the line; the demo fails if its exit code is not CODE.
show() {
    printf '$ %s\n' "$2"
    eval "$2" 2>&1
    local code=$?
    ((code == 0)) || printf '(exit %d)\n' "$code"
    ((code == $1)) || { printf 'demo: expected exit %d\n' "$1" >&2; exit 1; }
}

scene 'Output passes through while the command runs, and so does the exit code.'
show 3 "nacre run 'for i in 1 2 3; do echo \$i; sleep 0.2; done; exit 3'"

scene 'A background job does not block the call; leftover processes are named and killed.'
show 0 "nacre run 'sleep 60 & echo done'"

scene 'A timeout kills the whole process tree, also processes that left the session or ignore SIGTERM.'
show 124 "nacre run --timeout 1 'echo partial; setsid sleep 987 & (setsid sh -c \"trap : TERM; sleep 987; sleep 987\" &); sleep 987'"
! command -v ps >/dev/null || show 1 "ps ax | grep '[s]leep 987'"

scene 'However a command ends, the caller gets a result.'
show 137 "nacre run 'kill -9 \$\$'"
show 125 "nacre run 'echo so far; read _ _ _ keeper _ </proc/\$\$/stat; kill -9 \$keeper; sleep 60'"

scene 'Commands do not inherit secrets of the environment, unless you pass them.'
show 1 "nacre run 'env | grep FAKE'"
show 0 "nacre run --pass-env FAKE_API_KEY 'env | grep FAKE'"

scene 'nacre checks what a command would do before it runs. None of these runs.'
show 126 "nacre run 'git push -f origin main'"
show 2 "nacre explain \"sudo bash -c 'rm -rf /'\""
show 0 "nacre check \"echo 'rm -rf /'\""

if nacre doctor >/dev/null; then
    scene 'A restricted command can only read; the kernel enforces it.'
    show 1 "nacre run --access restricted 'ls project; echo x > project/file'"
    show 137 "nacre run --access restricted --memory 100M 'head -c 500M /dev/zero | tail -c 500M >/dev/null'"
    scene 'In a workspace it can write, but not outside it.'
    show 1 "nacre run --access workspace --cwd project 'echo x > file && ls && echo x > ../file'"
fi

scene 'A task keeps running in the background: any program can find it, wait for it, read its output, and kill it.'
show 0 "nacre run --background 'for i in 1 2 3; do echo \$i; sleep 0.3; done; exit 7' > id; nacre tasks"
show 7 "nacre wait \"\$(cat id)\"; nacre output \"\$(cat id)\"; nacre wait \"\$(cat id)\""
show 0 "nacre run --background 'setsid sleep 987 & sleep 987' > id; nacre kill \"\$(cat id)\""

scene 'Programs read JSON.'
show 0 "nacre run --json 'echo out; echo err >&2'"

scene 'A session carries directory and variables to the next call; without one, nothing carries over.'
show 0 "nacre run --session demo 'cd project; export COLOUR=blue'"
show 0 "nacre run --session demo 'echo \$COLOUR in \${PWD##*/}'"

scene 'What this machine supports.'
show 0 'nacre doctor || echo "commands run here, but not sandboxed"'
