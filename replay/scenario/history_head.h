// The head of a kept history: what it is of, its names, the figures of its run, and for each column
// how long it is and a checksum of what can be read in no time: all of a short one, both ends of a
// long one.
#pragma once

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
constexpr std::uint32_t kHistoryFormat = 4;

// Of complete columns.
std::vector<std::byte> make_head(History::Columns& columns, const HistoryKey& key, const Run& run);

// Opens the columns in `folder` that `head` describes. False if that is not the head of `key`, or
// any of it is not as it says; then `columns` and `run` are worth nothing.
bool read_history(std::span<const std::byte> head, const std::string& folder, const HistoryKey& key,
                  History::Columns& columns, Run& run);

// The trace whose history this is the head of; nothing if it is damaged or of another format.
std::optional<std::uint64_t> trace_of_head(std::span<const std::byte> head);

}  // namespace tidemark
