#!/bin/sh
# Build both wheels, install each as the Containerfile does, and run its commands in an empty folder.
# REGROUP_JARS may name jars that are already fetched, such as those of a checkout.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
work=$(mktemp -d "${TMPDIR:-/tmp}/regroup-wheel-XXXXXX")
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH
export REGROUP_JARS="${REGROUP_JARS:-$work/jars}"

(cd "$root" && "$python" -m tools.package "$work/files" > /dev/null)
cp "$root"/requirements*.lock "$work/files"
PYTHON=$python sh "$root/tools/install_image.sh" "$work/files" "$work/regroup"

mkdir "$work/empty"
cd "$work/empty"
path=$PATH
PATH=$work/regroup/bin:$path

# run EXIT_CODE TEXT COMMAND...: stdout and stderr of the command contain TEXT
run() {
    code=$1 text=$2
    shift 2
    status=0
    "$@" > output.txt 2>&1 || status=$?
    if [ "$status" -ne "$code" ] || ! grep -qF -- "$text" output.txt; then
        cat output.txt
        echo "try_wheel: exit $status, expected $code and '$text': $*" >&2
        exit 1
    fi
}

lake="--lake lake --cluster-id kafka-3.9"
version=$(python -c 'from importlib.metadata import version; print(version("regroup"))')
run 0 "$version" regroup --version
run 0 "regroup.toml" regroup init
run 0 "jars already in" regroup jars
run 0 "$REGROUP_JARS" regroup doctor --conf regroup.toml --format json
run 0 "conf/large.toml" regroup doctor --conf conf/large.toml --format json
run 0 "inventory-static" regroup demo --lake lake
packaged='from regroup.jobs.configuration.packaged_files import EXAMPLES; print(EXAMPLES)'
incident=$(python -c "$packaged")/mixed-clients-3.9.1
REGROUP_JARS=$work/none run 2 "run \`regroup jars\`" \
    regroup nightly --engine spark $lake --segments "$incident/segments"
run 0 "0 new records" regroup nightly $lake --segments "$incident/segments" --broker-log "$incident/server.log"
run 0 "reports-java" regroup sql --lake lake "SELECT * FROM q01_most_rebalanced_groups"
run 0 "" regroup check --lake lake
run 0 "bytes" regroup report $lake --out report.html
run 0 "predicted" regroup what-if $lake --group billing-eager --set membership=static --seeds 1
run 0 "generations reproduced" regroup replay $lake --group inventory-static
run 1 "kafka-3.9" regroup alerts $lake --since 24h
run 0 "kafka-3.9" python - <<'END'
import regroup

lake, group = "lake", ("kafka-3.9", "inventory-static")
print(regroup.sql(lake, "SELECT cluster_id, COUNT(*) AS generations FROM generations GROUP BY ALL"))
assert "site-packages" in regroup.__file__, regroup.__file__
assert len(regroup.timeline(lake, *group)) > 0
assert regroup.replay(lake, *group)["diverged"] == 0
END

# All packages are in the package regroup.
run_without_folders() {
    for name in jobs schemas coordinator_core; do
        run 1 "No module named '$name'" python -c "import $name"
    done
}
run_without_folders

# The other distribution. Its environment replaces the first environment, which takes 1.6 GB.
rm -rf "$work/regroup" lake
PYTHON=$python sh "$root/tools/install_image.sh" "$work/files" "$work/embedded" regroup-embedded
PATH=$work/embedded/bin:$path
incident=$(python -c "$packaged")/mixed-clients-3.9.1
size=$(du -sm "$work/embedded" | cut -f1)
if [ "$size" -gt 1000 ]; then
    echo "try_wheel: regroup-embedded takes $size MB with its packages" >&2
    exit 1
fi
run_without_folders
run 0 "regroup-embedded has no Spark" regroup doctor
run 2 "pip install regroup" regroup jars
run 2 "pip install regroup" regroup nightly --engine spark $lake --segments "$incident/segments"
run 0 "most rebalances" regroup nightly $lake --segments "$incident/segments" --broker-log "$incident/server.log"
run 2 "pip install regroup" regroup register --lake lake
run 0 "reports-java" regroup sql --lake lake "SELECT * FROM q01_most_rebalanced_groups"
run 0 "bytes" regroup report $lake --out report.html
run 0 "billing-eager" regroup investigate --broker-log "$incident/server.log"
run 130 "shows lake" timeout --preserve-status --signal INT 20 regroup serve --lake lake --port 0
echo "try_wheel: all commands of both distributions ran in an empty folder; regroup-embedded takes $size MB"
