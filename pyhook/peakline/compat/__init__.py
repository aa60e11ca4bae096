"""The names of five earlier memory tools, over one recording.

Write ``from peakline.compat.gpu_optimizer import MemoryTracer`` instead of ``from gpu_optimizer
import MemoryTracer``, and so on: `memory_profiler`, `gpu_optimizer`, `memory_tracker`,
`pytorch_mem_tracer`, `tdynamics`. Calls, fields and printed forms are those of the tools; the
figures come from the recording. Only `tdynamics.install_hooks` hooks modules or operators.
"""
