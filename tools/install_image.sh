#!/bin/sh
# Install a wheel of FILES into TARGET: install_image.sh FILES TARGET [regroup|regroup-embedded]
# FILES has the wheel and its lock file, whose hashes pip verifies. Used by the Containerfile and by
# try_wheel.sh, so that a machine without a container builder runs the steps of the image, too.
set -eu
files=$1
target=$2
distribution=${3:-regroup}
case $distribution in
regroup) lock=requirements.lock wheel=regroup ;;
*) lock=requirements-embedded.lock wheel=regroup_embedded ;;
esac
"${PYTHON:-python3}" -m venv "$target"
set -- --quiet --disable-pip-version-check --no-cache-dir
"$target/bin/pip" install "$@" --require-hashes --requirement "$files/$lock"
"$target/bin/pip" install "$@" --no-deps "$files/$wheel"-*.whl
"$target/bin/pip" check --disable-pip-version-check > /dev/null  # the lock has all that the wheel needs
if [ "$distribution" = regroup ]; then
    "$target/bin/regroup" jars
    "$target/bin/python" -P -c "import regroup.jobs.bulk.kernel"  # compiles the decoder once; -P: not regroup.py of a checkout
fi
