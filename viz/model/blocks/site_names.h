// SiteNames: sites, stacks and tags of a history as texts that fit a row, made once and kept. Texts
// of the trace are made printable, whatever they contain, and cut to a length that breaks no
// layout.
//
// Not thread-safe: one for each thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/analysis/trace/sites.h"
#include "replay/report/forms/wording.h"
#include "replay/timeline/history.h"

namespace tidemark::viz {

// A call site without its folders: "resnet.py:155 forward". O(length).
std::string brief_call_site(std::string_view text);

class SiteNames {
  public:
    // `history` must outlive the names.
    explicit SiteNames(const History& history);

    // The call site of a stack: "models/resnet.py:155 forward"; "" if not recorded.
    const std::string& call_site(std::uint32_t stack);

    // The part of the program that the call site is in: a Python file, "models/resnet.py", or the
    // C++ namespace or class of its name, "aten"; "" if the name has none. O(length).
    std::string module(std::uint32_t stack);

    // The tag, or "".
    std::string tag(const Site& site) const;

    // The name of the site where there is little room: its tag and call site, as far as it has
    // them, else "no stack recorded".
    std::string name(const Site& site);

    // All frames, innermost first, a line each. O(frames).
    std::vector<std::string> frames(std::uint32_t stack) const;

    // One frame of any stack: "torch/nn/modules/module.py:1779 _call_impl"; brief_call_site()
    // removes its folders.
    std::string frame(const tidemark::Frame& frame) const;

    // Any site has a tag. O(sites that are new since the last call).
    bool has_tags();

    // "7 (0x7f31a0)": the run's number and the program's handle; "0" for the default stream.
    std::string stream(StreamId stream) const;

    std::string pool(PoolId pool) const;
    std::string device(std::uint16_t device) const;

  private:
    const History& history_;
    Sites sites_;
    std::unordered_map<std::uint32_t, std::string> call_sites_;
    std::uint32_t sites_seen_ = 0;  // of them none has a tag, or has_tags_
    bool has_tags_ = false;
};

}  // namespace tidemark::viz
