#!/bin/sh
# Install the wheel of FILES into TARGET: install_image.sh FILES TARGET
# FILES has regroup-*.whl and requirements.lock. Used by the Containerfile and by try_wheel.sh, so
# that a machine without a container builder runs the steps of the image, too.
set -eu
files=$1
target=$2
"${PYTHON:-python3}" -m venv "$target"
"$target/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir \
    --constraint "$files/requirements.lock" "$files"/regroup-*.whl
"$target/bin/regroup" jars
"$target/bin/python" -c "import jobs.bulk.kernel"  # compiles the decoder once
