// Error budgets: what each group used on each date, by the objectives of the configuration.

const OBJECTIVES = {
  served_percent: { title: "Served", sign: "≥", show: servedText },
  reprocessed_per_day: { title: "Handled again", sign: "≤", show: (value) => counted(Math.round(value)) },
  catch_up_s: { title: "Caught up after", sign: "≤", show: (value) => duration(1000 * value) },
};

/** Objectives such as 99.995 % differ in the last digits. */
function servedText(value) {
  return `${Number(value.toFixed(value < 99 ? 2 : 4))} %`;
}

function usedText(value) {
  return counted(value < 10 ? Number(value.toFixed(1)) : Math.round(value));
}

function drawBudgets() {
  if (!page.budgets) return;
  const rows = objects(page.budgets.listed);
  const names = Object.keys(OBJECTIVES).filter((name) => rows.some((row) => row.objectives[name]));
  const heads = ["Group", "Date (UTC)", ...names.map((name) => OBJECTIVES[name].title)].map(columnHead);
  fillTable(byId("budgets"), heads, rows.map((row) => element("tr", {},
    element("th", { scope: "row" }, hasTimeline(row.group_id) ? groupLink(row.group_id) : row.group_id),
    element("td", {}, row.day),
    ...names.map((name) => budgetCell(OBJECTIVES[name], row.objectives[name])))));
  const left = page.budgets.count - rows.length;
  byId("budgets-note").textContent = left ? `${many(left, "more row")} (view group_day_service)` : "";
  byId("budgets-part").hidden = false;
}

/** The figure, and below it the used part of the error budget. */
function budgetCell(objective, budget) {
  if (!budget) return element("td", {}, "–");
  const [value, goal, used] = budget;
  const text = `${usedText(used)} % of the budget of ${objective.sign} ${objective.show(goal)}`;
  return element("td", { class: used > 100 ? "over" : null }, objective.show(value),
    element("small", { class: "type" }, text));
}
