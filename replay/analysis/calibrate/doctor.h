// doctor: what Tidemark can do on this machine, capability by capability, and why it can't do the
// rest.
//
// Pure: the same facts give the same findings. O(capabilities * GPUs).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/topology/topology.h"

namespace tidemark {

// One capability, as it is here.
struct Finding {
    std::string_view name;  // "virtual-memory": a stable name, what --require takes
    std::string_view use;   // what Tidemark does with it
    bool here = false;
    std::string what;        // which one is here: "NVIDIA H200", "2.11.0"; empty if not here
    std::string why;         // why it is not here
    std::string hint;        // what to do about that; may be empty
    std::string_view needs;  // the missing capability that this one needs, or ""
};

// What recording needs apart from a GPU: which of it this machine has, or why it has none.
struct RecordingFacts {
    Result<std::string> library;   // that CUDA loads into recorded programs
    Result<std::string> cupti;     // NVIDIA's, which reports their calls
    Result<std::string> probes;    // of a running process may be listened to
    Result<std::string> compiler;  // of C++
};

// All of them, in reading order: a capability that needs another comes after it.
std::vector<Finding> diagnose(const Topology& topology, const RecordingFacts& recording);

// Their names, in the same order.
std::vector<std::string_view> capability_names();

// Errors (bad_option, where = --require): a name that is not a capability, with the nearest one.
Result<void> check_capability_name(std::string_view name);

}  // namespace tidemark
