// Mouse, touch and keys on the timeline and its map.

const pointers = new Map();
let drag = null;

function startGestures() {
  const canvas = byId("canvas");
  canvas.addEventListener("pointerdown", pressed);
  canvas.addEventListener("pointermove", moved);
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, released);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("wheel", wheeled, { passive: false });
  canvas.addEventListener("dblclick", (event) => {
    const place = generationAt(state.timeline, layout.scale.ms(event.offsetX));
    if (place !== null) seeGeneration(place);
  });
  canvas.addEventListener("keydown", keyed);
  byId("lanes").addEventListener("scroll", changed);
  const map = byId("map");
  map.addEventListener("pointerdown", mapPressed);
  map.addEventListener("pointermove", mapMoved);
  map.addEventListener("pointerup", () => { drag = null; });
  new ResizeObserver(() => { if (state.timeline) changed(); }).observe(byId("map"));
}

function pressed(event) {
  if (event.button > 0) return;
  byId("canvas").setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  drag = { x: event.offsetX, y: event.offsetY, from: state.from, to: state.to, far: 0 };
  if (pointers.size === 2) Object.assign(drag, { apart: apart(), far: Infinity }); // no click
}

function apart() {
  const [a, b] = [...pointers.values()];
  return Math.max(Math.abs(a.x - b.x), 20);
}

function moved(event) {
  if (!pointers.has(event.pointerId)) return showTip(event);
  pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  hideTip();
  const width = drag.to - drag.from;
  if (pointers.size === 2) {
    const factor = drag.apart / apart();
    const middle = (drag.from + drag.to) / 2;
    return see(middle - (width * factor) / 2, middle + (width * factor) / 2);
  }
  const perMs = (layout.scale.right - layout.scale.left) / width;
  const by = (drag.x - event.offsetX) / perMs;
  drag.far = Math.max(drag.far, Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y));
  if (drag.far > 4) see(drag.from + by, drag.to + by);
}

function released(event) {
  const isClick = pointers.size === 1 && drag && drag.far <= 4 && event.type === "pointerup";
  pointers.delete(event.pointerId);
  if (isClick) clicked(event);
  const [left] = pointers.values(); // the remaining finger of two: dragging continues from its position
  drag = left ? { ...left, from: state.from, to: state.to, far: Infinity } : null;
}

function clicked(event) {
  const target = under(event.offsetX, event.offsetY);
  if (target.episode) return seeEpisode(target.episode);
  state.lane = target.row;
  select(target.mark ? target.mark.cause.at : target.place, false);
  if (event.pointerType === "touch") showTip(event);
}

function wheeled(event) {
  const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), layout.scale.ms(event.offsetX));
  } else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
    event.preventDefault();
    move(across / layout.width);
  }
}

const KEYS = {
  ArrowLeft: (event) => (event.shiftKey ? move(-0.2) : step(-1)),
  ArrowRight: (event) => (event.shiftKey ? move(0.2) : step(1)),
  ArrowUp: () => selectLane(-1),
  ArrowDown: () => selectLane(1),
  PageUp: () => move(-0.9),
  PageDown: () => move(0.9),
  Home: () => { state.selected = -1; step(1); },
  End: () => { state.selected = state.timeline.generations.length; step(-1); },
  Enter: () => { if (state.selected !== null) seeGeneration(state.selected); },
  "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6),
  0: seeAll,
  Escape: () => select(null, false),
};

function keyed(event) {
  const act = KEYS[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act(event);
}

function selectLane(direction) {
  if (!state.lanes.length) return;
  const from = state.lane === null ? (direction > 0 ? -1 : state.lanes.length) : state.lane;
  state.lane = Math.min(Math.max(from + direction, 0), state.lanes.length - 1);
  const top = state.lane * layout.lane;
  const box = byId("lanes");
  const room = layout.height - layout.head - CHART;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + layout.lane > box.scrollTop + room) box.scrollTop = top + layout.lane - room;
  changed();
  drawDetails();
}

function mapScale() {
  const { first, last } = limits();
  return new Scale(first, last, 2, byId("map").clientWidth - 2);
}

/** A press inside the view drags the view; a press outside moves the view there. */
function mapPressed(event) {
  byId("map").setPointerCapture(event.pointerId);
  const at = mapScale().ms(event.offsetX);
  if (at < state.from || at > state.to || isAll()) {
    const half = isAll() ? (state.to - state.from) / 10 : (state.to - state.from) / 2;
    see(at - half, at + half);
  }
  drag = { at, from: state.from, to: state.to };
}

function mapMoved(event) {
  if (!drag || drag.at === undefined) return;
  const by = mapScale().ms(event.offsetX) - drag.at;
  see(drag.from + by, drag.to + by);
}

// -- details of the item under the pointer ----------------------------------------------------------

function generationAt(timeline, ms) {
  const place = upperBound(timeline.starts, ms) - 1;
  return place >= 0 && ms <= timeline.generations[place].stop_ms ? place : null;
}

function under(x, y) {
  const mark = layout.marks.findLast((each) => Math.hypot(each.x - x, each.y - y) < 9) || null;
  const ms = layout.scale.ms(x);
  const at = Math.floor((y - layout.head + byId("lanes").scrollTop) / layout.lane);
  const isLane = y > layout.head && y < layout.height - CHART && at < state.lanes.length;
  const row = isLane ? at : null;
  const lane = row === null ? null : state.lanes[row];
  const spell = lane ? lane.spells.findLast((s) => s.from <= ms && ms <= s.to) || null : null;
  const place = spell && !lane.epochs.length ? spell.at : generationAt(state.timeline, ms);
  const isChart = y >= layout.height - CHART;
  const level = Math.floor((y - AXIS) / EPISODE);
  const episode = y < layout.group ? episodeAt(x, level) : null;
  return { mark, ms, row, lane, spell, place, isChart, episode };
}

/** A vertical line at the pointer, with its time on the axis. */
function showCross(event) {
  const x = event.offsetX;
  const cross = byId("cross");
  cross.hidden = !layout.scale || x < layout.scale.left || x > layout.scale.right;
  if (cross.hidden) return;
  cross.style.left = `${x}px`;
  cross.style.height = `${layout.height}px`;
  cross.classList.toggle("left", x > layout.width - 110);
  byId("cross-time").textContent = clock(state.timeline.base_ms + Math.round(layout.scale.ms(x)));
}

function showTip(event) {
  if (!state.timeline || !layout.scale) return;
  showCross(event);
  const lines = tipLines(under(event.offsetX, event.offsetY));
  const tip = byId("tip");
  tip.hidden = !lines.length;
  if (!lines.length) return;
  tip.replaceChildren(...lines.map((line) => element("p", {}, line)));
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - width - 6);
  const isLow = event.clientY + height + 20 > window.innerHeight;
  tip.style.left = `${Math.max(6, left)}px`;
  tip.style.top = `${isLow ? event.clientY - height - 12 : event.clientY + 16}px`;
}

function hideTip() {
  byId("tip").hidden = true;
  byId("cross").hidden = true;
}

/** The last drawn episode of the row at this x; spans are at least 4 px wide. */
function episodeAt(x, row) {
  return state.timeline.episodes.findLast((each) => each.row === row &&
    layout.scale.x(each.from_ms) - 2 <= x && x <= Math.max(layout.scale.x(each.to_ms), layout.scale.x(each.from_ms) + 4)) || null;
}

function tipLines({ mark, ms, lane, spell, place, isChart, episode }) {
  const { base_ms: base, generations, assigned, unowned, unserved, coordinator } = state.timeline;
  const when = clock(base + Math.round(ms));
  if (mark) return causeLines(mark.cause, base);
  if (episode) return episodeLines(episode, base);
  if (isChart) {
    const count = (steps) => (steps[upperBound(steps.map((s) => s[0]), ms) - 1] || [0, 0])[1];
    const waiting = count(unserved) ? `, ${counted(count(unserved))} owned and not served` : "";
    return [`${when}: ${many(count(unowned), "unowned partition")}${waiting}`];
  }
  if (place === null) return [];
  const each = generations[place];
  const phase = phases(each, each.begin_ms, each.stop_ms).find(([, a, b]) => a <= ms && ms <= b);
  const lines = [`${isOfNewType(each) ? "target" : "generation"} ${each.generation}, ${phaseWords(each, phase ? phase[0] : "stable")}, ${when}`];
  if (lane) lines.unshift(lane.process);
  const band = lane && lane.epochs.findLast((epoch) => epoch.from <= ms && ms <= epoch.to);
  if (lane && !spell && !band) return [lane.process, `not in the group, ${when}`];
  if (band) lines.push(...epochLines(band, lane));
  else if (spell && spell.assigned >= 0) lines.push(assigned[spell.assigned][0]);
  for (const each of lane ? lane.outages : []) {
    if (each.from <= ms && ms <= each.to) lines.push(`${each.words}, ${duration(each.to - each.from)}`);
  }
  if (spell && spell.left) lines.push(`end: ${LEFT_WORDS[spell.left] || spell.left}`);
  if (!lane && each.cause) lines.push(causeOf(each));
  for (const [at, name] of lane ? [] : coordinator) {
    if (Math.abs(layout.scale.x(at) - layout.scale.x(ms)) < 4) lines.push(COORDINATOR_WORDS[name] || name);
  }
  return lines;
}

/** The partitions of a member of a modern group, and what the member does. */
function epochLines(band, lane) {
  const { assigned, handovers, lanes, base_ms: base } = state.timeline;
  const text = (at) => (at >= 0 ? assigned[at][0] : "nothing");
  const isAsked = band.phase === "revoke";
  const lines = [
    `member epoch ${band.epoch}: ${MEMBER_WORDS[band.phase]}${isAsked ? ` ${text(band.pending)}` : ""}, ${duration(band.to - band.from)}`,
    `has ${text(band.assigned)}`,
  ];
  if (band.phase !== "wait") return lines;
  const coming = handovers.filter((each) => each.to === lane.place && each.assigned_ms >= band.from && each.assigned_ms <= band.to + 1);
  for (const each of coming.slice(0, 6)) {
    const from = each.from === null ? "another process" : lanes[each.from].process;
    lines.push(`gets ${text(each.moved)} of ${from} at ${clock(base + each.assigned_ms)}, after waiting for ${WAITED_WORDS[each.waited_for]}`);
  }
  return lines;
}

function causeLines(cause, base) {
  const reasons = [cause.reason, cause.client_reason && `client: ${cause.client_reason}`];
  return [
    sentence(cause.cause, cause.story, cause.who),
    `${clock(base + cause.at_ms)}, ${ROLE_WORDS[cause.role] || cause.role} ${state.timeline.generations[cause.at].generation}`,
    [cause.cause, cause.host].filter(Boolean).join(", "),
    ...reasons.filter(Boolean),
  ];
}
