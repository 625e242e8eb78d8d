// Ways to deploy the shown group, predicted by the server when the reader asks.

const STRATEGY_WORDS = { one_by_one: "one by one", batches: "in batches", surge: "new before old", recreate: "stop all, then start all" };

function startPlans() {
  if (!server) return;
  byId("plan-part").hidden = false;
  byId("plan").addEventListener("click", predictPlans);
}

async function predictPlans() {
  const group = shownGroup();
  byId("plan").disabled = true;
  byId("plan-note").textContent = "Simulating deployments: this takes seconds to minutes …";
  byId("plans").replaceChildren();
  const answer = await ask("plans", { group }).catch((error) => ({ error }));
  byId("plan").disabled = false;
  if (group !== shownGroup()) return;
  if (answer.error) {
    byId("plan-note").textContent = plain(answer.error.message);
    return;
  }
  const { plans, recommended, processes, misses } = answer;
  byId("plan-note").textContent = plain(`Deployments of ${many(processes, "process", "processes")}. ` +
    (misses.length ? `No recommendation: the model misses ${misses.join(", ")}.` : "The first row is recommended."));
  const order = recommended === null || misses.length ? plans
    : [plans[recommended], ...plans.filter((each, at) => at !== recommended)];
  const heads = ["way", "settings", "lasts", "rebalances", "not Stable", "partition downtime", "partitions moved", "records handled again"];
  fillTable(byId("plans"), heads.map(columnHead), order.map(planRow));
}

function planRow(plan) {
  const settings = Object.entries(plan.settings).map(([name, value]) => `${name}=${value}`).join(", ");
  const pace = plan.pace_ms ? `, every ${duration(plan.pace_ms)}` : "";
  return element("tr", {},
    element("th", { scope: "row" }, `${STRATEGY_WORDS[plan.strategy] || plan.strategy.replaceAll("_", " ")}${pace}`),
    element("td", { class: "wide" }, settings || "as they are"),
    ...[duration(plan.lasts_ms), counted(plan.rebalances), duration(plan.not_stable_ms),
      downtime(plan.unavailable_partition_ms), counted(plan.moved_partitions), known(counted)(plan.records_reprocessed)]
      .map((cell) => element("td", { class: "number" }, cell)));
}
