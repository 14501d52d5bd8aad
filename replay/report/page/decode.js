// Numbers out of the page's data: the other end of html_bytes.h.

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// The bytes that packed() was given.
async function unpack(text) {
  const packed = new Blob([bytesOf(text)]).stream();
  const stream = packed.pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads numbers as put_difference() wrote them.
class Numbers {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  difference() {
    let number = 0;
    let scale = 1;
    let byte;
    do {
      byte = this.bytes[this.at++];
      number += (byte & 127) * scale;
      scale *= 128;
    } while (byte & 128);
    return number % 2 ? -(number + 1) / 2 : number / 2;
  }

  // `count` numbers of which only the differences are there; room for one more at the end.
  sums(count) {
    const values = new Float64Array(count + 1);
    let sum = 0;
    for (let i = 0; i < count; ++i) values[i] = sum += this.difference();
    return values;
  }
}

// Where the buckets of a trace begin, by both axes, and where the last one ends.
async function readBuckets(trace) {
  if (!trace.buckets) return {count: 0, events: new Float64Array(1), time: new Float64Array(1)};
  const numbers = new Numbers(await unpack(trace.places));
  const events = numbers.sums(trace.buckets);
  const time = numbers.sums(trace.buckets);
  events[trace.buckets] = trace.events;
  time[trace.buckets] = Math.max(trace.end_time, time[trace.buckets - 1] + 1);
  return {count: trace.buckets, events, time};
}

// The curves of a run by name, in bytes.
async function readCurves(run, buckets) {
  const numbers = new Numbers(await unpack(run.curves.values));
  const curves = {};
  for (const name of run.curves.names) curves[name] = readCurve(numbers, buckets, run.curves.unit);
  return curves;
}

function readCurve(numbers, buckets, unit) {
  const count = buckets.count;
  const last = numbers.sums(count);
  const max = new Float64Array(count);
  const min = new Float64Array(count);
  for (let i = 0; i < count; ++i)
    max[i] = Math.max(last[i], i ? last[i - 1] : 0) + numbers.difference();
  for (let i = 0; i < count; ++i)
    min[i] = Math.min(last[i], i ? last[i - 1] : 0) - numbers.difference();
  for (const row of [last, max, min])
    for (let i = 0; i < count; ++i) row[i] *= unit;
  return new Curve(buckets, last, min, max);
}
