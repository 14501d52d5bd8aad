// Curve: a series in buckets, and its extremes over any stretch of them in little time.

const kFanOut = 16;

// The last index whose value is at most `value`; -1 if there is none.
function lastIndexAtMost(values, count, value) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

class Curve {
  constructor(buckets, last, min, max) {
    this.buckets = buckets;
    this.last = last;
    this.levels = [{min, max}];
    while (this.levels[this.levels.length - 1].min.length > kFanOut) this.addLevel();
  }

  addLevel() {
    const below = this.levels[this.levels.length - 1];
    const count = Math.ceil(below.min.length / kFanOut);
    const min = new Float64Array(count).fill(Infinity);
    const max = new Float64Array(count).fill(-Infinity);
    for (let i = 0; i < below.min.length; ++i) {
      const at = Math.floor(i / kFanOut);
      min[at] = Math.min(min[at], below.min[i]);
      max[at] = Math.max(max[at], below.max[i]);
    }
    this.levels.push({min, max});
  }

  // Widens `range` by the buckets [begin, end).
  widen(range, begin, end) {
    let level = 0;
    while (begin < end) {
      const {min, max} = this.levels[level];
      const top = level + 1 === this.levels.length;
      while (begin < end && (top || begin % kFanOut)) {
        range.min = Math.min(range.min, min[begin]);
        range.max = Math.max(range.max, max[begin++]);
      }
      while (begin < end && end % kFanOut) {
        range.min = Math.min(range.min, min[--end]);
        range.max = Math.max(range.max, max[end]);
      }
      begin /= kFanOut;
      end /= kFanOut;
      ++level;
    }
  }

  // {min, max, last} of what held within [begin, end) of the axis `unit`: the value on entry, and
  // all buckets that begin within. A bucket of one event holds one value from there on.
  within(unit, begin, end) {
    const edges = this.buckets[unit];
    const count = this.buckets.count;
    const entry = lastIndexAtMost(edges, count, begin);
    const after = Math.max(lastIndexAtMost(edges, count, end - Math.abs(end) * 1e-15 - 1e-9), entry) + 1;
    if (after <= 0) return {min: 0, max: 0, last: 0};
    const range = {min: Infinity, max: -Infinity, last: this.last[after - 1]};
    if (entry >= 0) {
      const single = this.buckets.events[entry + 1] - this.buckets.events[entry] <= 1;
      if (single && edges[entry] < begin) range.min = range.max = this.last[entry];
      else this.widen(range, entry, entry + 1);
    } else {
      range.min = range.max = 0;
    }
    this.widen(range, entry + 1, after);
    return range;
  }

  // Behind it the run has ended.
  end(unit) {
    return this.buckets[unit][this.buckets.count];
  }

  // The value at a position; null behind the end.
  at(unit, position) {
    if (position > this.end(unit)) return null;
    const index = lastIndexAtMost(this.buckets[unit], this.buckets.count, position);
    return index < 0 ? 0 : this.last[index];
  }

  most() {
    return this.levels[this.levels.length - 1].max.reduce((a, b) => Math.max(a, b), 0);
  }
}
