#!/bin/sh
# Install the wheel of FILES into TARGET: install_image.sh FILES TARGET
# FILES has regroup-*.whl and requirements.lock, whose hashes pip verifies. Used by the Containerfile
# and by try_wheel.sh, so that a machine without a container builder runs the steps of the image, too.
set -eu
files=$1
target=$2
"${PYTHON:-python3}" -m venv "$target"
set -- --quiet --disable-pip-version-check --no-cache-dir
"$target/bin/pip" install "$@" --require-hashes --requirement "$files/requirements.lock"
"$target/bin/pip" install "$@" --no-deps "$files"/regroup-*.whl
"$target/bin/pip" check --disable-pip-version-check > /dev/null  # the lock has all that the wheel needs
"$target/bin/regroup" jars
"$target/bin/python" -c "import regroup.jobs.bulk.kernel"  # compiles the decoder once
