// The page's data, unpacked.

const page = server ? await servedPage().catch(failedToStart) : embedded;

const groups = objects(page.groups);
const causesOfGroups = objects(page.causes);
const trend = objects(page.trend);
const storms = objects(page.storms);
const { totals, sparks } = page;
const timelines = new Map(page.timelines.map((timeline) => [timeline.group, timeline]));
const unpacked = new Map();
const fileOfGroup = new Map();
const loading = new Map(); // promises by the name of the data file
for (const [file, groupIds] of page.elsewhere ? page.elsewhere.files : []) {
  for (const group of groupIds) fileOfGroup.set(group, file);
}

/** Data files call this with their timelines. */
window.regroupTimelines = (loaded) => {
  for (const timeline of loaded) timelines.set(timeline.group, timeline);
};

function hasTimeline(group) {
  return server !== null || timelines.has(group) || fileOfGroup.has(group);
}

/** Load the timeline of a group. */
function load(group) {
  if (timelines.has(group)) return Promise.resolve();
  return server ? ask("timeline", { group }).then((loaded) => timelines.set(group, loaded)) : loadFile(group);
}

/** Load the data file of a group with a script element, because a page on a local disk may not use fetch. */
function loadFile(group) {
  const file = fileOfGroup.get(group);
  if (!loading.has(file)) {
    const source = `${encodeURIComponent(page.elsewhere.folder)}/${encodeURIComponent(file)}`;
    loading.set(file, new Promise((done, failed) => {
      const script = element("script", { src: source, onload: done });
      script.addEventListener("error", () => {
        loading.delete(file);
        script.remove();
        failed(new Error(`${page.elsewhere.folder}/${file} is missing: keep this folder beside the page.`));
      });
      document.head.append(script);
    }));
  }
  return loading.get(file);
}

/** A group's timeline with its tables as objects; null if the page has no timeline of the group. */
function timelineOf(group) {
  const packed = timelines.get(group);
  if (!packed) return null;
  if (!unpacked.has(group)) unpacked.set(group, unpack(packed));
  return unpacked.get(group);
}

function unpack(packed) {
  const generations = objects(packed.generations);
  const causes = objects(packed.causes);
  for (const each of generations) {
    each.causes = [];
    each.family = familyOf(each.cause, each.story);
    each.stop_ms = each.end_ms === null ? packed.end_ms : each.end_ms;
  }
  for (const cause of causes) {
    cause.family = familyOf(cause.cause, cause.story);
    if (cause.at_ms === null) cause.at_ms = generations[cause.at].begin_ms;
    generations[cause.at].causes.push(cause);
  }
  const lanes = packed.lanes.map((lane, place) => {
    const spells = lane.spells.map((spell) => spellOf(spell, generations));
    const epochs = (lane.epochs || []).map(epochOf);
    return { ...lane, place, spells, epochs, bands: bandsOf(spells, epochs, generations) };
  });
  for (const lane of lanes) lane.outages = outages(packed, lane);
  const starts = generations.map((each) => each.begin_ms);
  const episodes = packed.episodes ? objects(packed.episodes) : [];
  const episodeRows = stack(episodes);
  const conversions = conversionsOf(generations);
  const types = [generations[0].group_type, ...conversions.map((each) => each.after)];
  const handovers = objects(packed.handovers);
  for (const each of generations) each.handovers = [];
  for (const each of handovers) generations[each.at].handovers.push(each);
  noteAway(lanes, generations, starts);
  return { ...packed, generations, causes, lanes, starts, episodes, episodeRows, conversions, types, handovers };
}

/** Give each generation the times during which static members were away, sorted by time. */
function noteAway(lanes, generations, starts) {
  const away = lanes.flatMap((lane) => lane.epochs.filter((each) => each.phase === "away"));
  for (const { from, to } of away.sort((a, b) => a.from - b.from)) {
    for (let at = Math.max(upperBound(starts, from) - 1, 0); at < generations.length && starts[at] < to; at += 1) {
      const each = generations[at];
      if (isOfNewType(each) && each.outcome !== "empty") (each.away = each.away || []).push([from, to]);
    }
  }
}

/** The positions at which the group's type changes: the first generation of each next type. */
function conversionsOf(generations) {
  return generations.flatMap((each, at) => (at && each.group_type !== generations[at - 1].group_type
    ? [{ at, at_ms: each.begin_ms, before: generations[at - 1].group_type, after: each.group_type }] : []));
}

const MOST_ROWS = 3;

/** Give each episode a row, so that few overlap; returns the number of rows. */
function stack(episodes) {
  const ends = [];
  for (const each of episodes) {
    const free = ends.findIndex((end) => end <= each.from_ms);
    each.row = free >= 0 ? free : Math.min(ends.length, MOST_ROWS - 1);
    ends[each.row] = Math.max(ends[each.row] ?? 0, each.to_ms);
  }
  return ends.length;
}

/** A process in a generation: in the whole generation, unless times are given. */
function spellOf([at, assigned, from, to, left], generations) {
  const { begin_ms: begin, stop_ms: stop } = generations[at];
  return { at, assigned, from: from ?? begin, to: to ?? stop, left: left ?? null };
}

/** The partitions of a process, and what the process did, in a period; for modern groups. */
function epochOf([from, to, phase, assigned, pending, epoch]) {
  return { from, to, phase, assigned, pending, epoch };
}

/** The bands of a lane, by time: classic generations, or epochs of modern groups. */
function bandsOf(spells, epochs, generations) {
  const bands = spells.map((spell, n) => ({ from: spell.from, to: spell.to, spell, before: spells[n - 1] }));
  if (!epochs.length) return bands;
  const classic = bands.filter(({ spell }) => !isOfNewType(generations[spell.at]));
  return [...classic, ...epochs].sort((a, b) => a.from - b.from);
}

/** Times in which a lane's process did not poll, or had ended while its member was still in the group. */
function outages(packed, lane) {
  const times = [];
  for (const life of packed.lives || []) {
    if (life.lane !== lane.place) continue;
    for (const [from, to] of life.slow_polls) times.push({ from, to, words: "slow poll" });
    const last = lane.spells.findLast((spell) => spell.from <= life.to && spell.to > life.to);
    const next = packed.lives.find((each) => each.lane === life.lane && each.life === life.life + 1);
    const to = Math.min(last ? last.to : life.to, next ? next.from : Infinity);
    if (life.to !== null && to > life.to) {
      times.push({ from: life.to, to, words: `process had ended (${life.ended_how.replaceAll("_", " ")})` });
    }
  }
  return times;
}

/** The index of the first number in a sorted list that is greater than `value`. */
function upperBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
