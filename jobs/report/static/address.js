// What is shown stands in the address, so that it can be sent: #group=..&from=..&to=..&generation=..

/** What the address asks for; times in ms since the epoch, null where it does not say. */
function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const time = (name) => {
    const text = asked.get(name);
    const ms = text ? Date.parse(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`) : NaN;
    return Number.isFinite(ms) ? ms : null;
  };
  return {
    group: asked.get("group"),
    from: time("from"),
    to: time("to"),
    generation: asked.get("generation"),
  };
}

let writing = 0;

/** Another group is a step that "back" takes back; a zoom is not. */
function writeAddress(shown, isStep) {
  const said = [];
  if (shown.group !== null) said.push(`group=${encodeURIComponent(shown.group)}`);
  if (shown.from !== null) said.push(`from=${new Date(shown.from).toISOString()}`);
  if (shown.to !== null) said.push(`to=${new Date(shown.to).toISOString()}`);
  if (shown.generation) said.push(`generation=${shown.generation}`);
  const hash = `#${said.join("&")}`;
  if (hash === location.hash) return;
  clearTimeout(writing);
  if (isStep) history.pushState(null, "", hash);
  else writing = setTimeout(() => history.replaceState(null, "", hash), 150);
}
