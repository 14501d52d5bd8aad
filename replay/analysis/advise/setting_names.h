// The name of a setting for its users, and what they write to set it: a line for the shell or the
// program that works with the version and the library of the recording.
#pragma once

#include <string>
#include <vector>

#include "replay/analysis/advise/search.h"
#include "replay/analysis/advise/torch_release.h"
#include "replay/record/allocator_family.h"
#include "traces/model/trace.h"

namespace tidemark {

class SettingNames {
  public:
    // Of a program that requests at most this many bytes at once.
    SettingNames(const TraceInfo& info, Bytes requested);

    // What the system's user can choose (policy_offers), as policies. Errors: none of ours.
    std::vector<PolicySpec> offers() const;

    // Fills Tried::name and Tried::line. O(offers).
    void name(Tried& tried) const;

    // What keys of the named settings require, as sentences: "large_segment_size_mb came with
    // PyTorch 2.11; the recording is of 2.9 to 2.11". O(keys).
    std::vector<std::string> remarks(const Tried& tried) const;

  private:
    std::string line_of(const PolicySpec& policy) const;

    TorchReleases releases_;
    std::vector<PolicyOffer> offers_;
};

}  // namespace tidemark
