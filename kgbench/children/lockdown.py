# SPDX-License-Identifier: Apache-2.0
"""Restrictions that a child puts on itself: memory, files, sockets, and an end with its parent.

None needs a privilege, and all hold for native code as well. Where a child opens no files, the
limit of descriptors (RLIMIT_NOFILE) is set to the number of open ones, so that neither files nor
sockets can be opened. Where it must open files, a seccomp filter makes all system calls for sockets
and new programs fail with EPERM; it exists on Linux only. Linux enforces the memory limit
(RLIMIT_AS); macOS ignores it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct
import sys
import threading
import time

_SET_PARENT_DEATH_SIGNAL, _NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 1, 38, 22, 2  # of prctl
_MOST_STDERR = 1 << 20  # bytes; standard error is a file, whose size is limited
_GLANCE = 1.0  # seconds between checks of the parent, on systems without PR_SET_PDEATHSIG
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM
_X32 = 0x40000000  # system call numbers of the x32 ABI of x86_64 start here
# Per machine: AUDIT_ARCH number, and the numbers of socket, socketpair, bind, listen, accept,
# connect, sendto, sendmsg, accept4, sendmmsg, ptrace, execve, execveat, io_uring_setup.
_CALLS = {
    "x86_64": (0xC000003E, (41, 53, 49, 50, 43, 42, 44, 46, 288, 307, 101, 59, 322, 425)),
    "aarch64": (0xC00000B7, (198, 199, 200, 201, 202, 203, 206, 211, 242, 269, 117, 221, 281, 425)),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


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


def lock_down(memory_bytes: int, *, opens_files: bool = False) -> bool:
    """Restrict this process irrevocably; return whether it is isolated from the network.

    It limits memory and what can be written, and forbids sockets, and files unless it
    ``opens_files``.
    """
    limit_memory(memory_bytes)
    _limit(resource.RLIMIT_FSIZE, _MOST_STDERR)
    if opens_files:
        return _close_network()
    _forbid_new_descriptors()
    return True


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


def _close_network() -> bool:
    """Refuse system calls for sockets and programs; return whether this system can do so."""
    known = _CALLS.get(platform.machine())
    if sys.platform != "linux" or known is None:
        return False
    code = _filter(*known)
    program = _Program(len(code) // 8, code)
    system = ctypes.CDLL(None)
    steps = (
        (_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        (_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0),
    )
    return all(system.prctl(*step) == 0 for step in steps)


def _filter(machine: int, calls: tuple[int, ...]) -> bytes:
    """Return the BPF program that refuses other architectures, the x32 ABI, and ``calls``."""
    refuse = len(calls) + 1  # instructions between the test for x32 and the refusal
    lines = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, machine),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, refuse, 0, _X32),
    ]
    lines += [(_EQUAL, refuse - 1 - index, 0, call) for index, call in enumerate(calls)]
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)


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
