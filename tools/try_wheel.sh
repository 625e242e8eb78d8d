#!/bin/sh
# Build the wheel, install it as the Containerfile does, and run its commands in an empty folder.
# REGROUP_JARS may name jars that are already fetched, such as those of a checkout.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
work=$(mktemp -d "${TMPDIR:-/tmp}/regroup-wheel-XXXXXX")
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH
export REGROUP_JARS="${REGROUP_JARS:-$work/jars}"

(cd "$root" && "$python" -m tools.package "$work/files" > /dev/null)
cp "$root/requirements.lock" "$work/files"
PYTHON=$python sh "$root/tools/install_image.sh" "$work/files" "$work/regroup"

mkdir "$work/empty"
cd "$work/empty"
PATH=$work/regroup/bin:$PATH

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
incident=$(python -c 'from regroup.jobs.configuration.packaged_files import EXAMPLES; print(EXAMPLES)')/mixed-clients-3.9.1
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
echo "try_wheel: all commands ran in an empty folder"
