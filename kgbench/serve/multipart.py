# SPDX-License-Identifier: Apache-2.0
r"""Reading multipart/form-data bodies (RFC 7578) that are wholly in memory: files with their types.

>>> body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.ttl"\r\n\r\n<a>\r\n--x--'
>>> parts("multipart/form-data; boundary=x", body)
[Part(media='', name='a.ttl', data=b'<a>')]
"""

from __future__ import annotations

from email.message import Message
from typing import NamedTuple

from kgbench.serve.refusals import Refused

_MOST_PARTS = 100
_LONGEST_BOUNDARY = 70  # RFC 2046, section 5.1.1
_LONGEST_HEAD = 8_192


class Part(NamedTuple):
    """One file of a form: its media type (``""`` where none is said), file name and content."""

    media: str
    name: str
    data: bytes


def parts(content_type: str, body: bytes) -> list[Part]:
    """The parts of ``body`` in order; :class:`~kgbench.serve.refusals.Refused` where it has none.

    Lines may end without CR, as some clients send them.
    """
    try:
        return _parts(content_type, body)
    except ValueError:  # of a parameter in pieces whose number is no number (RFC 2231)
        raise Refused(400, "the form has a header that cannot be read") from None


def _parts(content_type: str, body: bytes) -> list[Part]:
    boundary = _boundary(content_type)
    pieces = (b"\n" + body).split(b"\n--" + boundary)
    if len(pieces) < 3 or not pieces[-1].startswith(b"--"):  # noqa: PLR2004 - before, one, the end
        raise Refused(400, "the form does not hold parts between its boundaries, or has no end")
    if len(pieces) - 2 > _MOST_PARTS:
        raise Refused(413, f"the form has more than {_MOST_PARTS} parts")
    return [_part(piece) for piece in pieces[1:-1]]


def _boundary(content_type: str) -> bytes:
    found = _headers(content_type.encode("latin-1", "replace")).get_boundary() or ""
    if not 0 < len(found) <= _LONGEST_BOUNDARY or not found.isascii():
        raise Refused(400, "the form's Content-Type names no boundary")
    return found.encode("ascii")


def _part(piece: bytes) -> Part:
    rest, _, piece = piece.partition(b"\n")
    lines, found, data = piece.replace(b"\r\n\r\n", b"\n\n", 1).partition(b"\n\n")
    if rest.strip() or not found or len(lines) > _LONGEST_HEAD:
        raise Refused(400, "a part of the form has no headers that can be read")
    said = {}
    for line in lines.splitlines():
        name, _, value = line.partition(b":")
        said[name.strip().lower()] = value.strip()
    named = _headers(said.get(b"content-disposition", b"")).get_filename("")
    kind = said.get(b"content-type")
    media = "" if kind is None else _headers(kind).get_content_type()
    return Part(media, named, data.removesuffix(b"\r"))


def _headers(value: bytes) -> Message:
    """A message whose Content-Type and Content-Disposition are ``value``, for its parsers."""
    message = Message()
    text = value.decode("utf-8", "replace").replace("\r", " ").replace("\n", " ")
    message["Content-Type"] = text
    message["Content-Disposition"] = text
    return message
