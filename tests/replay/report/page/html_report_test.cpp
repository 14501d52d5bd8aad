// The report page: what it promises to readers (hostile texts stay texts, nothing is fetched, the
// same input gives the same bytes, it stays small) and that its curves are those of the history.
#include "replay/report/page/html_report.h"

#include <algorithm>
#include <regex>

#include <catch2/catch.hpp>
#include <zlib.h>

#include "replay/report/page/html_bytes.h"
#include "replay/report/page/html_curves.h"
#include "replay/report/page/html_markup.h"
#include "replay/report/page/report_facts.h"
#include "tests/support/property.h"
#include "tests/support/small_history.h"
#include "tests/support/text.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using namespace support;

constexpr const char* kHostile =
    "</script><script>alert(1)</script><!--\" onload='x' & \x01\x1b[31m \xff\xfe {{title}} ";

// A few blocks whose tag, stack and range are hostile.
VectorTrace hostile_trace() {
    TraceInfo info;
    const std::uint32_t name = info.strings.intern(kHostile);
    const std::uint32_t stack = info.stacks.intern(std::vector<Frame>{{name, name, 7}});
    info.devices = {{kHostile, 0}};
    info.format = kHostile;
    info.warnings = {kHostile};
    TraceBuilder builder;
    builder.add({.aux = name, .kind = EventKind::range_begin});
    for (std::uint32_t slot = 0; slot < 5; ++slot)
        builder.add({.size = 3_MiB * (slot + 1), .slot = slot, .stack = stack, .tag = name});
    for (std::uint32_t slot = 0; slot < 5; ++slot)
        builder.free(slot);
    return builder.build(std::move(info));
}

ReportInput report_of(const Trace& trace, const std::vector<std::string>& policies,
                      const std::string& name) {
    ReportInput input;
    input.title = name;
    input.provenance = {.version = "1", .command = "tidemark report " + name};
    input.traces.push_back({name, &trace, std::nullopt});
    for (const std::string& policy : policies) {
        Scenario scenario;
        scenario.trace = name;
        scenario.policy = policy;
        RecordHistoryOptions options;
        options.keep = false;
        Result<RecordedRun> run = record_history(trace, scenario, options);
        REQUIRE(run);
        input.runs.push_back({0, policy + name, std::move(*run)});
    }
    return input;
}

// What page/decode.js does.
std::string unpacked(const std::string& text) {
    std::string bytes;
    std::uint32_t held = 0;
    int bits = 0;
    for (const char letter : text) {
        static const std::string kLetters =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const std::size_t value = kLetters.find(letter);
        if (value == std::string::npos)
            break;
        held = held << 6 | static_cast<std::uint32_t>(value);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes += static_cast<char>(held >> bits & 0xff);
        }
    }
    std::string out(bytes.size() * 1100 + 64, '\0');
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, -15) == Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    inflateEnd(&stream);
    return out;
}

class Numbers {
  public:
    explicit Numbers(std::string bytes) : bytes_(std::move(bytes)) {}

    std::int64_t difference() {
        std::uint64_t number = 0;
        for (int shift = 0;; shift += 7) {
            const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
            number |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80)
                break;
        }
        const auto half = static_cast<std::int64_t>(number >> 1);
        return (number & 1) != 0 ? ~half : half;
    }

    bool empty() const { return at_ == bytes_.size(); }

  private:
    std::string bytes_;
    std::size_t at_ = 0;
};

}  // namespace

TEST_CASE("texts of a trace cannot become markup of a report", "[report]") {
    const VectorTrace trace = hostile_trace();
    ReportInput input = report_of(trace, {"torch", "buddy"}, kHostile);
    const std::string page = html_report(input);
    CHECK(count(page, "<script") == 2);
    CHECK(count(page, "</script>") == 2);
    CHECK(count(page, "<!--") == 0);
    CHECK(page.find("alert(1)") != std::string::npos);  // it is there, as text
    CHECK(page.find("&lt;script&gt;alert(1)") != std::string::npos);
    CHECK(page.substr(0, page.find("id=\"data\">")).find("onload='") == std::string::npos);
    CHECK(std::ranges::none_of(page, [](char letter) {
        return (letter >= 0 && letter < 32 && letter != '\n') || letter == '\x7f';
    }));
    CHECK(page.find('\xff') == std::string::npos);
    const std::size_t data = page.find("id=\"data\">");
    REQUIRE(data != std::string::npos);
    CHECK(page.substr(page.find('<', data + 1), 9) == "</script>");
    CHECK(text_report(input).find('\x1b') == std::string::npos);
}

TEST_CASE("a report fetches nothing and says so to the browser", "[report]") {
    const VectorTrace trace = hostile_trace();
    const std::string page = html_report(report_of(trace, {"torch"}, "run"));
    CHECK(page.find("http:") == std::string::npos);
    CHECK(page.find("https:") == std::string::npos);
    CHECK_FALSE(std::regex_search(page, std::regex("(src|href)\\s*=|@import|url\\(")));
    CHECK(page.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("the same input gives the same report", "[report]") {
    const VectorTrace trace = hostile_trace();
    const ReportInput once = report_of(trace, {"torch", "best-fit"}, "run");
    const ReportInput again = report_of(trace, {"torch", "best-fit"}, "run");
    CHECK(html_report(once) == html_report(again));
    CHECK(text_report(once) == text_report(again));
}

TEST_CASE("a report that did not ask advise doesn't say that nothing needs a hand", "[report]") {
    const VectorTrace trace = hostile_trace();
    ReportInput input = report_of(trace, {"torch"}, "run");
    for (const std::string& text : {html_report(input), text_report(input)}) {
        CHECK(count(text, "Nothing that needs a hand") == 0);
        CHECK(count(text, "What needs less memory was not searched for") == 1);
    }
    input.traces[0].advice = advise(trace, {.threads = 1}).value();
    for (const std::string& text : {html_report(input), text_report(input)})
        CHECK(count(text, "was not searched for") == 0);
}

TEST_CASE("on paper the swatches of legends keep their colours", "[report]") {
    const VectorTrace trace = hostile_trace();
    const std::string page = html_report(report_of(trace, {"torch"}, "run"));
    const std::size_t paper = page.find("@media print");
    REQUIRE(paper != std::string::npos);
    CHECK(page.find(".legend i, svg { -webkit-print-color-adjust: exact", paper) !=
          std::string::npos);
}

TEST_CASE("a report of many events and many runs stays small", "[report]") {
    const auto trace = open_trace("generate:mix:events=150000,live=500,scale=64", {});
    REQUIRE(trace);
    const ReportInput input =
        report_of(**trace, {"torch", "buddy", "best-fit", "torch", "buddy", "best-fit"}, "mix");
    CHECK(html_report(input).size() < kLargestReport);
}

TEST_CASE("what waits for the device is not listed among what is allocated", "[report]") {
    TraceInfo info;
    const std::uint32_t waits = info.strings.intern("waits");
    const std::uint32_t lives = info.strings.intern("lives");
    TraceBuilder builder;
    builder.add({.size = 4_MiB, .slot = 0, .tag = waits});
    builder.end(EventKind::retire, 0);
    builder.add({.size = 6_MiB, .slot = 1, .tag = lives});
    builder.end(EventKind::finish, 0);
    builder.free(1);
    const VectorTrace trace = builder.build(std::move(info));
    const ReportInput input = report_of(trace, {"best-fit"}, "wait.tmk");
    const report::PeakContent content = report::peak_content(input.runs[0], 10);
    CHECK(content.live == 1);
    REQUIRE(content.tags.size() == 1);
    CHECK(content.tags[0].name == "lives");
    CHECK(content.tags[0].bytes == content.values[Series::allocated]);
}

TEST_CASE("a run without events has a report", "[report]") {
    const VectorTrace trace({});
    const ReportInput input = report_of(trace, {"torch"}, "nothing");
    CHECK(html_report(input).find("took no memory") != std::string::npos);
    CHECK(text_report(input).find("took no memory") != std::string::npos);
}

TEST_CASE("numbers of a page survive packing", "[report]") {
    CHECK(counterexample(effort(40), [](const std::vector<std::int64_t>& numbers) {
              std::string bytes;
              for (const std::int64_t number : numbers)
                  report::put_difference(bytes, number / 2);
              Numbers back(unpacked(report::packed(bytes)));
              for (const std::int64_t number : numbers)
                  RC_ASSERT(back.difference() == number / 2);
              RC_ASSERT(back.empty());
          }) == "");
    CHECK(report::base64("") == "");
    CHECK(report::base64("f") == "Zg==");
    CHECK(report::base64("fo") == "Zm8=");
    CHECK(report::base64("foobar") == "Zm9vYmFy");
}

TEST_CASE("buckets of a curve hold what the history says", "[report]") {
    CHECK(counterexample(effort(40), [](std::uint64_t seed) {
              const auto history = random_history(seed, 300);
              const auto events = static_cast<EventIndex>(history->counts().events);
              const std::size_t most = seed % 2 == 0 ? 40 : 1000;
              const std::vector<EventIndex> begins = report::bucket_begins(*history, most);
              RC_ASSERT(begins.size() <= most);
              RC_ASSERT(std::ranges::is_sorted(begins));
              RC_ASSERT(std::ranges::adjacent_find(begins) == begins.end());
              const report::Json curves = report::curves_json(*history, begins);
              RC_ASSERT(curves["unit"] == 1);
              Numbers numbers(unpacked(curves["values"].get<std::string>()));
              for (std::size_t s = 0; s < kSeriesCount; ++s) {
                  const auto series = static_cast<Series>(s);
                  std::vector<std::int64_t> last;
                  for (std::size_t i = 0; i < begins.size(); ++i)
                      last.push_back((i > 0 ? last.back() : 0) + numbers.difference());
                  for (const bool above : {true, false}) {
                      std::int64_t before = 0;
                      for (std::size_t i = 0; i < begins.size(); ++i) {
                          const EventIndex end = i + 1 < begins.size() ? begins[i + 1] : events;
                          std::int64_t wanted = before;
                          for (EventIndex event = begins[i]; event < end; ++event) {
                              const auto value =
                                  static_cast<std::int64_t>(history->values(event)[series]);
                              wanted = above ? std::max(wanted, value) : std::min(wanted, value);
                          }
                          const auto held =
                              static_cast<std::int64_t>(history->values(end - 1)[series]);
                          RC_ASSERT(last[i] == held);
                          const std::int64_t shown =
                              above ? std::max(last[i], before) + numbers.difference()
                                    : std::min(last[i], before) - numbers.difference();
                          RC_ASSERT(shown == wanted);
                          before = held;
                      }
                  }
              }
              RC_ASSERT(numbers.empty());
          }) == "");
}

TEST_CASE("a long pause begins with a bucket of one event", "[report]") {
    SmallHistory small;
    for (std::uint64_t i = 0; i < 400; ++i)
        small.at(static_cast<Nanoseconds>(i)).allocate(i, 512);
    small.at(100000).allocate(1000, 512);
    const auto history = small.build();
    const std::vector<EventIndex> begins = report::bucket_begins(*history, 40);
    const auto last = static_cast<EventIndex>(history->counts().events - 1);
    CHECK(std::ranges::find(begins, last) != begins.end());
    CHECK(std::ranges::find(begins, last - 1) != begins.end());
}

TEST_CASE("a page is filled in once, not again with what was put in", "[report]") {
    CHECK(report::filled_in("a {{x}} b {{y}}", {{"x", "{{y}}"}, {"y", "2"}}) == "a {{y}} b 2");
}

}  // namespace tidemark
