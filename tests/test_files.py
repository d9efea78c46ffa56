# SPDX-License-Identifier: Apache-2.0
"""Files are written as a whole or not at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgbench import files


def test_new_file_and_its_folder_are_made(tmp_path):
    """A new file and its folder are made, and no other file is left beside it."""
    files.write(tmp_path / "new" / "text", "graph \u2192 text\n")
    files.write(tmp_path / "new" / "bytes", b"\xff\r\n")

    assert (tmp_path / "new" / "text").read_bytes() == b"graph \xe2\x86\x92 text\n"
    assert (tmp_path / "new" / "bytes").read_bytes() == b"\xff\r\n"
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_file_is_replaced_where_a_link_leads(tmp_path):
    """A file that is replaced through a link keeps its permissions, and the link stays."""
    (tmp_path / "there").write_text("old")
    (tmp_path / "there").chmod(0o640)
    (tmp_path / "link").symlink_to("there")
    files.write(tmp_path / "link", "new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_text() == "new"
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o640


def test_new_file_has_the_permissions_of_the_user(tmp_path):
    """The permissions of a new file respect the user's umask."""
    before = os.umask(0o027)
    try:
        files.write(tmp_path / "new", "")
    finally:
        os.umask(before)

    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_what_is_interrupted_leaves_the_old_file(tmp_path, monkeypatch):
    """An interrupted write leaves the old file and no temporary file."""
    (tmp_path / "there").write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write(tmp_path / "there", "new")

    assert [(tmp_path / "there")] == list(tmp_path.iterdir())
    assert (tmp_path / "there").read_text() == "old"


def test_file_that_cannot_be_replaced_is_written_to(tmp_path, monkeypatch):
    """A file that cannot be replaced is overwritten; a new one that cannot be moved is an error."""
    (tmp_path / "there").write_text("old")
    (tmp_path / "new").mkdir()

    def busy(*_):
        raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr(Path, "replace", busy)
    files.write(tmp_path / "there", "new")
    with pytest.raises(OSError, match="busy"):
        files.write(tmp_path / "new" / "file", "new")

    assert (tmp_path / "there").read_text() == "new"
    assert not list((tmp_path / "new").iterdir())


def test_file_that_is_read_only_stays(tmp_path, monkeypatch):
    """A read-only file is not replaced, although its folder is writable."""
    (tmp_path / "there").write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="Permission denied"):
        files.write(tmp_path / "there", "new")

    assert (tmp_path / "there").read_text() == "old"
    assert [(tmp_path / "there")] == list(tmp_path.iterdir())


def test_longest_name_is_written(tmp_path):
    """A file name of the greatest length can be written despite the temporary file."""
    files.write(tmp_path / ("\u00e9" * 120 + ".csv"), "x")
    assert len(list(tmp_path.iterdir())) == 1


def test_error_names_the_file_that_was_asked_for(tmp_path):
    """An error names the requested file, not the temporary one."""
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file" / "below", tmp_path):
        with pytest.raises(OSError) as caught:  # noqa: PT011 - the error depends on the system
            files.write(wrong, "x")
        assert caught.value.filename == str(wrong)
        assert caught.value.strerror


def test_pipes_and_devices_are_written_to(tmp_path):
    """Pipes and devices are written to, never replaced by a file."""
    code = "from pathlib import Path; from kgbench import files; files.write(Path({!r}), 'x')"
    done = [
        subprocess.run(
            [sys.executable, "-c", code.format(place)], capture_output=True, text=True, check=True
        )
        for place in ("/dev/stdout", "/dev/null")
    ]
    (tmp_path / "link").symlink_to("/dev/stdout")
    for place in (tmp_path / "link", "/usr/../dev/stdout"):
        with (tmp_path / "out").open("w") as out:
            around = f"import sys; sys.stdout.reconfigure(write_through=True); print('a'); {code}"
            words = [sys.executable, "-c", around.format(str(place))]
            subprocess.run(words, stdout=out, check=True)
        assert (tmp_path / "out").read_text() == "a\nx"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write(tmp_path / "pipe", "through")

    assert [each.stdout for each in done] == ["x", ""]
    assert not Path("/dev/null").is_file()
    assert os.read(reader, 100) == b"through"
    os.close(reader)
