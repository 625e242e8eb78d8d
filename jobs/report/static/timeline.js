// The timeline's state: group, view, selected generation, lanes.

const state = {
  timeline: null, from: 0, to: 1, selected: null, lane: null,
  words: "", onlyMarked: false, families: new Set(FAMILIES), lanes: [], scroll: 0,
};

function shownGroup() {
  return state.timeline ? state.timeline.group : null;
}

let requests = 0;

/** Open a group, then call `then`: at once if the page has the group's timeline, else after its data file is loaded. */
function openThen(group, then) {
  requests += 1;
  const mine = requests;
  const open = () => {
    if (mine !== requests) return; // another group was opened in the meantime
    openGroup(group);
    then();
    drawGroups();
    drawDetails();
    drawWhatIf();
  };
  showView("group");
  if (timelines.has(group)) return open();
  byId("timeline-note").textContent = plain(`Loading ${group} …`);
  load(group).then(open, (error) => { byId("timeline-note").textContent = plain(error.message); });
}

function openGroup(group) {
  const timeline = timelineOf(group);
  byId("timeline-body").hidden = false;
  Object.assign(state, { timeline, selected: null, lane: null, scroll: 0 });
  byId("lanes").scrollTop = 0;
  byId("group").value = group;
  const first = timeline.generations[0];
  byId("timeline-note").textContent = [
    hasNewTypes ? `Group type: ${typesText(timeline.types)}.` : "",
    `${many(timeline.generations.length, "generation")}, ${many(timeline.lanes.length, "process", "processes")}.`,
    timeline.left_out
      ? `${many(timeline.left_out, "older generation")} left out, because the page's size is limited: use --from and --to.`
      : "",
    first.evidence === "records" && !isOfNewType(first) ? "No broker log: join phases and logged reasons are unknown." : "",
    timeline.lives ? "" : "No process lives computed yet: run regroup what-if-sweep.",
  ].filter(Boolean).join(" ");
  byId("plan-note").textContent = "";
  byId("plans").replaceChildren();
  findLanes();
  drawTimelineLegend();
  drawGroupEpisodes();
  drawPeriods();
  seeAll();
}

/** Open a group for the reader: show the group, scroll to it, update the address. */
function showGroup(group) {
  openThen(group, () => writeAddress(address(), true));
  scrollToTimeline();
}

function scrollToTimeline() {
  byId("timeline-title").focus({ preventScroll: true });
  byId("timeline-part").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
}

function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Show this time, in ms since the epoch, of the shown group. */
function showTime(fromMs, toMs) {
  const { base_ms: base } = state.timeline;
  see(fromMs - base, toMs - base);
  scrollToTimeline();
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

/** Show from .. to, within the timeline's limits and not narrower than SHORTEST_MS. */
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

/** Zoom in (factor < 1) or out, so that the time `at` keeps its position. */
function zoom(factor, at = (state.from + state.to) / 2) {
  see(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

function move(share) {
  const step = (state.to - state.from) * share;
  see(state.from + step, state.to + step);
}

function select(place, thenSee) {
  state.selected = place;
  const generation = place === null ? null : state.timeline.generations[place];
  if (generation && thenSee) bringIntoView(generation);
  changed();
  drawDetails();
}

/** Move the view so that it contains the generation's rebalance, with some margin. */
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
  select(place, false);
  see(begin - margin, end + margin);
}

/** Select the next (1) or previous (-1) generation that matches the filter. */
function step(direction) {
  const { generations } = state.timeline;
  let place = state.selected;
  if (place === null) {
    const seen = upperBound(state.timeline.starts, direction > 0 ? state.from : state.to);
    place = direction > 0 ? seen - 1 : seen;
  }
  for (place += direction; place >= 0 && place < generations.length; place += direction) {
    if (passes(generations[place])) return select(place, true);
  }
}

function passes(generation) {
  if (!state.families.has(generation.family)) return false;
  return !state.words || textOf(generation).includes(state.words);
}

/** The text of a generation that the filter searches. */
function textOf(generation) {
  if (generation.text === undefined) {
    const texts = generation.causes.flatMap((c) =>
      [c.who, c.host, c.cause, c.story, c.reason, c.client_reason, sentence(c.cause, c.story, c.who)]);
    texts.push(generation.outcome, generation.protocol, `generation ${generation.generation}`);
    generation.text = texts.filter(Boolean).join(" ").toLowerCase();
  }
  return generation.text;
}

function laneText(lane) {
  if (lane.text === undefined) {
    const topics = new Set();
    for (const spell of [...lane.spells, ...lane.epochs]) {
      if (spell.assigned >= 0) topics.add(state.timeline.assigned[spell.assigned][0]);
    }
    lane.text = [lane.process, lane.client_id, lane.client_host, lane.instance_id, ...topics]
      .filter(Boolean).join(" ").toLowerCase();
  }
  return lane.text;
}

/** The lanes that match the filter; all lanes if the filter matches only generations. */
function findLanes() {
  const { lanes, causes } = state.timeline;
  const marked = new Set(causes.map((cause) => cause.lane));
  const candidates = state.onlyMarked ? lanes.filter((lane) => marked.has(lane.place)) : lanes;
  const matching = candidates.filter((lane) => laneText(lane).includes(state.words));
  state.lanes = matching.length ? matching : candidates;
  state.lane = null;
}

function address() {
  const { base_ms: base } = state.timeline;
  const selected = state.selected === null ? null : state.timeline.generations[state.selected];
  const all = isAll();
  return {
    group: shownGroup(),
    from: all ? null : base + Math.round(state.from),
    to: all ? null : base + Math.round(state.to),
    generation: selected ? `${selected.incarnation}.${selected.generation}` : null,
  };
}

/** Show the view of the address, or another group if the page does not have the requested group. */
function followAddress() {
  const requested = readAddress();
  if (server && (requested.view || requested.group === null)) return showView(requested.view || "overview");
  const isMissing = requested.group !== null && !hasTimeline(requested.group);
  const isOther = requested.group === null || isMissing;
  openThen(isOther ? shownGroup() ?? groups[0].group_id : requested.group, () => {
    if (!isMissing) return showRequested(requested);
    byId("timeline-note").textContent =
      plain(`This page has no timeline of ${requested.group}; showing ${shownGroup()}.`);
  });
}

function showRequested(requested) {
  const { base_ms: base, generations } = state.timeline;
  const place = generations.findIndex((g) => `${g.incarnation}.${g.generation}` === requested.generation);
  if (place >= 0) select(place, true);
  if (requested.from !== null || requested.to !== null) {
    const { first, last } = limits();
    see(requested.from === null ? first : requested.from - base, requested.to === null ? last : requested.to - base);
  }
}

let frame = 0;

/** Schedule one redraw before the next frame. */
function changed() {
  if (!frame) frame = requestAnimationFrame(() => { frame = 0; drawTimeline(); updateView(); });
}

let viewTimer = 0;

/** Update the table and the address, after the last of several movements. */
function updateView() {
  clearTimeout(viewTimer);
  viewTimer = setTimeout(() => {
    if (byId("timeline-part").hidden) return;
    writeAddress(address(), false);
    drawRebalances();
  }, 120);
}
