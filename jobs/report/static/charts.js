// The overview's charts: Vega-Lite with this page's data and colors.  Its expressions are
// interpreted, because the page's security policy forbids eval.

const FEW_GROUPS = 12;

function chartData() {
  const named = { trend: new Map(), groups: new Map() };
  const first = new Set(groups.slice(0, FEW_GROUPS).map((group) => group.group_id));
  for (const row of trend) {
    const family = familyOf(row.cause, row.story);
    add(named.trend, `${row.bucket_ms} ${family}`, row, family, {
      start: row.bucket_ms,
      from: zoned(row.bucket_ms), // the axis shows its numbers as UTC
      to: zoned(row.bucket_ms) + page.bucket_ms,
      time: clock(row.bucket_ms, hasDays),
    });
  }
  for (const row of causesOfGroups) {
    const family = familyOf(row.cause, row.story);
    if (!first.has(row.group_id)) continue;
    add(named.groups, JSON.stringify([row.group_id, family]), row, family, {
      id: row.group_id,
      group: chartName(row.group_id),
    });
  }
  const byRank = [...named.groups.values()].sort((a, b) => rank(a.id) - rank(b.id));
  return { trend: [...named.trend.values()], groups: byRank };
}

/** The name that the axis shows.  Vega keeps names as properties of plain objects: names that these
 * have already, such as "constructor", end with a space. */
function chartName(group) {
  const name = plain(group);
  return name in {} ? `${name} ` : name;
}

function rank(group) {
  return groups.findIndex((row) => row.group_id === group);
}

function add(rows, key, row, family, more) {
  if (!rows.has(key)) {
    const order = FAMILIES.indexOf(family);
    rows.set(key, { ...more, family: FAMILY_WORDS[family], order, rebalances: 0, seconds: 0 });
  }
  rows.get(key).rebalances += row.rebalances;
  rows.get(key).seconds += (row.not_stable_ms || 0) / 1000;
}

function chartConfig() {
  const text = color("text");
  const line = color("line");
  return {
    background: null,
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: text, titleColor: color("muted"), gridColor: line, domainColor: line,
      tickColor: line, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
    },
    legend: { labelColor: text, labelFontSize: 12 },
    range: { category: FAMILIES.map(color) },
  };
}

function mostAtATime(rows) {
  const counts = new Map();
  for (const row of rows) counts.set(row.from, (counts.get(row.from) || 0) + row.rebalances);
  return Math.max(1, ...counts.values());
}

function timeFormat() {
  if (page.bucket_ms < 60e3) return "%H:%M:%S";
  return spanMs < 2 * 86400e3 ? "%H:%M" : "%d %b";
}

async function drawCharts() {
  const data = chartData();
  const more = totals.groups > FEW_GROUPS ? `: first ${FEW_GROUPS} groups` : "";
  byId("chart-groups-title").textContent = `Groups by time not Stable, and causes${more}`;
  for (const name of ["trend", "groups"]) {
    const spec = { ...page.specs[name], datasets: { [name]: data[name] } };
    if (name === "groups") spec.height = 22 * Math.min(groups.length, FEW_GROUPS);
    else {
      spec.encoding.x.axis.format = timeFormat();
      spec.encoding.y.axis.tickCount = Math.min(mostAtATime(data.trend), 6); // whole numbers
    }
    const drawn = await vegaEmbed(byId(`chart-${name}`), spec, {
      actions: false, renderer: "svg", ast: true, defaultStyle: false,
      tooltip: { disableDefaultStyle: true }, config: chartConfig(),
    });
    drawn.view.addEventListener("click", (event, item) => {
      if (item && item.datum) chartClicked(name, item.datum);
    });
  }
}

function chartClicked(name, datum) {
  if (name === "groups" && hasTimeline(datum.id)) showGroup(datum.id);
  if (name === "trend" && datum.start && state.timeline) {
    showTime(Number(datum.start), Number(datum.start) + page.bucket_ms);
  }
}
