#!/usr/bin/env bash
# The second step of action.yml: checks the recording, prints annotations, and writes the text of
# the comment, which the summary of the job has, too.
# Outputs: text (its file), status (1: a limit is broken), delta-bytes.
set -euo pipefail
folder=$(dirname "$RECORDING")
checks=()
[ -z "$BASE" ] || checks+=(--baseline "$BASE" --tolerance "$TOLERANCE")
[ -z "$LIMITS" ] || checks+=(--limits "$LIMITS")
# Names in the text may have backquotes, but not five.
fence='`````'
status=0
{
    echo "### GPU memory of \`${PROGRAM//\`/}\`"
    if [ ${#checks[@]} -gt 0 ]; then
        peakline check --github "${checks[@]}" "$RECORDING" >"$folder/check" || status=$?
        [ "$status" -le 1 ] || exit "$status"
        broken=$(grep -c '^FAIL' "$folder/check" || true)
        echo
        [ "$broken" -eq 0 ] && echo "No limit is broken." || echo "**Broken limits: $broken**"
    fi
    echo
    echo "$fence text"
    if [ -n "$BASE" ]; then
        peakline diff "$BASE" "$RECORDING" 2>/dev/null
    else
        peakline table --top 10 "$RECORDING" 2>/dev/null
    fi
    echo "$fence"
    if [ "$status" -ne 0 ]; then
        printf '\n<details><summary>Limits</summary>\n\n%s text\n' "$fence"
        grep -v '^::' "$folder/check"
        printf '%s\n\n</details>\n' "$fence"
    fi
    echo
    echo "Simulated on $DEVICE by peakline: sizes are exact, no GPU was used."
} >"$folder/comment.md"
[ ! -e "$folder/check" ] || cat "$folder/check"
cat "$folder/comment.md" >>"$GITHUB_STEP_SUMMARY"
delta=
[ -z "$BASE" ] || delta=$(peakline diff --json "$BASE" "$RECORDING" 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["delta_bytes"])')
printf 'text=%s\nstatus=%s\ndelta-bytes=%s\n' "$folder/comment.md" "$status" "$delta" >>"$GITHUB_OUTPUT"
