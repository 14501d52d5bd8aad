// TorchReleases: which versions of PyTorch a recording may be of, what they read their settings
// from, and which settings they have. A setting is advised only in a form that they understand.
//
// Pure functions over a table with sources; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/model/trace.h"

namespace tidemark {

// Versions as 100 * major + minor.
struct TorchReleases {
    unsigned first = 0;  // 0 = any
    unsigned last = 0;   // 0 = any from `first` on
    bool rocm = false;
    bool xpu = false;

    bool exact() const { return first != 0 && first == last; }

    // Whether some of them are at least, or all of them are below that version.
    bool may_be(unsigned version) const { return last == 0 || last >= version; }

    bool all_from(unsigned version) const { return first >= version; }
};

// From what the recorder wrote (the setting "torch"), else what the reader found in the file.
// Unknown: any. O(keys).
TorchReleases torch_releases(const TraceInfo& info);

// "2.9", "2.9 to 2.11", "2.12 or newer"; "" = any.
std::string text_of(const TorchReleases& releases);

// The version that brought a key of PYTORCH_ALLOC_CONF; 0 = older than all versions that are read
// here.
unsigned brought_in(std::string_view key);

// The environment variables to set so that each of them reads it. PYTORCH_ALLOC_CONF is new in 2.9
// and 2.9.1 ignores it on CUDA (pytorch #183387); the older names are read by all.
std::vector<std::string_view> torch_variables_of(const TorchReleases& releases);

// A line for a shell that sets `conf` for such a program, quoted where it must be, or unsets it if
// it is empty.
std::string export_line(std::string_view conf, const TorchReleases& releases);

}  // namespace tidemark
