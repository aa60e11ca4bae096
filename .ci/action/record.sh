#!/usr/bin/env bash
# The first step of action.yml: records the program, and the same at the base commit.
# Outputs: recording, and base: a summary or trace, or nothing if the base does not run.
set -euo pipefail
command -v peakline >/dev/null || {
    echo "::error title=peakline::peakline is not installed: install it, and torch, in a step before"
    exit 2
}
folder=$(mktemp -d "$RUNNER_TEMP/peakline-XXXXXX")
# Words as a shell splits them, but nothing in them is executed.
split() { python3 -c 'import shlex, sys; [print(word) for word in shlex.split(sys.argv[1])]' "$1"; }
mapfile -t options < <(split "$OPTIONS")
mapfile -t program < <(split "$PROGRAM")
record() { peakline run -q --simulate "$DEVICE" "${options[@]}" -o "$1" "${program[@]}" >&2; }

record "$folder/change.peak"
echo "recording=$folder/change.peak" >>"$GITHUB_OUTPUT"
base=$BASELINE
if [ -z "$base" ] && [ -n "$BASE_COMMIT" ]; then
    git cat-file -e "$BASE_COMMIT^{commit}" 2>/dev/null || git fetch -q --depth=1 origin "$BASE_COMMIT"
    below=$(git rev-parse --show-prefix)
    git worktree add -q --detach --force "$folder/worktree" "$BASE_COMMIT"
    base=$folder/base.peak
    if ! (cd "$folder/worktree/$below" && record "$base"); then
        echo "::warning title=peakline::the program does not run at the base: there is no comparison"
        base=
    fi
    git worktree remove --force "$folder/worktree"
fi
echo "base=$base" >>"$GITHUB_OUTPUT"
