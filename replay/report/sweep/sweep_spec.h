// A sweep as a file, so that it can be stored next to its results and run again: a JSON object
// whose members are the options of `tidemark sweep`, lists of strings as on the command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tidemark {

struct SweepSpec {
    std::vector<std::string> traces = {};
    std::string output = {};  // the folder
    std::vector<std::string> policies = {};
    std::vector<std::string> grids = {};
    std::vector<std::string> memories = {};
    std::vector<std::string> limits = {};
    std::vector<std::string> profiles = {};
    std::vector<std::string> machines = {};  // with tiers: names or files
    std::vector<std::string> gpu_memories = {};
    std::vector<std::string> spills = {};
    double scale = 1;
    std::optional<unsigned> random = {};
    unsigned seed = 1;
    bool halving = false;
};

// Of any text. Errors (bad_input) say where, "sweep.json: /grid/1": not JSON; a member of the wrong
// type; an unknown one, with the nearest known name. O(length).
Result<SweepSpec> read_sweep_spec(std::string_view text, const std::string& name);

}  // namespace tidemark
