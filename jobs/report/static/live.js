// This module checks whether the lake has a newer version than the page shows.

function startLive() {
  if (!server) return;
  const select = byId("cluster");
  ask("status").then((status) => {
    select.append(...status.clusters.map((name) => element("option", { value: name }, name)));
    select.value = page.cluster;
    byId("cluster-part").hidden = status.clusters.length < 2;
    showFreshness(status);
  });
  select.addEventListener("change", () => { location.href = `?cluster=${encodeURIComponent(select.value)}`; });
  setInterval(() => ask("status").then(showFreshness, showOutage), 1000 * server.every_s);
}

function showFreshness(status) {
  const box = byId("freshness");
  box.hidden = false;
  const isOld = status.version !== page.version;
  box.replaceChildren(isOld
    ? element("button", { type: "button", class: "news", onclick: () => location.reload() }, "New data: show")
    : `as of ${clock(status.read_at_ms, false).slice(0, 8)} ${zone()}`);
}

function showOutage(error) {
  byId("freshness").hidden = false;
  byId("freshness").textContent = plain(error.message);
}
