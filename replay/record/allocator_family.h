// AllocatorFamily: which system's allocator a recording is of, and what its user can set. Advice
// and offers use this system's terms and choices, never another system's.
//
// Data, one entry a system (allocator_family.cpp); pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "traces/model/trace.h"

namespace tidemark {

// A choice that a user has: one of our policies, and what to write in the program or the shell.
struct PolicyOffer {
    std::string policy;  // "rmm-pool:initial=2GiB"
    std::string line;    // "rmm.mr.set_current_device_resource(...)"
};

struct AllocatorFamily {
    std::string_view name;    // "PyTorch", "RMM"
    std::string_view policy;  // assumed for a recording that names no settings
    // Why that is assumed, as a sentence, if the file doesn't say it; "" = the file does.
    std::string_view assumed = {};
    std::string_view empties_cache =
        {};                        // the call that releases cached memory; "" = there is none
    std::string_view stacks = {};  // how to record call stacks; "" = it can't
    // The settings that can be chosen, for a program that requests at most this many bytes at once;
    // null: there is no list (PyTorch's settings are searched; a program that calls the driver has
    // none).
    std::vector<PolicyOffer> (*offers)(Bytes requested) = nullptr;
};

// Null: nothing says what managed the memory. O(keys).
const AllocatorFamily* allocator_family(const TraceInfo& info);

// What its user can set, the usual choice first; empty if the settings are searched, or there are
// none. At most `most` settings of one policy. O(choices).
std::vector<PolicyOffer> policy_offers(const TraceInfo& info, Bytes requested,
                                       std::size_t most = ~std::size_t{0});

// Whether its user can choose the policy of that name. O(choices).
bool offers_policy(const TraceInfo& info, std::string_view name);

// Of one policy's settings, so many are enough to compare policies.
constexpr std::size_t kOffersToCompare = 2;

// Which of these policies model a system that they have not been compared with
// (PolicyInfo::only_read), as a sentence; "" = none. Texts as for parse_policy. O(policies).
std::string only_read_text(std::span<const std::string> policies);

// What isn't known about how these policies would have served that trace, as sentences: the former,
// and the driver's pool if a program has several streams or graphs. O(policies).
std::vector<std::string> model_limits(const TraceInfo& info, std::span<const std::string> policies);

}  // namespace tidemark
