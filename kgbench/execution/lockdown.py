# SPDX-License-Identifier: Apache-2.0
"""How a judging child gives up what it does not need: files, sockets, memory, its own survival.

With as many descriptors allowed as are open, nothing can be opened: no file, no socket. That needs
no privilege and holds for native code as well. Limits of memory are kept by Linux; macOS takes
no notice of them.
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

OUT_OF_MEMORY = 77  # exit status; a process cannot be trusted once memory was short

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_MOST_STDERR = 1 << 20  # bytes; standard error is a file, which nobody may fill
_GLANCE = 1.0  # seconds between looks at the parent, where the system does not tell


def die_with_parent(parent: int) -> None:
    """End this process when its parent ends, even in the middle of a query that never does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(0)


def lock_down(memory_bytes: int) -> None:
    """Open nothing from now on, use at most ``memory_bytes`` of address space, leave no core."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _MOST_STDERR)
    _limit(resource.RLIMIT_AS, memory_bytes)
    _close_the_door()


def let_others_go_first() -> None:
    """Interrupt no other process when there is work again.

    The share of the processor stays the same, unlike with a lower priority: judging has limits of
    time, which a busy machine must not make tighter.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # perhaps the policy is another one, or not ours to set
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _close_the_door() -> None:
    """Fill every gap between the open descriptors, then allow no more than there are."""
    taken = []
    for descriptor in range(min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16)):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            taken.append(descriptor)
    allowed = taken[-1] + 1
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in set(range(allowed)) - set(taken) - {nothing}:
        os.dup2(nothing, descriptor, inheritable=False)
    if nothing >= allowed:
        os.close(nothing)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(ValueError, OSError):  # what a platform does not know
        resource.setrlimit(which, (value, value))


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_GLANCE)
    os._exit(0)
