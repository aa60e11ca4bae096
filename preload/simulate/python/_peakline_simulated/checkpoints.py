"""The Python part of the checkpoint guard: detects callers that save a checkpoint.

The guard (preload/simulate/guard) sees files; this module sees callers. Everything that a thread
writes inside one of the functions below is a checkpoint. They are wrapped when their module is
imported. Without the guard (`--allow-writes`) nothing happens.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from _peakline_imports import when_imported

if TYPE_CHECKING:
    from collections.abc import Iterator

_Wrap = Callable[[Any, Any], Any]  # the guard's library, the real function -> ours
_PATH_BYTES = 4096


@contextmanager
def _saving(guard: Any) -> Iterator[None]:
    guard.peakline_guard_begin_save()
    try:
        yield
    finally:
        guard.peakline_guard_end_save()


def _whole(guard: Any, real: Any) -> Any:
    """Wrap a function whose whole output belongs to a checkpoint."""

    @functools.wraps(real)
    def save(*args: Any, **kwargs: Any) -> Any:
        with _saving(guard):
            return real(*args, **kwargs)

    return save


def _to_file(guard: Any, real: Any) -> Any:
    """Wrap ``save(object, path_or_file)``: the file may be open already, or in memory."""

    @functools.wraps(real)
    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        descriptor = _descriptor(f)
        if descriptor is not None:
            guard.peakline_guard_saves_to(descriptor)
        with _saving(guard):
            result = real(obj, f, *args, **kwargs)
        _note_memory(guard, f)
        return result

    return save


def _descriptor(file: Any) -> int | None:
    try:
        return int(file.fileno())
    except Exception:  # a path, a file in memory, a closed one: left to the real function
        return None


def _note_memory(guard: Any, file: Any) -> None:
    import io
    import zlib

    if isinstance(file, io.BytesIO):
        with file.getbuffer() as content:
            digest = f"{len(content)}:{zlib.crc32(content)}"
        guard.peakline_guard_saved_in_memory(digest.encode())


def _to_bytes(guard: Any, real: Any) -> Any:
    """Wrap a function that returns a checkpoint as bytes."""

    @functools.wraps(real)
    def serialize(*args: Any, **kwargs: Any) -> Any:
        import zlib

        content = real(*args, **kwargs)
        digest = f"{len(content)}:{zlib.crc32(content)}"
        guard.peakline_guard_saved_in_memory(digest.encode())
        return content

    return serialize


def _to_other_path(guard: Any, real: Any) -> Any:
    """Wrap a function with system calls that bypass the guard: it gets the path to use."""
    import os

    @functools.wraps(real)
    def serialize_file(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
        buffer = ctypes.create_string_buffer(_PATH_BYTES)
        with _saving(guard):
            instead = guard.peakline_guard_write_path(os.fsencode(filename), buffer)
            path = filename if instead is None else os.fsdecode(instead)
            return real(tensors, path, *args, **kwargs)

    return serialize_file


def _stream(guard: Any, real: Any) -> Any:
    """Wrap a context manager; writes in its body, on any thread, belong to a checkpoint."""

    @functools.wraps(real)
    @contextmanager
    def create_stream(*args: Any, **kwargs: Any) -> Any:
        with _saving(guard), real(*args, **kwargs) as stream:
            yield stream

    return create_stream


def _removal(guard: Any, real: Any) -> Any:
    """Hide a folder with real checkpoints from the program instead of removing it."""
    import os

    @functools.wraps(real)
    def rmtree(path: Any, *args: Any, **kwargs: Any) -> Any:
        if not _has_real_checkpoint(guard, os.fsencode(path)):
            return real(path, *args, **kwargs)
        guard.peakline_guard_begin_removal()
        try:
            return real(path, *args, **kwargs)
        finally:
            guard.peakline_guard_end_removal()

    return rmtree


def _has_real_checkpoint(guard: Any, path: bytes) -> bool:
    import os

    return any(
        guard.peakline_guard_is_real_checkpoint(os.path.join(folder, name))  # noqa: PTH118
        for folder, _folders, names in os.walk(path)
        for name in names
    )


_WRAPPED: dict[str, dict[str, _Wrap]] = {
    "shutil": {"rmtree": _removal},
    "torch.serialization": {"save": _to_file},
    "torch.jit._serialization": {"save": _to_file},
    "torch.export": {"save": _to_file},
    "torch.distributed.checkpoint.filesystem": {
        "FileSystem.create_stream": _stream,
        "FileSystem.mkdir": _whole,
    },
    "torch.distributed.checkpoint.state_dict_saver": {"save": _whole},
    "safetensors": {"serialize_file": _to_other_path, "serialize": _to_bytes},
    "transformers.modeling_utils": {"PreTrainedModel.save_pretrained": _whole},
    "transformers.trainer": {"Trainer.save_model": _whole, "Trainer._save_checkpoint": _whole},
    "accelerate.accelerator": {"Accelerator.save_state": _whole, "Accelerator.save_model": _whole},
    "peft.peft_model": {"PeftModel.save_pretrained": _whole},
    "diffusers.models.modeling_utils": {"ModelMixin.save_pretrained": _whole},
    "diffusers.pipelines.pipeline_utils": {"DiffusionPipeline.save_pretrained": _whole},
    "deepspeed.runtime.engine": {"DeepSpeedEngine.save_checkpoint": _whole},
    "lightning.fabric.plugins.io.torch_io": {"TorchCheckpointIO.save_checkpoint": _whole},
    "lightning_fabric.plugins.io.torch_io": {"TorchCheckpointIO.save_checkpoint": _whole},
}


def _wrap(guard: Any, module: Any) -> None:
    for path, wrap in _WRAPPED[module.__name__].items():
        *outer, name = path.split(".")
        owner = module
        for part in outer:
            owner = getattr(owner, part, None)
        real = getattr(owner, name, None)
        if real is not None:
            setattr(owner, name, wrap(guard, real))


def prepare() -> None:
    """Wrap functions that save checkpoints, when their modules are imported."""
    guard: Any = ctypes.CDLL(None)
    if not hasattr(guard, "peakline_guard_write_path"):
        return
    guard.peakline_guard_write_path.restype = ctypes.c_char_p
    for name in _WRAPPED:
        when_imported(name, functools.partial(_wrap, guard))
