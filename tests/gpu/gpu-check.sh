#!/usr/bin/env bash
# Checks peakline on a machine that has a GPU, PyTorch and g++, without a network.
#
#   ./gpu-check.sh                 every part; each ends within 8 minutes
#   ./gpu-check.sh smoke oom       these parts
#   ./gpu-check.sh --list          their names
#   PYTHON=/path/to/python         the Python that has torch (default: python3)
#
# Each part writes results/PART.json and results/PART.txt and can be run again alone. Nothing outside
# this folder is written.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=${PYTHON:-python3}
site=source/pyhook
stamp=$("$python" -V)$(cat manifest.json)
if [[ ! -f $site/installed || $(<$site/installed) != "$stamp" ]]; then
    rm -rf "$site"
    "$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --no-compile \
        --target "$site" wheels/*.whl
    cp -n libraries/* "$site/peakline/_native/" 2>/dev/null || true
    echo "$stamp" >"$site/installed"
fi
export PYTHONPATH=$PWD/$site PEAKLINE_CACHE_DIR=$PWD/cache
exec "$python" source/tests/gpu/check.py "$@"
