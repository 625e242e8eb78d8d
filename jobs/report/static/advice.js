// Advice: settings that reduce the partition downtime, with blocks to paste.

const FIRST_ADVICE = 3;
const FIRST_LINKS = 12;
const FIRST_BLOCKS = 4;

/** All groups' advice: equal changes appear once, the largest saving first. */
function drawAdvice() {
  const rows = page.advice ? objects(page.advice).filter((row) => row.setting) : [];
  const equal = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.setting, row.client_properties, row.broker_properties]);
    equal.set(key, [...(equal.get(key) || []), row]);
  }
  const cards = [...equal.values()].map(([first, ...others]) => adviceCard(first, others, true));
  byId("advice-part").hidden = !cards.length;
  const more = cards.slice(FIRST_ADVICE);
  byId("advice").replaceChildren(...cards.slice(0, FIRST_ADVICE));
  if (more.length) {
    byId("advice").append(element("details", {},
      element("summary", {}, `${many(more.length, "other change")}`), ...more));
  }
}

/** The advice of one group: the sentence, blocks to paste, risk and alternatives. */
function adviceCard(row, others, withGroup) {
  const sentence = element("p", { class: "lead" });
  if (withGroup) sentence.append(groupLink(row.group_id), ": ");
  sentence.append(plain(row.sentence));
  const first = factsOf([["better", row.makes_better], ["worse", row.makes_worse], ["risk", row.risk],
    ["confidence", confidenceText(row)]]);
  const more = factsOf([["whose", row.whose], ["rejected", row.rejected], ["worse changes", row.worse],
    ["in force", row.settings_in_force], ["assumed", row.assumption]]);
  return element("article", { class: "advice" }, sentence,
    element("div", { class: "blocks" },
      ...pasteBlocks("Client properties", row.client_properties),
      pasteBlock("Brokers: server.properties", row.broker_properties)),
    first,
    element("details", {}, element("summary", {}, "Causes, other changes, settings in force"), more),
    others.length ? sameFor(others) : null);
}

/** A list of names and texts, without the names that have no text. */
function factsOf(named) {
  return element("dl", {}, ...named.filter(([, text]) => text).flatMap(([name, text]) =>
    [element("dt", {}, name), element("dd", {}, text)]));
}

function groupLink(group) {
  return element("a", { href: addressOf({ group, from: null, to: null }), onclick: () => setTimeout(scrollToTimeline) }, group);
}

function sameFor(others) {
  const text = element("p", { class: "muted" }, `The same change for ${many(others.length, "other group")}: `);
  others.slice(0, FIRST_LINKS).forEach((row, at) => text.append(at ? ", " : "", groupLink(row.group_id)));
  if (others.length > FIRST_LINKS) text.append(" …");
  return text;
}

function confidenceText(row) {
  if (row.confidence === null) return row.confidence_reason;
  return [percent(row.confidence), row.confidence_reason].filter(Boolean).join(": ");
}

/** One block per place to paste into: if one file had lines for different processes, the last lines would win.
    JSON cannot contain comments: its comments are text above its block. */
function pasteBlocks(title, text) {
  const parts = (text || "").split("\n\n");
  const areComments = (part) => part.split("\n").every((line) => line.startsWith("#"));
  const blocks = [];
  parts.forEach((part, at) => {
    if (areComments(part) && at + 1 < parts.length) return;
    blocks.push(pasteBlock(title, part, at && areComments(parts[at - 1]) ? parts[at - 1] : ""));
  });
  const more = blocks.slice(FIRST_BLOCKS);
  if (!more.length) return blocks;
  return [...blocks.slice(0, FIRST_BLOCKS), element("details", {},
    element("summary", {}, many(more.length, "other block")), ...more)];
}

/** Lines to paste below their comments, with a button that copies the lines; null without lines. */
function pasteBlock(title, text, comments = "") {
  if (!text) return null;
  const lines = linesOf(title, text);
  const button = element("button", { type: "button", onclick: () => copy(lines, button) }, "Copy");
  return element("div", { class: "block" },
    element("div", { class: "bar" }, element("span", { class: "muted" }, title), button),
    ...comments.split("\n").filter(Boolean).map((line) => element("p", { class: "muted" }, plain(line.replace(/^# */, "")))),
    lines);
}

/** Show lines unchanged; `title` is the name of the block for screen readers. */
function linesOf(title, text) {
  const lines = element("pre", { tabindex: 0, "aria-label": title });
  lines.textContent = text.split("\n").map(plain).join("\n");
  return lines;
}

/** Copy the text, or select it where the browser forbids the clipboard. */
async function copy(lines, button) {
  try {
    await navigator.clipboard.writeText(lines.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(lines);
    button.textContent = "Selected: press Ctrl C";
  }
}
