"""Caches compiled libraries: a folder per content, built once and never changed.

The name of a folder is derived from its content (:class:`Wanted`) and from no path, so environments
share it. A rename makes it appear when it is complete. The recorder chooses the cache folder and
decides which files may be loaded from it (`preload/life/build_cache.h`); this module does the rest.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from peakline.base.output import LinesError, say

_POLL_SECONDS = 0.1
_REMIND_SECONDS = 60
_DAY_SECONDS = 24 * 3600
_KEPT_SECONDS = 60 * _DAY_SECONDS  # after the last use
_OURS = re.compile(r"\.?(simgpu-|values-|blank-)?torch-")


class BuildError(LinesError):
    """A build failed; the text says why, where, and how to continue."""


@dataclass(frozen=True)
class Wanted:
    """A wanted cache entry: `content` and `compiler` are digests of all its inputs."""

    name: str
    content: str
    compiler: str  # "" without a compiler: then the build of any compiler will do
    what: str  # description for users

    @property
    def folder(self) -> str:
        """Name of the folder in the cache."""
        return f"{self.name}-{self.content[:16]}-{self.compiler[:8]}"


def cache_folder() -> Path:
    """Return the cache folder; report it if the requested one cannot be used.

    Raises:
        BuildError: there is no folder that only this user can write to.
    """
    folder, refusal = recorder().cache_folder()
    if not folder:
        raise BuildError(
            f"no folder for compiled libraries: {refusal}; "
            "name one of your own with PEAKLINE_CACHE_DIR"
        )
    if refusal:
        _say_once(f"{refusal}: what is compiled is in {folder} instead")
    return Path(folder)


def find_built(wanted: Wanted) -> Path | None:
    """Return the folder of the wanted entry, or None."""
    cache = cache_folder()
    if wanted.compiler:
        found = [folder] if (folder := cache / wanted.folder).is_dir() else []
    else:
        found = sorted(cache.glob(f"{wanted.name}-{wanted.content[:16]}-*"))
    for folder in found:
        problem = next(filter(None, map(recorder().load_problem, folder.iterdir())), "")
        if problem:
            raise BuildError(f"{problem}: the library there is not used; remove {folder}")
        with contextlib.suppress(OSError):  # the cache may belong to root
            os.utime(folder)
        return folder
    return None


def ensure_built(wanted: Wanted, build: Callable[[Path], object]) -> Path:
    """Return the folder of the wanted entry; `build` fills a new one if it is missing.

    Raises:
        BuildError: it cannot be built.
    """
    if found := find_built(wanted):
        return found
    cache = cache_folder()
    try:
        _make_private(cache)
        if cache_folder() != cache:
            return ensure_built(wanted, build)
        with _lock(cache / f".{wanted.folder}.lock", wanted) as lock:
            if found := find_built(wanted):
                return found
            _say(f"compiling {wanted.what}")
            try:
                _build_aside(cache / wanted.folder, build)
            except BuildError as error:
                _write(lock, f"{_own_name()}\n{error}")
                raise
            _remove_unused(cache)
    except OSError as error:
        raise BuildError(
            f"{error.filename or cache} cannot be written ({error.strerror}): "
            "name a folder of your own with PEAKLINE_CACHE_DIR"
        ) from None
    return cache / wanted.folder


def point(link_name: str, file: Path) -> None:
    """Point a link of this name in the cache to the file, which is in one of its folders."""
    link = file.parent.parent / link_name
    target = f"{file.parent.name}/{file.name}"
    with contextlib.suppress(OSError):
        if link.readlink() == Path(target):
            return
    new = link.with_name(f".{link_name}.{os.getpid()}")
    with contextlib.suppress(OSError):  # the cache may belong to root
        new.unlink(missing_ok=True)
        new.symlink_to(target)
        new.replace(link)


def digest_of(*texts: str, files: Iterable[Path] = ()) -> str:
    """Return a digest of texts and of the contents of files."""
    digest = hashlib.sha256("\0".join(texts).encode())
    for file in files:
        if file.is_file():
            digest.update(f"\0{file.name}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def digest_of_compiler(*words: str) -> str:
    """Return a digest of the version of the compiler that these words call, "" if there is none."""
    try:
        answer = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return digest_of(answer.stdout)


def _say(text: str) -> None:
    """Report a long build, or another cache folder, to the user."""
    say(f"peakline: {text}")


_say_once = functools.cache(_say)


def recorder() -> ModuleType:
    """Return the extension module, which knows the cache folder."""
    try:
        from peakline import _recorder
    except ImportError as error:
        raise BuildError(f"the recorder is not built ({error}); run: make build") from None
    return _recorder


def _make_private(folder: Path) -> None:
    if not folder.exists():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextlib.contextmanager
def _lock(path: Path, wanted: Wanted) -> Iterator[int]:
    """Hold the lock of a folder until this process ends; compilers do not inherit it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _take(lock, wanted)
        _write(lock, f"{_own_name()}\n")
        yield lock
    finally:
        # Closing is not enough: a child forked meanwhile also has the descriptor.
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)


def _take(lock: int, wanted: Wanted) -> None:
    begin = reminded = 0.0
    while not _try_to_lock(lock):
        now = time.monotonic()
        begin = begin or now
        if not reminded or now - reminded >= _REMIND_SECONDS:
            reminded = now
            builder = _read(lock).partition("\n")[0] or "another process"
            since = max(0, time.time() - os.fstat(lock).st_mtime)
            _say(
                f"waiting for {builder}, which has been compiling {wanted.what} for {since:.0f} s; "
                "if it hangs, kill it, and this one compiles"
            )
        time.sleep(_POLL_SECONDS)
    builder, _, error = _read(lock).partition("\n")
    if begin and error:
        raise BuildError(*error.split("\n"))


def _try_to_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # a file system without locks: the later build finds the folder of the earlier one
        return True
    return True


def _own_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _read(lock: int) -> str:
    return os.pread(lock, 1 << 16, 0).decode(errors="replace")


def _write(lock: int, text: str) -> None:
    os.ftruncate(lock, 0)
    os.pwrite(lock, text.encode(errors="replace"), 0)


def _build_aside(folder: Path, build: Callable[[Path], object]) -> None:
    """Build in a temporary folder, and rename it when it is complete."""
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        build(aside)
        aside.chmod(0o755)
        for path in aside.iterdir():
            # whatever the umask is: files that others can write to are never loaded
            path.chmod(0o755)
        try:
            aside.rename(folder)
        except OSError:
            # Without locks another process may have built the folder first, and completely.
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _remove_unused(cache: Path) -> None:
    """Remove folders unused for two months, and remains of killed builds."""
    now = time.time()
    for folder in cache.iterdir():
        with contextlib.suppress(OSError):
            age = now - folder.lstat().st_mtime
            is_left = folder.name.endswith(".part") and age > _DAY_SECONDS
            is_folder = _OURS.match(folder.name) and folder.is_dir() and not folder.is_symlink()
            if is_folder and (is_left or (age > _KEPT_SECONDS and not _is_loaded(folder))):
                # Rename it first: a folder under its own name is complete or absent.
                gone = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=cache))
                shutil.rmtree(folder.rename(gone / "unused").parent, ignore_errors=True)
                (cache / f".{folder.name}.lock").unlink(missing_ok=True)


def _is_loaded(folder: Path) -> bool:
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if f"{folder}/" in maps.read_text(errors="replace"):
                return True
    return False
