// ChromeEntries: writes the entries of a Chrome trace to a file; the two classes that produce them.
// Used only by chrome_trace.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/compile.h>

#include "replay/report/forms/model.h"
#include "replay/scenario/scenario.h"
#include "traces/model/trace.h"
#include "traces/writers/text_output.h"

namespace tidemark::report {

// The threads of a device's process.
constexpr unsigned kRangeThread = 1;         // nested ranges
constexpr unsigned kOverlapThread = 2;       // those that overlap otherwise
constexpr unsigned kFirstStreamThread = 16;  // and so on: launches of the streams

// `text` in quotes, as JSON. O(length).
std::string json_text(std::string_view text);

// Microseconds of a Chrome trace: a JSON number with three decimals, for fmt.
struct Microseconds {
    explicit Microseconds(Nanoseconds time)
        : sign(time < 0 ? "-" : ""),
          total(time < 0 ? 0 - static_cast<std::uint64_t>(time)
                         : static_cast<std::uint64_t>(time)) {}

    std::string_view sign;
    std::uint64_t total;  // nanoseconds
};

// Streams entries. An error of the file ends in the next spill() or end().
class ChromeEntries {
  public:
    explicit ChromeEntries(OutputFile& file) : out_(file) {}

    // The frame and the processes' names.
    void begin(const Provenance& provenance, const Trace& trace);

    // One entry: {"ph":"<phase>","pid":<device + 1>,"ts":...<rest>}. `rest` begins with a comma.
    void add(char phase, std::size_t device, Nanoseconds time, std::string_view rest) {
        const Microseconds begin(time);
        out_.print(FMT_COMPILE("{}\n{{\"ph\":\"{}\",\"pid\":{},\"ts\":{}{}.{:03}{}}}"),
                   count_ == 0 ? "" : ",", phase, device + 1, begin.sign, begin.total / 1000,
                   begin.total % 1000, rest);
        ++count_;
    }

    // A slice of a thread, [begin, end). One that ends before it begins in the recording gets
    // length 0, and is counted.
    void add_slice(std::size_t device, Nanoseconds begin, Nanoseconds end, std::string_view rest);

    // An instant of a whole process.
    void add_instant(std::size_t device, Nanoseconds time, std::string_view name,
                     std::string_view arguments);

    Result<void> spill() { return out_.spill(); }

    Result<void> end();

    std::uint64_t count() const { return count_; }

    std::uint64_t backwards() const { return backwards_; }

  private:
    writers::TextOutput out_;
    std::uint64_t count_ = 0;
    std::uint64_t backwards_ = 0;
};

// A replay's counters, and where it ran out of memory or retried.
Result<void> write_counters(const Trace& trace, const Scenario& scenario, ChromeEntries& entries,
                            const std::function<void(std::uint64_t events_done)>& progress);

// What the program did: blocks, ranges, marks.
Result<void> write_blocks(const Trace& trace, ChromeEntries& entries);

}  // namespace tidemark::report
