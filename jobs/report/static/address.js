// The address holds the view, so that links to it work: #group=..&from=..&to=..&generation=..

/** The view in the address; times in ms since the epoch, null if missing. */
function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const time = (name) => {
    const text = parameters.get(name);
    const ms = text ? Date.parse(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`) : NaN;
    return Number.isFinite(ms) ? ms : null;
  };
  return {
    view: parameters.get("view"),
    group: parameters.get("group"),
    from: time("from"),
    to: time("to"),
    generation: parameters.get("generation"),
  };
}

let writing = 0;

/** The address of a view; times in ms since the epoch, null for all. */
function addressOf(shown) {
  const parts = [];
  if (shown.group !== null) parts.push(`group=${encodeURIComponent(shown.group)}`);
  if (shown.from !== null) parts.push(`from=${new Date(shown.from).toISOString()}`);
  if (shown.to !== null) parts.push(`to=${new Date(shown.to).toISOString()}`);
  if (shown.generation) parts.push(`generation=${shown.generation}`);
  return `#${parts.join("&")}`;
}

/** Opening another group is a step for the browser's "back"; zooming is not a step. */
function writeAddress(shown, isStep) {
  const hash = addressOf(shown);
  if (hash === location.hash) return;
  clearTimeout(writing);
  if (isStep) history.pushState(null, "", hash);
  else writing = setTimeout(() => history.replaceState(null, "", hash), 150);
}
