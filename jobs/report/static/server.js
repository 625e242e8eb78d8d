// The server of a served page, which answers with the data of one view.  A file contains its data itself.

const embedded = JSON.parse(byId("data").textContent);
const server = embedded.served || null;
const shownCluster = new URLSearchParams(location.search).get("cluster");
const OF_LAKE = new Set(["status", "sql", "questions"]); // all other responses are for one cluster
const TOP_GROUPS = 100;
const FOLD_FROM = 30; // groups
const FEW_GROUPS = 12; // number of rows of the chart of groups

function queryOf(parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, each);
  }
  return query;
}

/** The address of a view's data. */
function addressOfAnswer(name, parameters = {}) {
  return `api/${name}?${queryOf(OF_LAKE.has(name) ? parameters : { cluster: shownCluster, ...parameters })}`;
}

/** The server's response; its message as an error if the server refuses. */
async function ask(name, parameters = {}) {
  let response;
  try {
    response = await fetch(addressOfAnswer(name, parameters));
  } catch {
    throw new Error("The server does not answer: is regroup serve running?");
  }
  if (response.ok) return response.json();
  const { error, excerpt } = await response.json().catch(() => ({ error: `The server answered ${response.status}.` }));
  throw Object.assign(new Error(error), { excerpt });
}

/** The content of a file, with the groups that were longest not Stable instead of all. */
async function servedPage() {
  const [overview, top] = await Promise.all([ask("overview"), ask("groups", { limit: TOP_GROUPS })]);
  const fold = overview.totals.groups >= FOLD_FROM;
  const { listed } = await ask("groups", { fold, limit: FEW_GROUPS });
  const rows = objects(top.listed);
  const causes = rows.flatMap((row) => (row.causes || []).map((each) =>
    [row.group_id, each.cause, each.story, each.generations, each.not_stable_ms]));
  const kinds = rows.map((row) => [row.group_id, row.kinds || []]);
  return {
    ...embedded, ...overview, groups: top.listed,
    causes: { columns: ["group_id", "cause", "story", "generations", "not_stable_ms"], rows: causes },
    sparks: { parts: overview.spark_parts, counts: Object.fromEntries(rows.map((row) => [row.group_id, row.sparks])) },
    episodes: overview.episodes && { ...overview.episodes, of_groups: kinds },
    top_rows: objects(listed), timelines: [], elsewhere: null,
  };
}

function failedToStart(error) {
  byId("headline").textContent = plain(error.message);
  throw error;
}

/** A table of columns and rows as objects. */
function objects(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((c, n) => [c, row[n]])));
}
