// Figures as text, as the program writes them: three significant digits and a unit.

const kByteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function threeDigits(value) {
  if (value >= 99.95) return value.toFixed(0);
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

function bytesText(bytes) {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1023.5 && unit + 1 < kByteUnits.length) {
    value /= 1024;
    ++unit;
  }
  return (bytes < 0 ? '-' : '') + (unit ? threeDigits(value) : value.toFixed(0)) + ' ' +
      kByteUnits[unit];
}

function countText(count) {
  return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

const kTimeUnits = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]];

function timeUnit(nanoseconds) {
  return kTimeUnits.find((unit) => nanoseconds >= unit[1]) || kTimeUnits[3];
}

// The same without zeros behind the point: for axes, whose steps are round.
function roundBytesText(bytes) {
  return bytes ? bytesText(bytes).replace(/\.?0+ /, (zeros) => (zeros[0] === '.' ? ' ' : zeros))
    : '0';
}

// `step`: how far the next tick or pixel is; no more digits than tell the two apart.
function timeText(nanoseconds, step) {
  if (!nanoseconds) return '0 s';
  const [name, size] = timeUnit(Math.max(Math.abs(nanoseconds), step));
  const digits = Math.min(Math.max(Math.ceil(-Math.log10(step / size) - 1e-9), 0), 9);
  return (nanoseconds / size).toFixed(digits) + ' ' + name;
}

function positionText(unit, position, step) {
  return unit === 'time' ? timeText(position, step) : 'event ' + countText(Math.floor(position));
}

// A step of 1, 2 or 5 times a power of ten, so that about `most` of them fit.
function niceStep(length, most) {
  const rough = length / Math.max(most, 1);
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999999);
}

// The same in the unit of bytes that the result is shown in.
function niceByteStep(length, most) {
  const rough = Math.max(length / Math.max(most, 1), 1);
  const unit = Math.pow(1024, Math.min(Math.floor(Math.log2(rough) / 10), 5));
  const step = niceStep(rough / unit, 1);
  return (step > 500 ? 1024 : step) * unit;
}
