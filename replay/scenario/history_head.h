// The head of a kept history: what it is of, its names, the figures of its run, and for each column
// how long it is and a checksum over all of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/scenario/history_store.h"

namespace tidemark {

// To be raised when a column or the head changes its meaning, or a replay comes to other results.
constexpr std::uint32_t kHistoryFormat = 6;

// Of complete columns. O(bytes) of theirs.
std::vector<std::byte> make_head(History::Columns& columns, const HistoryKey& key, const Run& run);

// Opens the columns in `folder` that `head` describes, and reads all of them. False if that is not
// the head of `key`, if a column differs from it, or if it was cancelled; then `columns` and `run`
// are invalid. O(bytes).
bool read_history(std::span<const std::byte> head, const OwnFolder& folder, const HistoryKey& key,
                  History::Columns& columns, Run& run,
                  const std::atomic<bool>* cancelled = nullptr);

// What a head says of its history to a person.
struct HeadSummary {
    std::uint64_t trace_hash = 0;
    std::string trace;   // as it was called when the history was made: any bytes
    std::string policy;  // and its options
    std::uint64_t events = 0;
};

// Nothing if it is damaged or of another format. O(bytes).
std::optional<HeadSummary> summary_of_head(std::span<const std::byte> head);

}  // namespace tidemark
