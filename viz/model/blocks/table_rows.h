// TableRows: the rows of a table for a file, apart from the view that shows them: all of them,
// sizes in bytes, times in nanoseconds. docs/guide/view.md says what stands in which column.
//
// For one thread at a time, whichever.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/report/forms/csv_line.h"
#include "replay/timeline/history.h"
#include "traces/io/output_target.h"
#include "viz/model/blocks/ranked_bits.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

class TableRows {
  public:
    TableRows() = default;
    TableRows(const TableRows&) = delete;
    TableRows& operator=(const TableRows&) = delete;
    virtual ~TableRows() = default;

    // Comma-separated titles.
    virtual std::string_view titles() const = 0;
    virtual std::uint64_t rows() const = 0;

    // Appends the cells of a row < rows().
    virtual void put(std::uint64_t row, CsvLine& line) = 0;
};

// Blocks, in that order.
std::unique_ptr<TableRows> block_rows_for_file(std::shared_ptr<const History> history,
                                               std::vector<BlockIndex> blocks);

// Events: those of `bits`, or the first `events`.
std::unique_ptr<TableRows> event_rows_for_file(std::shared_ptr<const History> history,
                                               std::shared_ptr<const RankedBits> bits,
                                               std::uint64_t events);

// Lines that are there already, each with its end, behind their titles.
std::unique_ptr<TableRows> text_rows_for_file(std::string titles, std::vector<std::string> lines);

// Writes the rows as comma-separated values; the file appears when it is whole. `report` gets how
// much is written, 0 to 1. Gives the rows. Errors: those of OutputFile; cancelled. O(rows), a few
// MB of memory.
Result<std::uint64_t> write_csv(TableRows& rows, const OutputTarget& target,
                                const std::function<void(double share)>& report,
                                const Cancelled& cancelled);

}  // namespace tidemark::viz
