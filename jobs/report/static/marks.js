// Causes on the timeline: a mark on the lane of the process; a vertical line for a trigger.

const GLYPH = 5.5;

function drawMarks(pen) {
  const { scale, lane: height } = layout;
  const rows = new Map(state.lanes.map((lane, row) => [lane.place, row]));
  const { generations, causes } = state.timeline;
  const [first, stop] = seen(generations, (g) => g.begin_ms, (g) => g.stop_ms);
  let last = -Infinity;
  const drawn = new Map();
  for (let at = first; at < Math.min(stop + 1, generations.length); at += 1) {
    if (!passes(generations[at])) continue;
    for (const cause of generations[at].causes) {
      if (cause.at_ms < state.from || cause.at_ms > state.to) continue;
      const x = scale.x(cause.at_ms);
      if (cause.role === "trigger" && x - last > 14) {
        pen.fillStyle = color(cause.family);
        pen.globalAlpha = 0.45;
        pen.fillRect(x - 0.5, layout.head, 1, layout.height);
        pen.globalAlpha = 1;
        last = x;
      }
      const row = rows.get(cause.lane);
      if (row === undefined && cause.lane !== null) continue;
      const y = row === undefined ? layout.head + 7 : laneTop(row) + height / 2 + (layout.gutter ? 0 : 7);
      if (y < layout.head || y > layout.height - CHART) continue;
      if (x - (drawn.get(y) ?? -Infinity) < 5) continue; // the mark would cover the previous mark
      drawn.set(y, x);
      glyph(pen, cause.family, x, y, cause.role === "trigger");
      layout.marks.push({ x, y, cause });
    }
  }
}

/** A mark in its family's shape: filled for a trigger, else only an outline. */
function glyph(pen, family, x, y, isFull) {
  const r = GLYPH;
  const w = 2;
  const cross = [[0, -w], [r - w, -r], [r, w - r], [w, 0], [r, r - w], [r - w, r]];
  const corners = {
    joining: [[0, -r], [r, r], [-r, r]], leaving: [[0, r], [r, -r], [-r, -r]],
    changing: [[0, -r], [r, 0], [0, r], [-r, 0]],
    failing: [...cross, ...cross.map(([dx, dy]) => [-dx, -dy])],
  }[family];
  pen.beginPath();
  if (corners) corners.forEach(([dx, dy]) => pen.lineTo(x + dx, y + dy));
  else pen.arc(x, y, r - 1, 0, 2 * Math.PI);
  pen.closePath();
  pen.fillStyle = isFull ? color(family) : color("page");
  pen.strokeStyle = isFull ? color("page") : color(family);
  pen.lineWidth = isFull ? 1 : 1.6;
  pen.fill();
  pen.stroke();
}
