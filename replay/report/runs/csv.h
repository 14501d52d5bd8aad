// CSV: the tables of what `--json` prints, as rows: the same values under the same names, whatever
// the command. One row of titles, lines that end in LF; quoted, and texts guarded against
// spreadsheets and terminals, by CsvLine (replay/report/forms/csv_line.h). Pure.
//
// Each list of objects in the JSON is a table, called by the keys that lead to it ("runs",
// "holders.stacks"); a last key that no other table ends in is enough. A row begins with what its
// lists stand in are known by (their first plain value). Objects within a row become columns
// "outer.inner"; objects of texts alone (options, settings) are one cell "name=value;...", null is
// an empty one. Lists within a row are left out: they are tables of their own, or sentences.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

// The table of `json`; "" = the first of `main_tables` ("runs,totals") that is there, or else the
// whole object as one row. A table without rows is an empty text. O(size). Errors: bad_option for a
// table that isn't there, with those that are; bad_input if `json` is no JSON object.
Result<std::string> csv_of_json(std::string_view json, std::string_view table,
                                std::string_view main_tables = {});

}  // namespace tidemark
