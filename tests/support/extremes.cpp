// The extremes, each a few lines that write JSONL.
#include "tests/support/extremes.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace tidemark::support {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kTiB = std::uint64_t{1} << 40U;

// Lines of a JSONL trace behind its header.
class Lines {
  public:
    explicit Lines(std::string_view head = {})
        : text_(fmt::format("{{\"type\":\"header\",\"version\":1,\"unit\":\"ns\"{}}}\n", head)) {}

    Lines& allocate(std::int64_t time, std::uint64_t id, std::uint64_t bytes,
                    std::string_view more = {}) {
        return add(fmt::format("\"t\":{},\"op\":\"alloc\",\"id\":{},\"bytes\":{}{}", time, id,
                               bytes, more));
    }

    Lines& free(std::int64_t time, std::uint64_t id, std::string_view more = {}) {
        return add(fmt::format("\"t\":{},\"op\":\"free\",\"id\":{}{}", time, id, more));
    }

    Lines& named(std::int64_t time, std::string_view op, std::string_view name) {
        return add(fmt::format("\"t\":{},\"op\":\"{}\",\"name\":\"{}\"", time, op, name));
    }

    Lines& add(std::string_view members) {
        text_ += fmt::format("{{{}}}\n", members);
        return *this;
    }

    std::string text() && { return std::move(text_); }

  private:
    std::string text_;
};

// `count` blocks taken and given back at times and of sizes that the functions give.
template <class Size, class Begin, class End>
std::string blocks(std::uint64_t count, Size size, Begin begin, End end) {
    Lines lines;
    for (std::uint64_t i = 0; i < count; ++i)
        lines.allocate(begin(i), i, size(i));
    for (std::uint64_t i = 0; i < count; ++i)
        lines.free(end(i), i);
    return std::move(lines).text();
}

std::int64_t whole(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

// Lifetimes from a nanosecond to 146 years, sizes from a byte to a TiB.
std::string all_powers() {
    return blocks(
        62, [](std::uint64_t i) { return i < 40 ? std::uint64_t{1} << i : kTiB >> (i - 39); },
        [](std::uint64_t) { return 0; }, [](std::uint64_t i) { return whole(1) << i; });
}

std::string months_long() {
    Lines lines;
    for (std::int64_t day = 0; day < 90; ++day) {
        lines.allocate(24 * day * kHour, static_cast<std::uint64_t>(day), 5 * kMiB);
        lines.free((24 * day + 30) / 24 * 24 * kHour, static_cast<std::uint64_t>(day));
    }
    return std::move(lines).text();
}

std::string only_frees() {
    Lines lines;
    for (std::uint64_t i = 0; i < 20; ++i)
        lines.free(whole(i), i);
    return std::move(lines).text();
}

std::string only_out_of_memory() {
    Lines lines;
    for (int i = 0; i < 20; ++i)
        lines.add(fmt::format("\"t\":{},\"op\":\"oom\",\"bytes\":{}", i, kTiB));
    return std::move(lines).text();
}

std::string only_marks() {
    Lines lines;
    for (int i = 0; i < 20; ++i)
        lines.named(i, "mark", "m");
    return std::move(lines).text();
}

std::string many_streams(std::uint64_t count) {
    Lines lines;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string stream = fmt::format(",\"stream\":{}", i);
        lines.allocate(whole(2 * i), i, 512, stream);
        lines.free(whole(2 * i + 1), i, stream);
    }
    return std::move(lines).text();
}

// Everything that has a name has one of `length` times `letter`.
std::string long_names(std::string_view letter, std::size_t length) {
    std::string name;
    for (std::size_t i = 0; i < length; ++i)
        name += letter;
    Lines lines(fmt::format(",\"source\":\"{0}\",\"device\":\"{0}\",\"{0}\":\"{0}\"", name));
    lines.named(0, "begin", name);
    lines.allocate(1, 0, 30 * kMiB, fmt::format(",\"tag\":\"{0}\",\"stack\":[\"{0}\"]", name));
    lines.allocate(2, 1, 3 * kMiB, fmt::format(",\"stack\":[\"{0}:1\",\"b.py:2\"]", name));
    lines.named(3, "mark", name);
    lines.free(4, 0).named(5, "end", name);
    return std::move(lines).text();
}

std::string odd_names() {
    Lines lines(",\"source\":\"\\u001b[2J<script>\"");
    lines.named(0, "begin", "|<b>\\n\\r&amp;\\u0000");
    lines.allocate(1, 0, kMiB,
                   ",\"tag\":\"\\u0007|\\u001b[31m\",\"stack\":[\"\",\"::::\",\"a:-1:b\","
                   "\"<i>\\n:3\",\"x.py:99999999999999999999\"]");
    return std::move(lines).text();
}

std::string nested_ranges() {
    Lines lines;
    for (int i = 0; i < 5000; ++i)
        lines.named(i, "begin", fmt::format("depth {}", i));
    lines.allocate(5000, 0, 100'000 * kMiB).allocate(5001, 1, 200'000 * kMiB);
    return std::move(lines).text();
}

std::string many_steps() {
    Lines lines;
    for (int i = 0; i < 5000; ++i) {
        lines.named(2 * i, "begin", fmt::format("step {}", i));
        lines.named(2 * i + 1, "end", fmt::format("step {}", i));
    }
    return std::move(lines.allocate(10'000, 0, 5)).text();
}

std::string backwards() {
    Lines lines;
    for (std::uint64_t i = 0; i < 100; ++i) {
        lines.allocate(2000 - whole(10 * i), i, kMiB);
        lines.free(1995 - whole(10 * i), i);
    }
    return std::move(lines).text();
}

std::string each_its_own(std::string_view key, std::uint64_t count) {
    Lines lines;
    for (std::uint64_t i = 0; i < count; ++i) {
        lines.allocate(whole(2 * i), i, kMiB, fmt::format(",\"{}\":{}", key, i));
        lines.free(whole(2 * i + 1), i);
    }
    return std::move(lines).text();
}

std::string leak() {
    Lines lines;
    for (std::uint64_t i = 0; i < 2000; ++i)
        lines.allocate(whole(i), i, 3 * kMiB, ",\"stack\":[\"train.py:99\"]");
    return std::move(lines).text();
}

std::string deep_stacks() {
    std::string frames = "\"main.py:1\"";
    for (int i = 0; i < 2000; ++i)
        frames += fmt::format(",\"module_{0}.py:{0}\"", i);
    return std::move(Lines().allocate(0, 0, kMiB, fmt::format(",\"stack\":[{}]", frames))).text();
}

}  // namespace

std::vector<Extreme> extremes() {
    const auto one_after_the_other = [](std::uint64_t i) { return whole(i); };
    const auto at_once = [](std::uint64_t) { return whole(5); };
    const auto later = [](std::uint64_t i) { return whole(1000 + i); };
    const auto sized = [](std::uint64_t bytes) { return [=](std::uint64_t) { return bytes; }; };
    const auto byte_or_tib = [](std::uint64_t i) { return i == 50 ? kTiB : 1; };
    return {
        {"nothing", std::move(Lines()).text()},
        {"one event", std::move(Lines().allocate(0, 0, 1024)).text()},
        {"one byte late",
         std::move(Lines().allocate(INT64_MAX - 1, 0, 1).free(INT64_MAX, 0)).text()},
        {"all powers", all_powers()},
        {"months long", months_long()},
        {"only frees", only_frees(), true},
        {"only out of memory", only_out_of_memory()},
        {"only marks", only_marks()},
        {"all at one instant", blocks(500, sized(kMiB), at_once, at_once)},
        {"a byte and a TiB", blocks(100, byte_or_tib, one_after_the_other, later)},
        {"sums beyond 2^64",
         blocks(64, sized(std::uint64_t{1} << 59U), one_after_the_other, later)},
        {"no machine's sizes",
         blocks(8, sized(std::uint64_t{1} << 63U), one_after_the_other, later)},
        {"sizes of nothing", blocks(64, sized(0), one_after_the_other, later)},
        {"times backwards", backwards(), true},
        {"names of a megabyte", long_names("n", kMiB), false, true},
        {"names that are no ASCII", long_names("\u6f6e", 1000)},
        {"odd names", odd_names()},
        {"nested ranges", nested_ranges()},
        {"many steps", many_steps()},
        {"many pools", each_its_own("pool", 500)},
        {"many devices", each_its_own("device", 60)},
        {"many streams", many_streams(100'000), false, true},
        {"some streams", many_streams(2000)},
        {"a leak", leak()},
        {"deep stacks", deep_stacks()},
    };
}

}  // namespace tidemark::support
