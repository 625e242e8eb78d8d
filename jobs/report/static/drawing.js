// Drawing of the timeline: an axis, the group's states, a lane per process, unowned partitions below,
// and a map of the group's whole time above.

const AXIS = 24;
const EPISODE = 22; // height of a row of episodes, between the axis and the group
const GROUP = 30;
const CHART = 70;
const LONGEST_SHOWN = 1000; // maximum characters of a name

const layout = { width: 0, height: 0, gutter: 0, lane: 0, group: AXIS, head: AXIS + GROUP, scale: null, marks: [] };

function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(width * ratio);
  const high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  return pen;
}

function measure() {
  const box = byId("lanes");
  const width = box.clientWidth;
  const narrow = width < 700;
  layout.width = width;
  layout.gutter = narrow ? 0 : 190;
  layout.lane = narrow ? 40 : 28;
  layout.group = AXIS + state.timeline.episodeRows * EPISODE;
  layout.head = layout.group + GROUP;
  const fullHeight = layout.head + state.lanes.length * layout.lane + CHART;
  layout.height = Math.min(fullHeight, isOnPaper ? PAPER_HEIGHT : Math.max(320, Math.min(640, window.innerHeight * 0.7)));
  box.style.height = `${layout.height}px`;
  byId("tall").style.height = `${fullHeight}px`;
  layout.scale = new Scale(state.from, state.to, layout.gutter, width - 8);
}

function drawTimeline() {
  if (!state.timeline) return;
  measure();
  const pen = fit(byId("canvas"), layout.width, layout.height);
  layout.marks = [];
  pen.save();
  pen.beginPath();
  pen.rect(0, layout.head, layout.width, layout.height - layout.head - CHART);
  pen.clip();
  drawLanes(pen);
  drawMarks(pen);
  pen.restore();
  drawAxis(pen);
  drawEpisodes(pen);
  drawStates(pen);
  drawUnowned(pen);
  drawConversions(pen);
  drawSelected(pen);
  drawMap();
  const seen = `${clock(state.timeline.base_ms + state.from)} to ${clock(state.timeline.base_ms + state.to)}`;
  byId("canvas").setAttribute("aria-label", plain(`${shownGroup()}, ${seen}`));
}

function laneTop(row) {
  return layout.head + row * layout.lane - byId("lanes").scrollTop;
}

function drawAxis(pen) {
  const { scale, width } = layout;
  pen.fillStyle = color("page");
  pen.fillRect(0, 0, width, AXIS);
  pen.textAlign = "center";
  for (const tick of ticks(scale, state.timeline.base_ms, 90)) {
    const x = scale.x(tick.ms);
    pen.fillStyle = color("line");
    pen.fillRect(x, AXIS - 5, 1, 5);
    pen.fillStyle = color("muted");
    if (x > layout.gutter + 24 && x < width - 24) pen.fillText(tick.text, x, AXIS / 2);
  }
  pen.textAlign = "left";
  if (layout.gutter) {
    pen.fillStyle = color("muted");
    pen.fillText(clipped(pen, zone(), layout.gutter - 12), 8, AXIS / 2);
  }
}

/** Episodes as spans with their summaries, above the group and its lanes. */
function drawEpisodes(pen) {
  const { scale, width } = layout;
  const { episodes, episodeRows } = state.timeline;
  pen.fillStyle = color("page");
  pen.fillRect(0, AXIS, width, layout.group - AXIS);
  for (const each of episodes) {
    if (each.to_ms < state.from || each.from_ms > state.to) continue;
    const left = Math.max(scale.x(each.from_ms), scale.left);
    const wide = Math.max(Math.min(scale.x(each.to_ms), scale.right) - left, 4);
    const top = AXIS + each.row * EPISODE + 2;
    pen.fillStyle = color(KIND_FAMILY[each.kind] || "other");
    pen.globalAlpha = 0.22;
    pen.fillRect(left, top, wide, EPISODE - 4);
    pen.globalAlpha = 1;
    pen.fillRect(left, top, Math.min(3, wide), EPISODE - 4);
    if (wide < 40) continue;
    pen.fillStyle = color("text");
    const fits = pen.measureText(each.summary).width < wide - 12;
    const words = fits ? each.summary : `${kindWords(each.kind)}: ${each.processes.join(", ")}`;
    pen.fillText(clipped(pen, words, wide - 12), left + 7, top + EPISODE / 2 - 2);
  }
  if (layout.gutter && episodeRows) label(pen, "episodes", AXIS, EPISODE, color("muted"));
}

/** The phases of a generation as [phase, from, to], of the group or of one process. */
function phases(generation, from, to) {
  const { joined_ms: joined, stable_ms: stable } = generation;
  const isEmpty = generation.outcome === "empty";
  const inJoin = joined === null ? (stable === null ? to : stable) : joined;
  const inSync = isEmpty ? inJoin : stable === null ? to : stable;
  return [
    ["join", from, Math.min(inJoin, to)],
    ["sync", Math.max(from, inJoin), Math.min(inSync, to)],
    ...withoutAway(generation, isEmpty ? "empty" : "stable", Math.max(from, inSync), to),
  ].filter(([, begin, end]) => end > begin);
}

/** While a static member is away, the group is Reconciling again. */
function withoutAway(generation, phase, from, to) {
  const parts = [];
  let begin = from;
  for (const [away, back] of generation.away || []) {
    if (back <= begin || away >= to) continue;
    parts.push([phase, begin, away], ["sync", Math.max(begin, away), Math.min(back, to)]);
    begin = Math.min(back, to);
  }
  return [...parts, [phase, begin, to]];
}

/** Indexes of the lane's bands or generations in view, from first to last (exclusive). */
function seen(items, begin, end) {
  let first = 0;
  let last = items.length;
  while (first < last) {
    const middle = (first + last) >> 1;
    if (end(items[middle]) < state.from) first = middle + 1;
    else last = middle;
  }
  let stop = first;
  while (stop < items.length && begin(items[stop]) <= state.to) stop += 1;
  return [first, stop];
}

function drawStates(pen) {
  const { scale, width } = layout;
  pen.fillStyle = color("page");
  pen.fillRect(0, layout.group, width, GROUP);
  const { generations } = state.timeline;
  const bars = new Bars(pen, scale, layout.group + 4, GROUP - 8);
  const [first, stop] = seen(generations, (g) => g.begin_ms, (g) => g.stop_ms);
  let written = -Infinity;
  for (let at = first; at < stop; at += 1) {
    const each = generations[at];
    for (const [phase, from, to] of phases(each, each.begin_ms, each.stop_ms)) {
      bars.draw(phase, from, to);
    }
    const label = `${each.generation}`;
    const x = Math.max(scale.x(each.begin_ms), scale.left) + 3;
    if (x > written && Math.min(scale.x(each.stop_ms), scale.right) - x > label.length * 7) {
      pen.strokeStyle = color("page"); // a text color that is readable on every phase
      pen.lineWidth = 2.5;
      pen.strokeText(label, x, layout.group + GROUP / 2);
      pen.fillStyle = color("text");
      pen.fillText(label, x, layout.group + GROUP / 2);
      written = x + label.length * 7 + 6;
    }
  }
  bars.finish();
  for (const [at] of state.timeline.coordinator) {
    if (at < state.from || at > state.to) continue;
    pen.fillStyle = color("other");
    pen.fillRect(scale.x(at) - 1, layout.group, 2, GROUP);
  }
  if (layout.gutter) label(pen, "group, by generation", layout.group, GROUP, color("muted"));
}

function label(pen, text, top, height, ink) {
  pen.fillStyle = color("page");
  pen.fillRect(0, top, layout.gutter - 6, height);
  pen.fillStyle = ink;
  pen.fillText(clipped(pen, text, layout.gutter - 18), 8, top + height / 2);
}

/** The name, or its longest beginning that fits; names have up to 32,767 characters. */
function clipped(pen, name, width) {
  const text = plain(name.slice(0, LONGEST_SHOWN + 1));
  if (text.length <= LONGEST_SHOWN && pen.measureText(text).width <= width) return text;
  let shortest = 1;
  let longest = Math.min(text.length, LONGEST_SHOWN);
  while (shortest < longest) {
    const length = Math.ceil((shortest + longest) / 2);
    if (pen.measureText(`${text.slice(0, length)}…`).width <= width) shortest = length;
    else longest = length - 1;
  }
  return `${text.slice(0, shortest)}…`;
}

function drawLanes(pen) {
  const { scale, lane: height } = layout;
  const bottom = layout.height - CHART;
  const named = layout.gutter ? 0 : 15; // in a narrow window, the name is above its lane
  state.lanes.forEach((lane, row) => {
    const top = laneTop(row);
    if (top > bottom || top + height < layout.head) return;
    pen.fillStyle = color("line");
    pen.fillRect(0, top + height - 1, layout.width, 0.5);
    drawBands(pen, lane, top + 3 + named, height - 7 - named);
    drawOutages(pen, lane, top + 3 + named);
    const ink = state.lane === row ? color("select") : color("text");
    if (layout.gutter) label(pen, lane.process, top + 1, height - 2, ink);
    else {
      pen.fillStyle = ink;
      pen.fillText(clipped(pen, lane.process, layout.width - 20), 8, top + 10);
    }
  });
}

function drawBands(pen, lane, top, height) {
  const bars = new Bars(pen, layout.scale, top, height);
  const [first, stop] = seen(lane.bands, (band) => band.from, (band) => band.to);
  for (let n = first; n < stop; n += 1) {
    const band = lane.bands[n];
    if (band.spell) drawSpell(pen, bars, band, top, height);
    else drawEpoch(pen, bars, band, top, height);
  }
  bars.finish();
}

/** A process in a classic generation: the phases of the group. */
function drawSpell(pen, bars, { spell, before }, top, height) {
  const { generations, assigned } = state.timeline;
  const keepsPartitions = keepsConsuming(before, spell, generations);
  for (const [phase, from, to] of phases(generations[spell.at], spell.from, spell.to)) {
    const isHalf = keepsPartitions && phase !== "stable";
    if (isHalf) bars.draw("stable", from, to);
    const width = isHalf
      ? bars.draw(phase, from, to, top + height * 0.6, height * 0.4)
      : bars.draw(phase, from, to);
    if (phase === "stable" && width > 16 && spell.assigned >= 0) {
      writePartitions(pen, assigned[spell.assigned], from, width, top + height / 2, "partition");
    }
  }
}

// Height of the strip that shows what a member does while it consumes its other partitions.
const STRIP = { behind: 0.2, revoke: 0.45, wait: 0.45 };

/** A process in a modern group: its partitions and actions, at its own time. */
function drawEpoch(pen, bars, band, top, height) {
  const { phase, from, to } = band;
  const [text, count, standby = 0, warmup = 0] = band.assigned >= 0 ? state.timeline.assigned[band.assigned] : ["", 0];
  const high = standby + warmup ? height * 0.68 : height; // height of the partitions of active tasks
  const consumes = count > 0 || phase === "stable" || phase === "behind";
  let width = 0;
  if (phase === "away") width = bars.draw("empty", from, to, top, high);
  else if (consumes) width = bars.draw("stable", from, to, top, high);
  if (STRIP[phase]) {
    const strip = consumes ? high * STRIP[phase] : high;
    width = Math.max(width, bars.draw(phase, from, to, top + high - strip, strip));
  }
  if (standby) bars.draw("standby", from, to, top + high, height - high);
  if (warmup) bars.draw("warmup", from, to, top + (standby ? (high + height) / 2 : high), (height - high) / (standby ? 2 : 1));
  if (width <= 16) return;
  const unit = unitOf(generationAtTime(from).group_type);
  const middle = top + (STRIP[phase] > 0.4 && consumes ? high * 0.3 : high / 2);
  if (phase === "away") writePartitions(pen, ["away"], from, width, middle, unit);
  else if (count + standby + warmup) writePartitions(pen, [text, count], from, width, middle, unit);
}

/** The generation at a time; the first generation for earlier times. */
function generationAtTime(ms) {
  const { generations, starts } = state.timeline;
  return generations[Math.max(upperBound(starts, ms) - 1, 0)];
}

/** A line above the band: a slow poll, or a process that ended before its member was removed. */
function drawOutages(pen, lane, top) {
  const { scale } = layout;
  pen.fillStyle = color("failing");
  for (const { from, to } of lane.outages) {
    if (to < state.from || from > state.to) continue;
    const left = Math.max(scale.x(from), scale.left);
    pen.fillRect(left, top, Math.max(Math.min(scale.x(to), scale.right) - left, 1), 3);
  }
}

/** Under a cooperative protocol, a member keeps consuming retained partitions. */
function keepsConsuming(before, spell, generations) {
  return Boolean(before) && before.at === spell.at - 1 && !before.left && before.assigned >= 0 &&
    generations[before.at].is_cooperative && generations[spell.at].is_cooperative;
}

/** The names of the partitions if they fit, else the number of partitions. */
function writePartitions(pen, [text, count], from, width, middle, unit) {
  const left = Math.max(layout.scale.x(from), layout.scale.left);
  const fits = (words) => words.length * 6.4 < width - 8;
  const words = fits(text) ? plain(text) : count !== undefined && [many(count, unit), `${count}`].find(fits);
  if (!words) return;
  pen.fillStyle = color("text");
  pen.fillText(words, left + 4, middle);
}

/** A dashed line where the group changed its type, with a flag in the chart below the lanes. */
function drawConversions(pen) {
  const { scale, height } = layout;
  const top = height - CHART;
  for (const each of state.timeline.conversions) {
    if (each.at_ms < state.from || each.at_ms > state.to) continue;
    const x = scale.x(each.at_ms);
    pen.strokeStyle = pen.fillStyle = color("select");
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(x, layout.group);
    pen.lineTo(x, height);
    pen.stroke();
    pen.setLineDash([]);
    const words = `${each.before} → ${each.after}`;
    const wide = pen.measureText(words).width;
    const left = x + wide + 8 > scale.right ? x - wide - 5 : x + 5;
    pen.fillStyle = color("panel");
    pen.fillRect(left - 2, top + 3, wide + 4, 15);
    pen.fillStyle = color("select");
    pen.fillText(words, left, top + 11);
  }
}

/** Arrows from each process that gave up partitions to the next owner, of the selected rebalance. */
function drawHandovers(pen) {
  if (state.selected === null) return;
  const rows = new Map(state.lanes.map((lane, row) => [lane.place, row]));
  pen.save();
  pen.beginPath();
  pen.rect(layout.scale.left, layout.head, layout.width, layout.height - layout.head - CHART);
  pen.clip();
  for (const each of state.timeline.generations[state.selected].handovers) {
    if (!rows.has(each.from) || !rows.has(each.to) || each.from === each.to) continue;
    const middle = (row) => laneTop(row) + layout.lane / 2;
    arrow(pen, layout.scale.x(each.released_ms), middle(rows.get(each.from)),
      layout.scale.x(each.assigned_ms), middle(rows.get(each.to)));
  }
  pen.restore();
}

function arrow(pen, x, y, toX, toY) {
  const angle = Math.atan2(toY - y, toX - x);
  pen.strokeStyle = pen.fillStyle = color("text");
  pen.lineWidth = 1.2;
  pen.beginPath();
  pen.arc(x, y, 2, 0, 2 * Math.PI);
  pen.fill();
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
  pen.stroke();
  pen.beginPath();
  for (const turn of [0, 2.6, -2.6]) {
    const far = turn ? 8 : 0;
    pen.lineTo(toX + far * Math.cos(angle + turn), toY + far * Math.sin(angle + turn));
  }
  pen.fill();
}

function drawUnowned(pen) {
  const { scale, width, height } = layout;
  const top = height - CHART;
  const isKnown = state.timeline.unowned !== null;
  const steps = state.timeline.unowned || [];
  const { unserved } = state.timeline;
  const most = Math.max(mostAtOnce(steps), mostAtOnce(unserved)); // the largest count in the visible times
  pen.fillStyle = color("panel");
  pen.fillRect(0, top, width, CHART);
  pen.fillStyle = color("line");
  pen.fillRect(0, top, width, 1);
  const foot = height - 6;
  const room = CHART - 24;
  if (isKnown) drawCounts(pen, most, foot, room);
  const each = { foot, room, most };
  drawSteps(pen, unserved, "unserved", each);
  drawSteps(pen, steps, "unowned", each);
  pen.fillStyle = color("muted");
  const size = isKnown ? `at most ${counted(mostAtOnce(steps))} at once` : "not known without records";
  if (!layout.gutter) return pen.fillText(`unowned partitions, ${size}`, 8, top + 11);
  pen.fillText("unowned partitions", 8, top + 11);
  pen.fillText(size, 8, top + 29);
}

/** Columns whose height is the number of partitions. */
function drawSteps(pen, steps, name, { foot, room, most }) {
  const { scale } = layout;
  pen.fillStyle = color(name);
  let [first] = seen(steps, (s) => s[0], (s) => s[0]);
  for (first = Math.max(first - 1, 0); first < steps.length && steps[first][0] <= state.to; first += 1) {
    const [from, count] = steps[first];
    if (!count) continue;
    const end = first + 1 < steps.length ? steps[first + 1][0] : state.timeline.end_ms;
    const left = Math.max(scale.x(from), scale.left);
    const right = Math.min(scale.x(end), scale.right);
    const high = Math.max((room * count) / most, 1);
    if (right >= left) pen.fillRect(Math.floor(left), foot - high, Math.max(right - left, 1), high);
  }
}

/** The scale for the number of unowned partitions, with lines at round counts. */
function drawCounts(pen, most, foot, room) {
  const { scale } = layout;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].find((each) => most / each <= 2.5) || most;
  pen.textAlign = "right";
  for (let count = 0; count <= most; count += step) {
    const y = Math.round(foot - (room * count) / Math.max(most, 1)) - 0.5;
    pen.fillStyle = color("line");
    pen.fillRect(scale.left, y, scale.right - scale.left, 1);
    pen.fillStyle = color("muted");
    pen.fillText(counted(count), layout.gutter ? scale.left - 4 : scale.right - 2, y);
  }
  pen.textAlign = "left";
}

function mostAtOnce(steps) {
  let most = 0;
  steps.forEach(([from, count], n) => {
    const to = n + 1 < steps.length ? steps[n + 1][0] : state.timeline.end_ms;
    if (to >= state.from && from <= state.to) most = Math.max(most, count);
  });
  return most;
}

function drawSelected(pen) {
  if (state.selected === null) return;
  const { scale, height } = layout;
  const { begin_ms: begin, stop_ms: stop } = state.timeline.generations[state.selected];
  const left = Math.max(scale.x(begin), scale.left);
  const right = Math.min(scale.x(stop), scale.right);
  if (right < scale.left || left > scale.right) return;
  pen.strokeStyle = color("select");
  pen.lineWidth = 2;
  pen.strokeRect(left, layout.group + 2, Math.max(right - left, 2), height - layout.group - 3);
  drawHandovers(pen);
}

/** The group's whole time: its phases, and a frame around the visible part. */
function drawMap() {
  const canvas = byId("map");
  const width = canvas.clientWidth;
  const pen = fit(canvas, width, 46);
  const { first, last } = limits();
  const scale = new Scale(first, last, 2, width - 2);
  const bars = new Bars(pen, scale, 8, 30);
  for (const each of state.timeline.generations) {
    for (const [phase, from, to] of phases(each, each.begin_ms, each.stop_ms)) {
      bars.draw(phase, from, to);
    }
  }
  bars.finish();
  const left = scale.x(state.from);
  const right = scale.x(state.to);
  pen.fillStyle = color("page");
  pen.globalAlpha = 0.6;
  pen.fillRect(0, 0, left, 46);
  pen.fillRect(right, 0, width - right, 46);
  pen.globalAlpha = 1;
  pen.strokeStyle = color("select");
  pen.lineWidth = 2;
  pen.strokeRect(left + 1, 1, Math.max(right - left - 2, 3), 44);
}
