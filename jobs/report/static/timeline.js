// The timeline's state: which group, which part of its time, which generation and which lanes.

const state = {
  timeline: null, from: 0, to: 1, chosen: null, lane: null,
  words: "", onlyMarked: false, families: new Set(FAMILIES), lanes: [], scroll: 0,
};

function shownGroup() {
  return state.timeline ? state.timeline.group : null;
}

/** Change the group shown; false where the page has no timeline of it. */
function openGroup(group) {
  const timeline = timelineOf(group);
  if (!timeline) return false;
  Object.assign(state, { timeline, chosen: null, lane: null, scroll: 0 });
  byId("lanes").scrollTop = 0;
  byId("group").value = group;
  const first = timeline.generations[0];
  byId("timeline-note").textContent = [
    `${many(timeline.generations.length, "generation")}, ${many(timeline.lanes.length, "process", "processes")}.`,
    timeline.left_out
      ? `${many(timeline.left_out, "older generation")} left out for want of room: --from and --to choose others.`
      : "",
    first.evidence === "records" ? "Without a log: join phases and causes in the broker's words are not known." : "",
    timeline.lives ? "" : "No process lives in this lake: regroup what-if-sweep infers them.",
  ].filter(Boolean).join(" ");
  findLanes();
  seeAll();
  return true;
}

/** What a reader does: shows the group, scrolls to it, and says so in the address. */
function showGroup(group) {
  if (!openGroup(group)) return;
  drawGroups();
  writeAddress(address(), true);
  byId("timeline-title").focus({ preventScroll: true });
  byId("timeline-part").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
}

function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** A stretch of time, in ms since the epoch, of the group that is shown. */
function showTime(fromMs, toMs) {
  const { base_ms: base } = state.timeline;
  see(fromMs - base, toMs - base);
  byId("timeline-part").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
}

function limits() {
  const { timeline } = state;
  const margin = Math.max((timeline.end_ms - 0) * 0.01, 50);
  return { first: -margin, last: timeline.end_ms + margin };
}

function isAll() {
  const { first, last } = limits();
  return state.from <= first && state.to >= last;
}

/** See from .. to, as far as there is something, no narrower than makes sense. */
function see(from, to) {
  const { first, last } = limits();
  const width = Math.min(Math.max(to - from, SHORTEST_MS), last - first);
  const start = Math.min(Math.max(from, first), last - width);
  Object.assign(state, { from: start, to: start + width });
  changed();
}

function seeAll() {
  const { first, last } = limits();
  see(first, last);
}

/** Narrower (factor < 1) or wider, the time `at` staying where it is. */
function zoom(factor, at = (state.from + state.to) / 2) {
  see(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

function move(share) {
  const step = (state.to - state.from) * share;
  see(state.from + step, state.to + step);
}

function choose(place, thenSee) {
  state.chosen = place;
  const generation = place === null ? null : state.timeline.generations[place];
  if (generation && thenSee) bringIntoView(generation);
  changed();
  drawDetails();
}

/** Its rebalance, with a little before and after. */
function bringIntoView(generation) {
  const width = state.to - state.from;
  const { begin_ms: begin } = generation;
  if (begin < state.from + width * 0.05 || begin > state.to - width * 0.15) {
    see(begin - width * 0.3, begin + width * 0.7);
  }
}

function seeGeneration(place) {
  const { begin_ms: begin, stable_ms: stable, stop_ms: stop } = state.timeline.generations[place];
  const end = stable === null ? stop : Math.min(stop, stable + 2 * Math.max(stable - begin, 500));
  const margin = (end - begin) * 0.15 + 5;
  choose(place, false);
  see(begin - margin, end + margin);
}

/** The next (1) or previous (-1) generation that the filter lets through. */
function step(direction) {
  const { generations } = state.timeline;
  let place = state.chosen;
  if (place === null) {
    const seen = upperBound(state.timeline.starts, direction > 0 ? state.from : state.to);
    place = direction > 0 ? seen - 1 : seen;
  }
  for (place += direction; place >= 0 && place < generations.length; place += direction) {
    if (passes(generations[place])) return choose(place, true);
  }
}

function passes(generation) {
  if (!state.families.has(generation.family)) return false;
  return !state.words || textOf(generation).includes(state.words);
}

/** What a generation can be found by. */
function textOf(generation) {
  if (generation.text === undefined) {
    const said = generation.causes.flatMap((c) =>
      [c.who, c.host, c.cause, c.story, c.reason, c.client_reason, sentence(c.cause, c.story, c.who)]);
    said.push(generation.outcome, generation.protocol, `generation ${generation.generation}`);
    generation.text = said.filter(Boolean).join(" ").toLowerCase();
  }
  return generation.text;
}

function laneText(lane) {
  if (lane.text === undefined) {
    const topics = new Set();
    for (const spell of lane.spells) {
      if (spell.assigned >= 0) topics.add(state.timeline.assigned[spell.assigned][0]);
    }
    lane.text = [lane.process, lane.client_id, lane.client_host, lane.instance_id, ...topics]
      .filter(Boolean).join(" ").toLowerCase();
  }
  return lane.text;
}

/** The lanes that the filter's words find; all of them where it finds generations only. */
function findLanes() {
  const { lanes, causes } = state.timeline;
  const marked = new Set(causes.map((cause) => cause.lane));
  const wanted = state.onlyMarked ? lanes.filter((lane) => marked.has(lane.place)) : lanes;
  const found = wanted.filter((lane) => laneText(lane).includes(state.words));
  state.lanes = found.length ? found : wanted;
  state.lane = null;
}

function address() {
  const { base_ms: base } = state.timeline;
  const chosen = state.chosen === null ? null : state.timeline.generations[state.chosen];
  const all = isAll();
  return {
    group: shownGroup(),
    from: all ? null : base + Math.round(state.from),
    to: all ? null : base + Math.round(state.to),
    generation: chosen ? `${chosen.incarnation}.${chosen.generation}` : null,
  };
}

/** Show what the address says, as far as the page has it. */
function followAddress() {
  const asked = readAddress();
  if (asked.group === null || !openGroup(asked.group)) {
    if (!state.timeline) openGroup(page.timelines[0].group);
    if (asked.group !== null) {
      byId("timeline-note").textContent =
        plain(`No timeline of ${asked.group} in this page; this is ${shownGroup()}.`);
    }
  }
  const { base_ms: base, generations } = state.timeline;
  const place = generations.findIndex((g) => `${g.incarnation}.${g.generation}` === asked.generation);
  if (place >= 0) choose(place, true);
  if (asked.from !== null || asked.to !== null) {
    const { first, last } = limits();
    see(asked.from === null ? first : asked.from - base, asked.to === null ? last : asked.to - base);
  }
  drawGroups();
  drawDetails();
}

let frame = 0;

/** Draw again, once before the next frame however often it is asked for. */
function changed() {
  if (!frame) frame = requestAnimationFrame(() => { frame = 0; drawTimeline(); tellView(); });
}

let telling = 0;

/** What need not keep up with every movement: the table and the address. */
function tellView() {
  clearTimeout(telling);
  telling = setTimeout(() => {
    writeAddress(address(), false);
    drawRebalances();
  }, 120);
}
