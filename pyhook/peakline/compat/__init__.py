"""The names of five memory tools that went before, over one recording.

``from peakline.compat.gpu_optimizer import MemoryTracer`` in place of ``from gpu_optimizer import
MemoryTracer``, and so on: `memory_profiler`, `gpu_optimizer`, `memory_tracker`,
`pytorch_mem_tracer`, `tdynamics`. Calls, fields and printed forms are theirs, figures are the
recording's. Nothing is hooked into modules or operators, `tdynamics.install_hooks` excepted, which
says so.
"""
