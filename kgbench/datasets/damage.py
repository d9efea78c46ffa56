# SPDX-License-Identifier: Apache-2.0
"""What may be raised where an archive or a compressed file is damaged."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib


def errors() -> tuple[type[Exception], ...]:
    """All that libraries raise while they read damaged content; :class:`RuntimeError` is not it.

    That one says that content is encrypted, or with another password. To be caught around reading
    alone: some of these are raised by mistakes of other code, too.
    """
    import pyzipper

    known = (zipfile.BadZipFile, pyzipper.BadZipFile, zlib.error, lzma.LZMAError, EOFError)
    # The last ones are how libraries stumble over a header that is not what they expect, or that
    # makes them ask for more memory than there is.
    stumbles = (struct.error, LookupError, AttributeError, MemoryError)
    return (*known, OSError, NotImplementedError, ValueError, *stumbles)
