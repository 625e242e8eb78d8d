// Findings: known defects, wrong settings and failures by name, with what to do.

const KIND_OF_FINDING = {
  broker_bug: "defect of the broker", client_bug: "defect of the client",
  configuration: "configuration", operation: "operation", coordinator: "coordinator",
  data: "data", evidence: "evidence",
};
const FAMILY_OF_FINDING = {
  broker_bug: "failing", client_bug: "failing", coordinator: "failing", operation: "leaving",
  configuration: "changing", data: "changing",
};

function drawFindings() {
  const rows = page.findings ? objects(page.findings.listed) : [];
  const items = rows.map(findingItem);
  const left = page.findings ? page.findings.count - rows.length : 0;
  if (left) items.push(element("li", { class: "muted" }, `${many(left, "more finding")} (view q16_findings)`));
  byId("findings").replaceChildren(...items);
  byId("findings-part").hidden = !rows.length;
}

/** The finding in one sentence. Opened, it shows what to do, the evidence, and links to descriptions. */
function findingItem(row) {
  const swatch = element("span", { class: "swatch" });
  swatch.style.background = `var(--${FAMILY_OF_FINDING[row.kind] || "other"})`;
  const to = row.to_ms === null ? row.from_ms : row.to_ms;
  const where = row.group_id === null
    ? clock(row.from_ms, hasDays)
    : timeLink(row.group_id, row.from_ms, to, `${row.group_id}, ${clock(row.from_ms, hasDays)}`);
  const [first, ...more] = row.remedy.split("\n");
  const about = ` (${KIND_OF_FINDING[row.kind] || row.kind}, ${percent(row.confidence)}): `;
  const box = element("details", {},
    element("summary", {}, element("strong", {}, row.finding), about, row.summary),
    element("p", {}, first),
    pasteBlock("What to do", more.join("\n")),
    row.evidence ? linesOf("Evidence", row.evidence) : null,
    element("p", {}, ...row.reference.split("\n").flatMap(referenceLink)));
  return element("li", {}, swatch, element("div", {}, box, where));
}

function referenceLink(address) {
  return [element("a", { href: address, rel: "noreferrer" }, address), " "];
}
