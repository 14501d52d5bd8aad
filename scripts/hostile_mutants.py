"""Broken inputs for scripts/hostile: changes as by a disk, a network, an editor or an attacker.

Pure functions of a random.Random, so that a run's seed and number always give the same bytes.
"""
import re

EXTREMES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
            2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = ["0", "-1", "1e9", "1e308", "nan", "0.5", "-0", "4294967296", "9223372036854775807",
           "9223372036854775808", "18446744073709551615", "18446744073709551616", "\"7\"", "null"]
# Text that controls a terminal, a spreadsheet, a page or a shell if somebody forgets to escape it.
EVIL = ["\x1b[31mred\x1b]0;title\x07", "two\nlines", "nul\0", "=HYPERLINK(\"http://x\")", "+1",
        "-2+3", "@SUM(1)", "\t=1", "<script>alert(1)</script>", "</script>", "\u202egnp.exe",
        "\u2028", "\x9b31m", "a,b;\"c\"", "`id`", "é漢🙂", "x" * 5000]
PAGE = 4096


def _span(random, data, most):
    at = random.randrange(len(data))
    return at, min(len(data), at + random.randint(1, most))


def flip(random, data):
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1:]


def put_extreme(random, data):
    size = random.choice([1, 2, 4, 8])
    value = random.choice(EXTREMES) % 256 ** size
    at = random.randrange(len(data)) // random.choice([1, size]) * 1
    return (data[:at] + value.to_bytes(size, random.choice(["little", "big"])) +
            data[at + size:])[:max(len(data), 1)]


def drop(random, data):
    begin, end = _span(random, data, 64)
    return data[:begin] + data[end:]


def repeat(random, data):
    begin, end = _span(random, data, 256)
    return data[:end] + data[begin:end] * random.choice([1, 2, 50]) + data[end:]


def swap(random, data):
    begin, end = _span(random, data, 256)
    other = random.randrange(len(data))
    part = data[other:other + end - begin]
    return data[:begin] + part + data[end:]


def cut(random, data):
    return data[:random.randrange(len(data))]


def zero_page(random, data):
    at = random.randrange(len(data)) // PAGE * PAGE
    end = min(at + PAGE, len(data))
    return data[:at] + bytes(end - at) + data[end:]


def append(random, data):
    return data + random.choice([b"\0" * PAGE, data, random.randbytes(100), b"\n", b"\xff" * 9])


def put_number(random, data):
    found = list(re.finditer(rb"-?\d+", data[:200_000]))
    if not found:
        return flip(random, data)
    match = random.choice(found)
    return data[:match.start()] + random.choice(NUMBERS).encode() + data[match.end():]


def put_text(random, data):
    found = list(re.finditer(rb'"[^"\n]{1,40}"', data[:200_000]))
    evil = random.choice(EVIL)
    if not found:
        at = random.randrange(len(data))
        return data[:at] + evil.encode() + data[at:]
    match = random.choice(found)
    text = evil.replace("\\", "\\\\").replace('"', '\\"')
    text = "".join(c if c >= " " else f"\\u{ord(c):04x}" for c in text)
    return data[:match.start() + 1] + text.encode() + data[match.end() - 1:]


def swap_lines(random, data):
    lines = data.split(b"\n")
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


CHANGES = [flip, flip, put_extreme, put_extreme, drop, repeat, swap, cut, zero_page, append,
           put_number, put_number, put_text, swap_lines]


def mutant(random, data):
    """`data` after one to three changes, which depend only on the seed."""
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if not data:
            return data
        data = random.choice(CHANGES)(random, data)
    return data
