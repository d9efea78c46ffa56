# SPDX-License-Identifier: Apache-2.0
"""Incomplete and misleading sources of data sets are refused."""

from __future__ import annotations

import hashlib
import sys
from http.server import BaseHTTPRequestHandler

import pytest

from kgbench.errors import ImportRefused
from kgbench.importers import archives
from kgbench.importers.rdf import sources
from kgbench.net.limits import Budget
from tests.support.archives import write_zip
from tests.support.servers.handled import Handled, Quiet

DUMP = "data/all.nq"


def sha(content):
    """Return a checksum in hex."""
    return hashlib.sha256(content).hexdigest()


def site(folder, name, **instead):
    """Write a published folder of one statement; ``instead`` replaces or (``None``) omits files."""
    dump = f"<a:{name}> <a:b> <a:c> .\n".encode()
    sums = instead.get("sums", f"{sha(b'')}  index.html\n{sha(dump)} *./{DUMP}\n")
    content = {DUMP: instead.get("dump", dump), "SHA256SUMS": sums}
    for path, value in content.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        if value is not None:
            (folder / name / path).write_bytes(
                value if isinstance(value, bytes) else value.encode()
            )
    return str(folder / name)


@pytest.fixture
def scratch(tmp_path):
    """Return a folder for downloads."""
    place = tmp_path / "scratch"
    place.mkdir()
    return place


def test_each_site_has_a_list_of_its_own(tmp_path, scratch):
    """Each of two published folders is checked against its own checksums."""
    found = [sources.fetch_documents(site(tmp_path, name), scratch) for name in ("one", "two")]

    assert [one.origins[0].name for one in found] == [f"one/{DUMP}", f"two/{DUMP}"]
    texts = [one.files[0].path.read_text() for one in found]
    assert texts == ["<a:one> <a:b> <a:c> .\n", "<a:two> <a:b> <a:c> .\n"]


EMPTY = sha(b"")
INCOMPLETE = {
    "no list": ({"sums": None}, "not a site that kgbench published: SHA256SUMS is missing"),
    "no dump in the list": ({"sums": f"{EMPTY}  index.html\n"}, "does not list a full dump"),
    "no dump in the folder": ({"dump": None}, "is in SHA256SUMS, but does not exist"),
    "another dump": ({"dump": b"<a:a> <a:b> <a:d> .\n"}, "checksum does not match: fetch it again"),
    "a list of something else": (
        {"sums": "hello\n"},
        "a line is not a checksum with a file name: 'hello'",
    ),
}


@pytest.mark.parametrize("name", INCOMPLETE)
def test_incomplete_sites_are_refused(tmp_path, scratch, name):
    """A published folder with a missing part is refused, and the part is named."""
    instead, words = INCOMPLETE[name]
    with pytest.raises(ImportRefused, match=words):
        sources.fetch_documents(site(tmp_path, "site", **instead), scratch)


def test_files_that_are_not_there_or_too_large(tmp_path, scratch):
    """A missing file, a file above the size limit and a folder named like a file are refused."""
    with pytest.raises(ImportRefused, match=r"none\.nq: no such file"):
        sources.fetch_documents(str(tmp_path / "none.nq"), scratch)
    (tmp_path / "folder.nq").mkdir()
    with pytest.raises(ImportRefused, match=r"folder\.nq: cannot be read: Is a directory"):
        sources.unpack(tmp_path / "folder.nq", "folder.nq", scratch)
    with pytest.raises(ImportRefused, match=r"SHA256SUMS: larger than 5 bytes"):
        sources.fetch_documents(site(tmp_path, "site"), scratch, budget=Budget(5, 60.0))


def test_archives_of_too_many_files(tmp_path, scratch, monkeypatch):
    """An archive with too many files, or without an RDF file, is refused."""
    path = write_zip(tmp_path / "a.zip", {"a.txt": b"a", "b.txt": b"b"})
    with pytest.raises(ImportRefused, match=r"a\.zip: no RDF file among the 2 in it"):
        sources.unpack(path, "a.zip", scratch)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 1)
    with pytest.raises(ImportRefused, match=r"a\.zip: 2 files are too many for one archive"):
        sources.unpack(path, "a.zip", scratch)


def test_without_zstandard_the_way_out_is_said(tmp_path, scratch, monkeypatch):
    """Without the package zstandard, the message names it and the alternative."""
    (tmp_path / "a.nq.zst").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportRefused, match=r"kgbench\[publish\]'?, or unpack the file first"):
        sources.unpack(tmp_path / "a.nq.zst", "a.nq.zst", scratch)


class _Odd(Quiet, BaseHTTPRequestHandler):
    """A handler that misbehaves, depending on the path."""

    def do_GET(self):
        """Send the response."""
        self.close_connection = True
        if self.path == "/leads/away.nq":
            self.send_response(302)
            self.send_header("Location", "ftp://me:pw@e.org/a.nq")
            self.end_headers()
        elif self.path == "/leads/on.nq":
            self.send_response(302)
            self.send_header("Location", "/whole.nq")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/broken.nq":
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.send_response(200)
            content = b"<a:b> <a:c> <a:d> .\n" * 2
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[:20] if self.path == "/cut.nq" else content)


@pytest.fixture(scope="module")
def address():
    """Yield the URL of a misbehaving server."""
    with Handled(_Odd) as server:
        yield server.url


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/leads/away.nq", r"/leads/away\.nq leads to ftp://e\.org/a\.nq: not followed"),
        ("/broken.nq", r"/broken\.nq cannot be fetched: 500 Internal Server Error"),
        ("/cut.nq", r"/cut\.nq cannot be fetched: the response ended 20 bytes too early"),
    ],
)
def test_odd_servers_are_no_source(address, scratch, path, words):
    """Redirects to other schemes, errors and truncated responses are refused."""
    with pytest.raises(ImportRefused, match=words):
        sources.fetch_documents(address + path, scratch)


def test_what_is_elsewhere_on_the_web_is_followed(address, scratch):
    """A redirect within the web is followed; the file keeps the requested name."""
    found = sources.fetch_documents(f"{address}/leads/on.nq", scratch)

    assert found.origins[0].name == f"{address}/leads/on.nq"
    assert found.files[0].path.read_bytes().count(b"\n") == 2


def test_more_than_is_fetched_from_anywhere(address, scratch):
    """A download above the budget is aborted, and one budget holds for several sources."""
    with pytest.raises(ImportRefused, match=r"whole\.nq: larger than 30 bytes: not fetched"):
        sources.fetch_documents(f"{address}/whole.nq", scratch, budget=Budget(30, 60.0))
    size = sources.fetch_documents(f"{address}/whole.nq", scratch).files[0].path.stat().st_size
    budget = Budget(3 * size, 60.0)  # each file counts twice: packed and unpacked
    sources.fetch_documents(f"{address}/whole.nq", scratch, budget=budget)
    with pytest.raises(ImportRefused, match="--most"):
        sources.fetch_documents(f"{address}/whole.nq", scratch, budget=budget)


def test_where_nobody_listens(scratch):
    """An address without a server is reported."""
    with pytest.raises(ImportRefused, match=r"^http://127\.0\.0\.1:9/a\.nq cannot be fetched: "):
        sources.fetch_documents("http://127.0.0.1:9/a.nq", scratch)
