// ChromeLaunches: kernels, copies and fills of a trace as slices, a thread for each stream. A
// launch lasts until its stream's next event, as in a replay over tiers. If the trace says when the
// device ran them, each stream gets a second thread for that. Used only by chrome_blocks.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "replay/report/export/chrome_entries.h"

namespace tidemark::report {

class ChromeLaunches {
  public:
    ChromeLaunches(const TraceInfo& info, ChromeEntries& entries)
        : info_(info),
          entries_(entries),
          open_(info.streams.size()),
          devices_(open_.size()),
          execution_devices_(open_.size()) {}

    // Each event that has a stream, in order. O(1).
    void add(const TraceEvent& event);

    // Each event that says when a launch ran. O(1).
    void add_execution(const TraceEvent& event);

    // Ends launches that are still open.
    void end(Nanoseconds time);

  private:
    struct Launch {
        bool open = false;
        bool unknown = false;
        std::size_t device = 0;
        std::uint32_t number = 0;
        std::uint32_t tag = 0;
        std::uint32_t blocks = 0;
        std::uint32_t possible = 0;
        Nanoseconds begin = 0;
    };

    void begin_launch(const TraceEvent& event);
    void end_launch(std::size_t stream, Nanoseconds time);
    void name_thread(std::size_t device, std::size_t thread, std::string_view what,
                     std::size_t stream);

    const TraceInfo& info_;
    ChromeEntries& entries_;
    std::vector<Launch> open_;  // by stream
    // The device of each stream's thread, once named: one, even if the stream uses memory of
    // several.
    std::vector<std::optional<std::size_t>> devices_;
    std::vector<std::optional<std::size_t>> execution_devices_;
};

}  // namespace tidemark::report
