// CSV: the tables of what `--json` prints, as rows: every command has the same values under the
// same names. One row of titles, lines that end in LF. CsvLine (replay/report/forms/csv_line.h)
// quotes cells and makes texts safe for spreadsheets and terminals. Pure.
//
// Each list of objects in the JSON is a table, named by the keys that lead to it ("runs",
// "holders.stacks"); the last key is enough if no other table ends in it. A row starts with what
// identifies the objects around it (their first plain value). Objects within a row become columns
// "outer.inner"; objects that hold only texts (options, settings) are one cell "name=value;...",
// null is an empty cell. Lists within a row are left out: they are separate tables, or sentences.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

// The table of `json`; "" = the first of `main_tables` ("runs,totals") that exists, or else the
// whole object as one row. A table without rows is an empty text. O(size). Errors: bad_option for a
// table that doesn't exist, with those that do; bad_input if `json` isn't a JSON object.
Result<std::string> csv_of_json(std::string_view json, std::string_view table,
                                std::string_view main_tables = {});

}  // namespace tidemark
