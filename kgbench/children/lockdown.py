# SPDX-License-Identifier: Apache-2.0
"""Restrictions that a child puts on itself: memory, files and sockets, and an end with its parent.

If the limit of descriptors (RLIMIT_NOFILE) equals the number of open ones, neither files nor
sockets can be opened. That needs no privilege and holds for native code as well. Linux enforces
the memory limit (RLIMIT_AS); macOS ignores it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import threading
import time

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_MOST_STDERR = 1 << 20  # bytes; standard error is a file, whose size is limited
_GLANCE = 1.0  # seconds between checks of the parent, on systems without PR_SET_PDEATHSIG


def die_with_parent(parent: int) -> None:
    """Make this process end with its parent, even during an endless query."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(0)


def limit_memory(memory_bytes: int) -> None:
    """Limit the address space, and write no core dump."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory_bytes)


def lock_down(memory_bytes: int) -> None:
    """Forbid opening files and sockets, limit the address space, and write no core dump."""
    limit_memory(memory_bytes)
    _limit(resource.RLIMIT_FSIZE, _MOST_STDERR)
    _forbid_new_descriptors()


def use_batch_scheduling() -> None:
    """Use Linux's batch scheduling, so that this process does not preempt others when it wakes.

    The share of the processor stays the same, unlike with a lower priority: judging has time
    limits, which a busy machine must not tighten.
    """
    if sys.platform == "linux":
        # The policy may be another one, or setting it may not be permitted.
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _forbid_new_descriptors() -> None:
    """Fill all gaps between the open descriptors, then set the limit to their number."""
    open_ = []
    for descriptor in range(min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16)):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            open_.append(descriptor)
    allowed = open_[-1] + 1
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in set(range(allowed)) - set(open_) - {nothing}:
        os.dup2(nothing, descriptor, inheritable=False)
    if nothing >= allowed:
        os.close(nothing)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))


def _limit(rlimit: int, value: int) -> None:
    _, hard = resource.getrlimit(rlimit)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(ValueError, OSError):  # not supported on this platform
        resource.setrlimit(rlimit, (value, value))


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_GLANCE)
    os._exit(0)
