#!/usr/bin/env bash
# The third step of action.yml: makes or updates its one comment of a pull request and program.
set -euo pipefail
[ "$COMMENT" = true ] && [ -n "$PULL_REQUEST" ] || exit 0
marker="<!-- peakline $(printf %s "$PROGRAM" | sha256sum | cut -c1-16) -->"
body=$(dirname "$TEXT")/body.md
{ echo "$marker" && cat "$TEXT"; } >"$body"
comments=repos/$GITHUB_REPOSITORY/issues
say_why() { echo "::warning title=peakline::cannot comment: the token may not write (pull-requests: write)"; }
own=$(gh api --paginate "$comments/$PULL_REQUEST/comments" \
    --jq ".[] | select(.body | startswith(\"$marker\")) | .id") || { say_why && exit 0; }
if [ -n "$own" ]; then
    gh api --silent --method PATCH "$comments/comments/${own%%$'\n'*}" -F "body=@$body" || say_why
else
    gh api --silent --method POST "$comments/$PULL_REQUEST/comments" -F "body=@$body" || say_why
fi
