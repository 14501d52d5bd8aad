// What a setting clashes with: cases in which it is ignored, slow or wrong, each with its source. A
// case that the recording shows is a warning; the rest becomes one line of conditions.
//
// Data, one entry a hazard (setting_hazards.cpp); pure, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "replay/analysis/advise/torch_release.h"
#include "traces/model/trace.h"

namespace tidemark {

struct SettingHazards {
    std::vector<std::string> shown;  // sentences: the recording shows that they concern it
    std::string conditions;          // a sentence of all others; "" = there are none
};

// Of PyTorch's `expandable_segments`, as far as `info` shows. O(strings).
SettingHazards expandable_hazards(const TraceInfo& info, const TorchReleases& releases);

// Whether tidemark.torch.use() can be available at all: on CUDA and Linux. O(strings).
bool has_drop_in(const TraceInfo& info, const TorchReleases& releases);

// Of tidemark.torch.use(), as far as `info` shows. O(strings).
SettingHazards drop_in_hazards(const TraceInfo& info, const TorchReleases& releases);

}  // namespace tidemark
