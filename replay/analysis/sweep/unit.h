// A unit of a sweep is data: one trace under one setting on one machine. Its result is a line in a
// file whose name is the hash of everything that the result depends on. So it makes no difference
// who computes it, when, or how often, and results of many machines are merged by copying them into
// one folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

// To be raised when replays give other results, or a line has other keys.
constexpr std::uint32_t kSweepFormat = 2;

// A machine and a setting; `policy` is written out (PolicySpec::text()).
using SweepSetting = Scenario;

// The name of the result of `setting` on a trace of that hash: 16 digits. `setting.policy` is a
// policy_identity() here. `profile_hash` is that of the setting's profile. `version` is the
// program's: another one is another result.
std::string unit_name(std::uint64_t trace_hash, const SweepSetting& setting,
                      std::uint64_t profile_hash, std::string_view version);

// Which of `count` units, in their order, part `index` (from 0) of `parts` has: [begin, end). Parts
// differ by one unit at most, and neighbours share a trace.
struct UnitRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

UnitRange units_of_shard(std::size_t count, std::size_t index, std::size_t parts);

// "3/16" is the third of sixteen. Errors (bad_option).
struct Shard {
    std::size_t index = 0;  // from 0
    std::size_t parts = 1;
};

Result<Shard> parse_shard(std::string_view text);

// The shard that the scheduler which started this process has for it, "auto": SLURM_ARRAY_TASK_ID
// (with _MIN, _STEP and _COUNT), SGE_TASK_ID (with _FIRST, _STEPSIZE and _LAST),
// JOB_COMPLETION_INDEX (Kubernetes), OMPI_COMM_WORLD_RANK (with _SIZE), PMI_RANK (with _SIZE),
// PARALLEL_SEQ (GNU parallel). "auto/16" says how many parts there are where the scheduler doesn't
// (the last but two). `variable` gives a variable's value, "" if it isn't set. Errors (bad_option):
// no such variable, or no number of parts.
Result<Shard> scheduled_shard(std::string_view text,
                              std::string_view (*variable)(const char* name));

}  // namespace tidemark
