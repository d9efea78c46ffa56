# SPDX-License-Identifier: Apache-2.0
"""Sandbox of query workers: no network, no new programs, limited memory, no core files.

Judging processes close all file descriptors, but query workers must open files of snapshots. So on
Linux a seccomp filter makes all system calls for sockets and new programs fail with EPERM. It needs
no privileges, also applies to native code and cannot be removed. On other systems only the lexer
refuses SERVICE; :func:`isolate` returns ``False`` there.
"""

from __future__ import annotations

import contextlib
import ctypes
import platform
import resource
import struct
import sys

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_X32 = 0x40000000  # system call numbers of the x32 ABI of x86_64 start here
# Per machine: AUDIT_ARCH number, and the numbers of socket, socketpair, bind, listen, accept,
# connect, sendto, sendmsg, accept4, sendmmsg, ptrace, execve, execveat, io_uring_setup.
_CALLS = {
    "x86_64": (0xC000003E, (41, 53, 49, 50, 43, 42, 44, 46, 288, 307, 101, 59, 322, 425)),
    "aarch64": (0xC00000B7, (198, 199, 200, 201, 202, 203, 206, 211, 242, 269, 117, 221, 281, 425)),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def isolate(memory_bytes: int) -> bool:
    """Restrict this process irrevocably; return whether it is isolated from the network."""
    for which, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory_bytes)):
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)  # noqa: PLW2901 - a limit is never raised
        with contextlib.suppress(ValueError, OSError):  # not supported on this platform
            resource.setrlimit(which, (value, value))
    return _close_network()


def _close_network() -> bool:
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
