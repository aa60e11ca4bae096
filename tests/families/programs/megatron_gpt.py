"""Megatron-core: the example, which has two tensor-parallel parts of two pipeline stages."""

import sys
from pathlib import Path

from _peak import finish

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
from megatron_ranks import train  # noqa: E402

train()
finish("trained")
