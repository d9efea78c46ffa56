# SPDX-License-Identifier: Apache-2.0
"""How a query worker gives up the network, new programs, memory without end and core files.

A judging child closes all descriptors; a query worker must go on opening the files of snapshots.
So on Linux a seccomp filter makes every way to a socket, and to another program, fail with EPERM;
it needs no privilege, holds for native code and cannot be taken off. Other systems have only the
refusal of SERVICE by the lexer, which :func:`isolate` says.
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
_X32 = 0x40000000  # the calls of a second ABI of x86_64 start here
# Per machine: its audit number, and: socket, socketpair, bind, listen, accept, connect, sendto,
# sendmsg, accept4, sendmmsg, ptrace, execve, execveat, io_uring_setup.
_CALLS = {
    "x86_64": (0xC000003E, (41, 53, 49, 50, 43, 42, 44, 46, 288, 307, 101, 59, 322, 425)),
    "aarch64": (0xC00000B7, (198, 199, 200, 201, 202, 203, 206, 211, 242, 269, 117, 221, 281, 425)),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def isolate(memory_bytes: int) -> bool:
    """Limit this process for good; whether it can no longer reach the network."""
    for which, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory_bytes)):
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)  # noqa: PLW2901 - a limit is never raised
        with contextlib.suppress(ValueError, OSError):  # what a platform does not know
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
    """The BPF program: refuse another machine's calls, the second ABI, and each of ``calls``."""
    refuse = len(calls) + 1  # instructions between the second ABI's test and the refusal
    lines = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, machine),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, refuse, 0, _X32),
    ]
    lines += [(_EQUAL, refuse - 1 - place, 0, call) for place, call in enumerate(calls)]
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
