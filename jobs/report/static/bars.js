// Phases as bars, from a few wide ones to thousands of narrow ones.

const NARROW = 4; // pixels
// Narrow bars of single members count as the group's phases. null: the bar is not counted.
const NARROW_AS = { behind: "stable", revoke: "sync", wait: "sync", away: "empty", standby: null, warmup: null };
const SHARES = 8; // number of heights of a column's colored part; it is small, so that neighbors are often equal

/**
 * Draws phases as bars.  Narrow phases are collected in columns of one pixel: the colored part of a
 * column is the share of its time in which the group was not Stable.  Equal neighboring columns are
 * painted in one stroke.
 */
class Bars {
  constructor(pen, scale, top, height) {
    Object.assign(this, { pen, scale, top, height, column: -1, parts: null, ground: null, runs: [] });
  }

  draw(phase, from, to, top = this.top, height = this.height) {
    const { scale } = this;
    const left = Math.max(scale.x(from), scale.left);
    const right = Math.min(scale.x(to), scale.right);
    if (right < left) return 0;
    if (right - left < NARROW) return this.gather(phase in NARROW_AS ? NARROW_AS[phase] : phase, left, right);
    const start = Math.round(left) + (Math.round(left) === this.column ? 1 : 0);
    this.pen.fillStyle = color(phase);
    this.pen.fillRect(start, top, Math.round(right) - start, height);
    return right - left;
  }

  gather(phase, left, right) {
    if (!phase) return 0;
    for (let column = Math.floor(left); column <= right; column += 1) {
      if (column !== this.column || !this.parts) {
        this.closeColumn();
        this.column = column;
        this.parts = { join: 0, sync: 0, stable: 0, empty: 0 };
      }
      const width = Math.min(right, column + 1) - Math.max(left, column);
      this.parts[phase] += Math.max(width, 0.001);
    }
    return 0;
  }

  closeColumn() {
    if (!this.parts) return;
    const { join, sync, stable, empty } = this.parts;
    this.parts = null;
    const ground = stable + empty ? (stable >= empty ? "stable" : "empty") : "";
    if (!this.ground || this.ground.phase !== ground || this.ground.end !== this.column) {
      this.paint();
      this.ground = { phase: ground, start: this.column, end: this.column };
    }
    this.ground.end = this.column + 1;
    if (join + sync) {
      const share = (join + sync) / (join + sync + stable + empty);
      this.extend(join >= sync ? "join" : "sync", Math.max(Math.round(share * SHARES), 2) / SHARES);
    }
  }

  extend(phase, share) {
    const last = this.runs[this.runs.length - 1];
    if (last && last.phase === phase && last.share === share && last.end === this.column) {
      last.end = this.column + 1;
    } else this.runs.push({ phase, share, start: this.column, end: this.column + 1 });
  }

  paint() {
    if (this.ground && this.ground.phase) this.fill({ ...this.ground, share: 1 });
    this.runs.forEach((run) => this.fill(run));
    this.runs = [];
    this.ground = null;
  }

  fill({ phase, share, start, end }) {
    this.pen.fillStyle = color(phase);
    this.pen.fillRect(start, this.top + this.height * (1 - share), end - start, this.height * share);
  }

  /** Call this function after the last bar. */
  finish() {
    this.closeColumn();
    this.paint();
  }
}
