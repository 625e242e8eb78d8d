// The overview's charts: Vega-Lite with this page's data and colors.  Vega's expressions are
// interpreted, because the page's security policy forbids eval.

function chartData() {
  const named = { trend: new Map(), groups: new Map() };
  for (const row of trend) {
    const family = familyOf(row.cause, row.story);
    add(named.trend, `${row.bucket_ms} ${family}`, row, family, {
      start: row.bucket_ms,
      from: zoned(row.bucket_ms), // the axis shows its numbers as UTC
      to: zoned(row.bucket_ms) + page.bucket_ms,
      time: clock(row.bucket_ms, hasDays),
    });
  }
  chartRows().forEach((row, place) => {
    for (const each of row.causes) {
      const family = familyOf(each.cause, each.story);
      add(named.groups, JSON.stringify([place, family]), each, family, {
        id: `${place}`,
        group: chartName(row.count ? `${row.group_id}: ${many(row.count, "group")}` : row.group_id),
      });
    }
  });
  return { trend: [...named.trend.values()], groups: [...named.groups.values()] };
}

let rowsOfChart = null;

/** The first rows of the table of groups when the page opens, with similar groups folded. */
function chartRows() {
  if (rowsOfChart) return rowsOfChart;
  if (page.top_rows) rowsOfChart = page.top_rows.map(servedRow);
  else {
    const rows = totals.groups >= FOLD_FROM ? foldedGroups(groups) : [...groups];
    rows.sort((a, b) => compare(b.not_stable_ms, a.not_stable_ms));
    rowsOfChart = rows.slice(0, FEW_GROUPS).map((row) => ({
      ...row, causes: row.members.flatMap((group) => causesByGroup.get(group) || []),
    }));
  }
  rowsOfChart = rowsOfChart.filter((row) => row.not_stable_ms !== null);
  return rowsOfChart;
}

/** The name that the axis shows.  Vega keeps names as properties of plain objects: names that these
 * have already, such as "constructor", end with a space. */
function chartName(group) {
  const name = plain(group);
  return name in {} ? `${name} ` : name;
}

function add(rows, key, row, family, more) {
  if (!rows.has(key)) {
    const order = FAMILIES.indexOf(family);
    rows.set(key, { ...more, family: FAMILY_WORDS[family], order, generations: 0, seconds: 0 });
  }
  rows.get(key).generations += row.generations;
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
  for (const row of rows) counts.set(row.from, (counts.get(row.from) || 0) + row.generations);
  return Math.max(1, ...counts.values());
}

function timeFormat() {
  if (page.bucket_ms < 60e3) return "%H:%M:%S";
  return spanMs < 2 * 86400e3 ? "%H:%M" : "%d %b";
}

async function drawCharts() {
  const data = chartData();
  const more = totals.groups > FEW_GROUPS ? `: first ${FEW_GROUPS} rows` : "";
  byId("chart-groups-title").textContent = `Groups by time not Stable, and causes${more}`;
  byId("chart-groups").closest("figure").hidden = !chartRows().length;
  for (const name of chartRows().length ? ["trend", "groups"] : ["trend"]) {
    const spec = { ...page.specs[name], datasets: { [name]: data[name] } };
    if (name === "groups") spec.height = 22 * chartRows().length;
    else {
      spec.encoding.x.axis.format = timeFormat();
      if (totals.not_stable_ms === null) spec.encoding.tooltip = spec.encoding.tooltip.filter((each) => each.field !== "seconds");
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
  const row = name === "groups" ? chartRows()[Number(datum.id)] : null;
  if (row && row.count) {
    unfolded.add(row.key);
    updateGroups();
    byId("groups-title").scrollIntoView();
  } else if (row && hasTimeline(row.group_id)) showGroup(row.group_id);
  if (name === "trend" && datum.start && state.timeline) {
    showTime(Number(datum.start), Number(datum.start) + page.bucket_ms);
  }
}
