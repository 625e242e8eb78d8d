// Conversion of times to pixels, and round times for an axis.

const SHORTEST_MS = 20; // the narrowest view

/** The view: from and to in ms since the timeline's base, drawn from x = left to x = right. */
class Scale {
  constructor(from, to, left, right) {
    Object.assign(this, { from, to, left, right });
    this.perMs = (right - left) / Math.max(to - from, 1);
  }

  x(ms) {
    return this.left + (ms - this.from) * this.perMs;
  }

  ms(x) {
    return this.from + (x - this.left) / this.perMs;
  }
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3,
  900e3, 1800e3, 3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3, 2592e6,
];

/** Round times in the view with their texts, at least `pixels` apart. */
function ticks(scale, baseMs, pixels) {
  const least = pixels / scale.perMs;
  const step = STEPS_MS.find((each) => each >= least) || STEPS_MS[STEPS_MS.length - 1];
  const marks = [];
  const shift = zoned(baseMs) - baseMs; // makes the times round in the shown zone
  const first = Math.ceil((baseMs + shift + scale.from) / step) * step;
  for (let at = first; at <= baseMs + shift + scale.to; at += step) {
    marks.push({ ms: at - baseMs - shift, text: tickText(at, step) });
  }
  return marks;
}

function tickText(ms, step) {
  const text = new Date(ms).toISOString();
  if (step >= 86400e3) return text.slice(5, 10);
  if (step >= 60e3) return ms % 86400e3 === 0 ? text.slice(5, 10) : text.slice(11, 16);
  return step >= 1e3 ? text.slice(11, 19) : text.slice(14, 23);
}
