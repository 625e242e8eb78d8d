// The views of a served page, one at a time.  A file instead shows the overview, the timeline and the tables of
// the overview, one below the other.

const VIEWS = {
  overview: { part: "overview-part", more: "tables-part", title: "Overview" },
  findings: { part: "list-part", title: "Findings", show: () => showList("findings") },
  episodes: { part: "list-part", title: "Episodes", show: () => showList("episodes") },
  advice: { part: "list-part", title: "Advice", show: () => showList("advice") },
  group: { part: "timeline-part", title: "Group" },
  compare: { part: "compare-part", title: "Compare", show: showCompare },
  sql: { part: "sql-part", title: "SQL", show: showSql },
};

function startViews() {
  if (!server) return;
  byId("views").hidden = false;
  byId("views").append(
    ...Object.entries(VIEWS).map(([name, { title }]) => element("a", { href: `#view=${name}`, id: `to-${name}` }, title)),
    element("a", { href: "openapi.json" }, "JSON API"));
  startPlans();
  for (const id of ["export-groups", "export-group"]) byId(id).hidden = false;
  byId("export-groups").addEventListener("click", () => {
    byId("export-groups").href = exportOf(groupsAsked());
  });
  byId("export-group").addEventListener("click", () => {
    const { group, from, to } = address();
    const text = (ms) => (ms === null ? null : new Date(ms).toISOString());
    byId("export-group").href = exportOf({ group, from: text(from), to: text(to) });
  });
  for (const id of ["export-groups", "export-group"]) byId(id).href = exportOf({});
}

function exportOf(parameters) {
  return `export?${queryOf({ cluster: shownCluster, ...parameters })}`;
}

/** Show one view of a served page; the group's view asks for a group if none is open. */
function showView(name) {
  if (!server) return;
  const shown = VIEWS[name] || VIEWS.overview;
  if (shown === VIEWS.group && !state.timeline && !requests) return showGroup(groups[0].group_id);
  for (const [each, view] of Object.entries(VIEWS)) {
    byId(view.part).hidden = view.part !== shown.part;
    if (view.more) byId(view.more).hidden = view !== shown;
    if (view === shown) byId(`to-${each}`).setAttribute("aria-current", "page");
    else byId(`to-${each}`).removeAttribute("aria-current");
  }
  byId("to-timeline").hidden = shown !== VIEWS.group;
  if (shown.show) shown.show();
  if (shown === VIEWS.group && state.timeline) changed();
  if (shown === VIEWS.overview) drawCharts();
}
