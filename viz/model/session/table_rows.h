// TableRows: the rows of a table for a file, independent of the view that shows them: all of them,
// sizes in bytes, times in nanoseconds.
//
// For one thread at a time, whichever.
#pragma once

#include <cstdint>
#include <string_view>

#include "replay/report/forms/csv_line.h"

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

}  // namespace tidemark::viz
