// DEFLATE (RFC 1951) for browsers that have no DecompressionStream.

const kLengthBase = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67,
  83, 99, 115, 131, 163, 195, 227, 258];
const kLengthBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5,
  5, 5, 0];
const kDistanceBase = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513,
  769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const kDistanceBits = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11,
  11, 12, 12, 13, 13];
const kCodeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const kLongestCode = 15;

// A canonical code: how many codes have each length, and the symbols in order of their codes.
function makeCode(lengths) {
  const counts = new Uint16Array(kLongestCode + 1);
  for (const length of lengths) ++counts[length];
  counts[0] = 0;
  const starts = new Uint16Array(kLongestCode + 2);
  for (let i = 1; i <= kLongestCode; ++i) starts[i + 1] = starts[i] + counts[i];
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length) symbols[starts[length]++] = symbol;
  });
  return {counts, symbols};
}

class BitReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.held = 0;
    this.count = 0;
  }

  bits(count) {
    while (this.count < count) {
      this.held |= this.bytes[this.at++] << this.count;
      this.count += 8;
    }
    const value = this.held & ((1 << count) - 1);
    this.held >>>= count;
    this.count -= count;
    return value;
  }

  symbol(code) {
    let value = 0;
    let offset = 0;
    let first = 0;
    for (let length = 1; length <= kLongestCode; ++length) {
      value |= this.bits(1);
      const count = code.counts[length];
      if (value - count < first) return code.symbols[offset + (value - first)];
      offset += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    throw new Error('damaged data');
  }
}

function fixedCodes() {
  const lengths = [];
  for (let i = 0; i < 288; ++i) lengths.push(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
  return [makeCode(lengths), makeCode(new Array(30).fill(5))];
}

function readCodes(reader) {
  const literals = reader.bits(5) + 257;
  const distances = reader.bits(5) + 1;
  const count = reader.bits(4) + 4;
  const small = new Array(19).fill(0);
  for (let i = 0; i < count; ++i) small[kCodeOrder[i]] = reader.bits(3);
  const code = makeCode(small);
  const lengths = [];
  while (lengths.length < literals + distances) {
    const symbol = reader.symbol(code);
    if (symbol < 16) {
      lengths.push(symbol);
      continue;
    }
    const repeated = symbol === 16 ? lengths[lengths.length - 1] : 0;
    let times = symbol === 16 ? 3 + reader.bits(2) : symbol === 17 ? 3 + reader.bits(3)
      : 11 + reader.bits(7);
    while (times--) lengths.push(repeated);
  }
  return [makeCode(lengths.slice(0, literals)), makeCode(lengths.slice(literals))];
}

class GrowingBytes {
  constructor() {
    this.bytes = new Uint8Array(1 << 16);
    this.length = 0;
  }

  push(byte) {
    if (this.length === this.bytes.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length++] = byte;
  }
}

function inflateStored(reader, out) {
  reader.held = reader.count = 0;
  const length = reader.bytes[reader.at] | reader.bytes[reader.at + 1] << 8;
  reader.at += 4;
  for (let i = 0; i < length; ++i) out.push(reader.bytes[reader.at++]);
}

function inflateCoded(reader, out, codes) {
  for (;;) {
    const symbol = reader.symbol(codes[0]);
    if (symbol === 256) return;
    if (symbol < 256) {
      out.push(symbol);
      continue;
    }
    let length = kLengthBase[symbol - 257] + reader.bits(kLengthBits[symbol - 257]);
    const near = reader.symbol(codes[1]);
    const distance = kDistanceBase[near] + reader.bits(kDistanceBits[near]);
    while (length--) out.push(out.bytes[out.length - distance]);
  }
}

function inflate(bytes) {
  const reader = new BitReader(bytes);
  const out = new GrowingBytes();
  let final;
  do {
    final = reader.bits(1);
    const kind = reader.bits(2);
    if (kind === 0) inflateStored(reader, out);
    else inflateCoded(reader, out, kind === 1 ? fixedCodes() : readCodes(reader));
  } while (!final);
  return out.bytes.slice(0, out.length);
}
