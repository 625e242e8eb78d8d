"""Errors of object stores: one line with the store's answer and what to check."""

import pytest

from jobs.console.errors import UsageError
from jobs.lake.existing import open_existing_lake
from jobs.lake.store_errors import unreadable

CHECK = (
    "; check the URI and AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"
    " in the environment"
)
# Errors of delta-rs, shortened.
MISSING_BUCKET = """Generic S3 error
          \x1b[31m↳\x1b[0m Error performing list request
            \x1b[31m↳\x1b[0m 404 Not Found
             \x1b[31m↳\x1b[0m <?xml version='1.0'?><Error><Code>NoSuchBucket</Code>\
<Message>The specified bucket does not exist</Message><RequestId>401A</RequestId></Error>
"""
NO_KEYS = """Generic S3 error
          \x1b[31m↳\x1b[0m Error performing PUT http://169.254.169.254/latest/api/token in 1.9ms
           \x1b[31m↳\x1b[0m 403 Forbidden
"""
NOBODY_LISTENS = """Generic S3 error
          \x1b[31m↳\x1b[0m Error performing list request
                \x1b[31m↳\x1b[0m tcp connect error
                 \x1b[31m↳\x1b[0m Connection refused (os error 111)
"""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (MISSING_BUCKET, "NoSuchBucket, The specified bucket does not exist"),
        (NO_KEYS, "no keys for the store"),
        (NOBODY_LISTENS, "Connection refused (os error 111)"),
        ("AWS Error ACCESS_DENIED during HeadObject", "AWS Error ACCESS_DENIED during HeadObject"),
    ],
    ids=["missing bucket", "no keys", "nobody listens", "of pyarrow"],
)
def test_a_store_error_is_one_line_that_names_what_to_check(answer, reason):
    error = unreadable("s3://b/lake", "it", OSError(answer))

    assert str(error) == f"--lake s3://b/lake: it cannot be read: {reason}{CHECK}"


def test_a_lake_in_a_folder_has_no_settings_of_stores():
    error = unreadable("lake", "table churn", OSError("no log"))

    assert str(error) == "--lake lake: table churn cannot be read: no log"


def test_a_job_of_a_lake_without_tables_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no table in it yet; run `regroup nightly` first"):
        open_existing_lake(str(tmp_path), "c", None)
