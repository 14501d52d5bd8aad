// Machines as JSON: those that the program contains (shipped/*.json) and a user's own files.
//
// A file has the members of MachineSpec under their own names; sizes are bytes or text ("80GiB"),
// bandwidths bytes per second or text ("55.4GB/s"), thresholds fractions of the capacity (0.85,
// "85%") or bytes (a whole number above 1, or "6GiB"); docs/json.md has the table. Unknown members
// are errors with the nearest known name. The `where` of errors (bad_input) is the name of the text
// and the JSON pointer, "my-node.json: /spaces/1/capacity". Values; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"

namespace tidemark {

// A machine and, for people, where its figures come from: (what, how), in the file's order.
struct DescribedMachine {
    MachineSpec machine;
    std::vector<std::pair<std::string, std::string>> derived = {};
};

// The machine of that shipped name, or of the JSON file at that path. Errors: not_found with the
// nearest name; io; bad_input as above.
Result<MachineSpec> open_machine(std::string_view name_or_path);

// The same with what is said about its figures.
Result<DescribedMachine> open_described_machine(std::string_view name_or_path);

// Reads a machine from its text; `where` is its name in errors. The result passes
// MachineSpec::validate. O(length + links^2).
Result<DescribedMachine> parse_machine(std::string_view json, std::string_view where);

// `machine` as JSON, one space or link per line. parse_machine reads it as a machine with the same
// thresholds in bytes and everything else equal; writing that again gives the same text.
std::string machine_text(const DescribedMachine& machine);

// XXH3 of machine_text without `derived`: equal exactly if the machines are. Provenance.
std::uint64_t machine_hash(const MachineSpec& machine);

// The names that open_machine knows, sorted.
std::vector<std::string_view> machine_names();

}  // namespace tidemark
