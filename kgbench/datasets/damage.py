# SPDX-License-Identifier: Apache-2.0
"""Exceptions that libraries raise for damaged archives and compressed files."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib


def errors() -> tuple[type[Exception], ...]:
    """Return all exceptions that libraries raise while they read damaged content.

    :class:`RuntimeError` is not one of them: it means that the content is encrypted, perhaps with
    another password. Catch these exceptions only around reading, because programming errors raise
    some of them, too.
    """
    import pyzipper

    known = (zipfile.BadZipFile, pyzipper.BadZipFile, zlib.error, lzma.LZMAError, EOFError)
    # Libraries raise the last ones for malformed headers that they do not check, for example a
    # size that exceeds the available memory.
    unchecked = (struct.error, LookupError, AttributeError, MemoryError)
    return (*known, OSError, NotImplementedError, ValueError, *unchecked)
