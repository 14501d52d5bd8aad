// Readers under any bytes: whatever they accept keeps the promises of the model, what they refuse
// is refused with a position and a reason, and strict, ordinary and lenient reading agree where
// they must.
#include <array>
#include <utility>

#include "core/base/check.h"
#include "tests/fuzz/targets.h"
#include "tests/support/checking_sink.h"
#include "traces/readers/format.h"
#include "traces/readers/jsonl_line.h"

namespace tidemark {

namespace formats {
FormatInfo torch_snapshot();
FormatInfo rmm_csv();
FormatInfo jsonl();
FormatInfo nsight_sqlite();
FormatInfo torch_profiler();
FormatInfo pprof();
FormatInfo cupy_hook();
FormatInfo umpire_replay();
}  // namespace formats

namespace fuzz {
namespace {

// A few bytes may stand for many events (a pickle may name a list again and again): a reader must
// stop when its sink has had enough.
constexpr std::size_t kMostEvents = 300'000;

class BoundedSink final : public TraceSink {
  public:
    Result<void> append(std::span<const TraceEvent> events) override {
        TM_CHECK(!full_);
        full_ = events.size() > kMostEvents - sink_.events().size();
        if (full_)
            return fail(ErrorCode::io, "enough");
        return sink_.append(events);
    }

    Result<void> finish(const TraceInfo& info) override { return sink_.finish(info); }

    const support::CheckingSink& sink() const { return sink_; }

    bool full() const { return full_; }

  private:
    support::CheckingSink sink_;
    bool full_ = false;
};

struct Reading {
    bool accepted = false;
    bool full = false;
    std::vector<TraceEvent> events;
};

Reading read_once(const FormatInfo& format, std::span<const std::byte> bytes,
                  const ReadOptions& options) {
    const auto source = open_memory(bytes, "input");
    BoundedSink sink;
    // What comes out of compressed bytes can be long; the decoders have a target of their own.
    if (!source || (*source)->compressed())
        return {};
    const Result<TraceInfo> info = format.read(**source, sink, options);
    if (info) {
        TM_CHECK(sink.finish(*info));
    } else {
        TM_CHECK(!info.error().what.empty());
        TM_CHECK(sink.full() || !info.error().where.empty());
        TM_CHECK(sink.full() == (info.error().code == ErrorCode::io));
    }
    if (!sink.sink().problem().empty())
        check_failed(sink.sink().problem().c_str(), __FILE__, __LINE__);
    return {info.has_value(), sink.full(), sink.sink().events()};
}

void read_all_ways(const FormatInfo& format, std::span<const std::byte> bytes) {
    static_cast<void>(format.recognises(bytes.first(std::min<std::size_t>(bytes.size(), 4096))));
    ReadOptions options;
    const Reading ordinary = read_once(format, bytes, options);
    const Reading again = read_once(format, bytes, options);
    TM_CHECK(again.accepted == ordinary.accepted && again.events == ordinary.events);
    options.lenient = true;
    const Reading lenient = read_once(format, bytes, options);
    TM_CHECK(!ordinary.accepted || (lenient.accepted && lenient.events == ordinary.events));
    options.lenient = false;
    options.strict = true;
    const Reading strict = read_once(format, bytes, options);
    TM_CHECK(!strict.accepted || (ordinary.accepted && strict.events == ordinary.events));
}

// The fast way and the careful one read the same from a line.
void compare_ways(std::string_view line) {
    JsonlLine fast;
    JsonlLine careful;
    const bool accepted = fast.parse(line);
    TM_CHECK(accepted == careful.parse(line, true));
    for (std::size_t i = 0; accepted && i < kJsonlKeys; ++i) {
        const JsonlValue& a = fast[static_cast<JsonlKey>(i)];
        const JsonlValue& b = careful[static_cast<JsonlKey>(i)];
        TM_CHECK(a.type == b.type && a.number == b.number && a.text == b.text);
        TM_CHECK(a.type != JsonlValue::Type::list || fast.stack() == careful.stack());
    }
}

}  // namespace

void torch_snapshot(std::span<const std::byte> bytes) {
    read_all_ways(formats::torch_snapshot(), bytes);
}

void rmm_csv(std::span<const std::byte> bytes) {
    read_all_ways(formats::rmm_csv(), bytes);
}

void jsonl(std::span<const std::byte> bytes) {
    read_all_ways(formats::jsonl(), bytes);
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        compare_ways(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void nsight_sqlite(std::span<const std::byte> bytes) {
    read_all_ways(formats::nsight_sqlite(), bytes);
}

void torch_profiler(std::span<const std::byte> bytes) {
    read_all_ways(formats::torch_profiler(), bytes);
}

void pprof(std::span<const std::byte> bytes) {
    read_all_ways(formats::pprof(), bytes);
}

void allocation_lines(std::span<const std::byte> bytes) {
    read_all_ways(formats::cupy_hook(), bytes);
    read_all_ways(formats::umpire_replay(), bytes);
}

// Compressed bytes end in bytes or in an error that has a position, and never go on for ever.
void decoder(std::span<const std::byte> bytes) {
    constexpr std::uint64_t kEnough = std::uint64_t{16} << 20U;
    const auto source = open_memory(bytes, "input");
    if (!source) {
        TM_CHECK(!source.error().what.empty());
        return;
    }
    while ((*source)->offset() < kEnough) {
        const Result<void> more = (*source)->need(1);
        if (!more) {
            TM_CHECK(!more.error().what.empty() && !more.error().where.empty());
            return;
        }
        if ((*source)->window().empty())
            return;
        (*source)->consume((*source)->window().size());
    }
}

}  // namespace fuzz
}  // namespace tidemark
