// Numbers and times as text.  Times are UTC, or local if the reader chooses so.

const counted = new Intl.NumberFormat("en").format;

function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 120e3) return `${(ms / 1000).toFixed(1)} s`;
  if (size < 7200e3) return `${(ms / 60e3).toFixed(1)} min`;
  if (size < 172800e3) return `${(ms / 3600e3).toFixed(1)} h`;
  return `${(ms / 86400e3).toFixed(1)} days`;
}

/** Partition downtime in partition-seconds. */
function downtime(ms) {
  if (ms === null || ms === undefined) return "–";
  return `${ms < 9950 && ms > 0 ? (ms / 1000).toFixed(1) : counted(Math.round(ms / 1000))} s`;
}

/** The range of a partition downtime if the evidence leaves a wide range: " (0 to 85 s)". */
function downtimeRange(low, high) {
  return high - low < 500 ? "" : ` (${downtime(low).slice(0, -2)} to ${downtime(high)})`;
}

/** "≥ " if the begin of some of the row's rebalances is not logged, which makes the figure a lower limit. */
function leastSign(row) {
  return row.is_partly_unlogged ? "≥ " : "";
}

/** A figure that cannot be computed unless the begin of rebalances is logged. */
function knownBegin(row, value, text) {
  return value === null || value === undefined ? "unknown" : leastSign(row) + text(value);
}

function rangeOf(row) {
  return downtimeRange(row.unowned_partition_ms_low, row.unowned_partition_ms_high);
}

/** A row's partition downtime without its range: a lower limit, unless the row has a range. */
function leastDowntime(row) {
  const value = row.unowned_partition_ms;
  return `${value === null || rangeOf(row) ? "" : leastSign(row)}${downtime(value)}`;
}

let isLocal = false;

/** The value in ms for which toISOString shows the reader's wall clock. */
function zoned(ms) {
  return isLocal ? ms - new Date(ms).getTimezoneOffset() * 60e3 : ms;
}

function zone() {
  return isLocal ? Intl.DateTimeFormat().resolvedOptions().timeZone : "UTC";
}

/** 00:46:26.153, with the date in front if `withDate`. */
function clock(ms, withDate) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  const text = new Date(zoned(ms)).toISOString();
  const time = text.slice(11, 23);
  return withDate ? `${text.slice(0, 10)} ${time}` : time;
}

/** `ms` as a part of `all`; null if `ms` is unknown. */
function shareOf(ms, all) {
  return ms === null ? null : ms / Math.max(all, 1);
}

function percent(share) {
  if (share === null) return "–";
  return share >= 0.0995 ? `${Math.round(share * 100)} %` : `${(share * 100).toFixed(1)} %`;
}

function many(count, one, more) {
  return `${counted(count)} ${count === 1 ? one : more || `${one}s`}`;
}

// Control characters, text directions, line and paragraph separators.
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A client's text whose control characters are escaped, because they could change the text around it. */
function plain(text) {
  return text.replace(CONTROL_CHARACTERS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** An element with children, and with attributes by name.  Strings become text, never HTML. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) made.append(typeof child === "string" ? plain(child) : child);
  }
  return made;
}

/** Fill a table.  Each cell has the name of its column, which narrow windows show beside it. */
function fillTable(table, heads, rows) {
  const names = heads.map((head) => head.textContent);
  for (const row of rows) [...row.children].forEach((cell, at) => { cell.dataset.column = names[at]; });
  table.replaceChildren(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  return table;
}

function columnHead(name) {
  return element("th", { scope: "col" }, name);
}

function byId(id) {
  return document.getElementById(id);
}
