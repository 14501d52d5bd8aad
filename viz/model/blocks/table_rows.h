// The tables whose rows go into files. docs/guide/view.md describes their columns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/timeline/history.h"
#include "traces/io/output_target.h"
#include "viz/model/blocks/ranked_bits.h"
#include "viz/model/session/job.h"
#include "viz/model/session/table_rows.h"

namespace tidemark::viz {

// Blocks, in that order.
std::unique_ptr<TableRows> block_rows_for_file(std::shared_ptr<const History> history,
                                               std::vector<BlockIndex> blocks);

// Events: those of `bits`, or the first `events`.
std::unique_ptr<TableRows> event_rows_for_file(std::shared_ptr<const History> history,
                                               std::shared_ptr<const RankedBits> bits,
                                               std::uint64_t events);

// Lines that exist already, each with its end, after their titles.
std::unique_ptr<TableRows> text_rows_for_file(std::string titles, std::vector<std::string> lines);

// Writes the rows as comma-separated values; the file appears when it is complete. `report` gets
// the share that is written, 0 to 1. Returns the rows. Errors: those of OutputFile; cancelled.
// O(rows), a few MB of memory.
Result<std::uint64_t> write_csv(TableRows& rows, const OutputTarget& target,
                                const std::function<void(double share)>& report,
                                const Cancelled& cancelled);

}  // namespace tidemark::viz
