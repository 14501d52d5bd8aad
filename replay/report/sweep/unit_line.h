// A unit's result as one line of JSON, the same bytes on every computer; and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "replay/analysis/sweep/sweep.h"
#include "replay/analysis/tiers/sweep_tiers.h"

namespace tidemark {

// What a line is about, apart from its setting.
struct UnitIdentity {
    std::string name;  // unit_name()
    std::string version;
    std::uint64_t trace_hash = 0;  // as recorded
};

// Ends in a checksum of the rest and a new line: against edits and damage, not against forgery.
// Without paths, file names and wall time. `result`: a run, or why there is none.
std::string unit_line(const UnitIdentity& unit, const SweepSetting& setting,
                      const Result<Run>& result);
std::string unit_line(const UnitIdentity& unit, const TierSetting& setting,
                      const Result<TierRun>& result);

// What a sweep needs from a finished unit.
struct UnitResult {
    std::string line;          // as it was read, with its new line
    std::string policy;        // its settings
    UnitFigures figures;       // without `setting`
    bool has_checksum = true;  // false: a line of an older version, or the checksum was taken out
    bool over_tiers = false;
    Bytes peak_reserved = 0;  // over tiers: moved
    std::string error;        // why the policy could not be created; "" if it could
};

// Errors (bad_input, where = `name`): not one line, not that of unit `name`, or a wrong checksum:
// a file that another program made, or that was edited or damaged. O(size).
Result<UnitResult> read_unit_line(std::string_view text, const std::string& name);

}  // namespace tidemark
