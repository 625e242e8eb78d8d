// The page's data, unpacked.

const page = JSON.parse(byId("data").textContent);

/** A table of columns and rows as objects. */
function objects(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((c, n) => [c, row[n]])));
}

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
  return timelines.has(group) || fileOfGroup.has(group);
}

/** Load the data file of a group; a script element, because a page on a local disk may not fetch. */
function load(group) {
  const file = fileOfGroup.get(group);
  if (timelines.has(group)) return Promise.resolve();
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

/** A group's timeline with its tables as objects; null if the page has none. */
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
  const lanes = packed.lanes.map((lane, place) => ({
    ...lane,
    place,
    spells: lane.spells.map((spell) => spellOf(spell, generations)),
  }));
  for (const lane of lanes) lane.outages = outages(packed, lane);
  const starts = generations.map((each) => each.begin_ms);
  const episodes = packed.episodes ? objects(packed.episodes) : [];
  const episodeRows = stack(episodes);
  return { ...packed, generations, causes, lanes, starts, episodes, episodeRows };
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

/** A process in a generation: the whole generation, unless times are given. */
function spellOf([at, assigned, from, to, left], generations) {
  const { begin_ms: begin, stop_ms: stop } = generations[at];
  return { at, assigned, from: from ?? begin, to: to ?? stop, left: left ?? null };
}

/** When a lane's process did not poll, or had ended while its member was still in the group. */
function outages(packed, lane) {
  const times = [];
  for (const life of packed.lives || []) {
    if (life.lane !== lane.place) continue;
    for (const [from, to] of life.slow_polls) times.push({ from, to, words: "slow poll" });
    const last = lane.spells.findLast((spell) => spell.from <= life.to && spell.to > life.to);
    const next = packed.lives.find((each) => each.lane === life.lane && each.life === life.life + 1);
    const to = Math.min(last ? last.to : life.to, next ? next.from : Infinity);
    if (life.to !== null && to > life.to) {
      times.push({ from: life.to, to, words: `process had ended (${life.ended_how})` });
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
