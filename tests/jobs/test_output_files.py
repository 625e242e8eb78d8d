"""Output files are checked before the work."""

import pytest

from jobs.console.errors import UsageError
from jobs.console.output_files import require_writable


def test_a_new_file_in_a_folder(tmp_path):
    require_writable("--out", str(tmp_path / "new.html"))
    require_writable("--out", None)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("", "--out {tmp}: a folder; give a file to write"),
        ("none/x.html", "--out {tmp}/none/x.html: no folder {tmp}/none; give a file to write"),
    ],
)
def test_a_file_that_cannot_be_written(tmp_path, file, message):
    path = str(tmp_path / file)

    with pytest.raises(UsageError) as raised:
        require_writable("--out", path)

    assert str(raised.value) == message.replace("{tmp}", str(tmp_path))
