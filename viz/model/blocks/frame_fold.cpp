// Each file's path is looked at once.
#include "viz/model/blocks/frame_fold.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "replay/analysis/trace/sites.h"

namespace tidemark::viz {
namespace {

std::vector<std::string_view> rules_of(std::string_view rules) {
    std::vector<std::string_view> found;
    while (true) {
        rules.remove_prefix(std::min(rules.find_first_not_of(' '), rules.size()));
        if (rules.empty())
            return found;
        found.push_back(rules.substr(0, rules.find(' ')));
        rules.remove_prefix(found.back().size());
    }
}

bool means(std::string_view rule, std::string_view file) {
    if (rule == "torch")
        return frame_origin(file) == FrameOrigin::torch;
    if (rule == "python")
        return frame_origin(file) == FrameOrigin::standard;
    if (rule == "c++")
        return frame_origin(file) == FrameOrigin::native;
    return file.find(rule) != std::string_view::npos;
}

}  // namespace

FrameFold::FrameFold(const History& history, std::string_view rules) {
    const std::vector<std::string_view> parts = rules_of(rules);
    if (parts.empty())
        return;
    const StringTable& strings = history.strings();
    files_.resize(strings.size());
    for (std::uint32_t i = 0; i < strings.size(); ++i)
        files_[i] = std::ranges::any_of(
            parts, [&](std::string_view rule) { return means(rule, strings[i]); });
}

std::vector<tidemark::Frame> FrameFold::shown(std::span<const tidemark::Frame> frames) const {
    std::vector<tidemark::Frame> shown;
    std::ranges::copy_if(frames, std::back_inserter(shown),
                         [this](const tidemark::Frame& frame) { return !folds(frame); });
    if (shown.empty())
        shown.assign(frames.begin(), frames.end());
    return shown;
}

}  // namespace tidemark::viz
