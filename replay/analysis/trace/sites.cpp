// What the frames of PyTorch's stacks look like, and which of them to show.
#include "replay/analysis/trace/sites.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// C++ frames have the file of a source or library, or none.
bool is_python(std::string_view file) {
    return file.ends_with(".py") || file.starts_with('<');
}

bool is_torch(std::string_view file) {
    return contains(file, "-packages/torch/") || contains(file, "/pytorch/torch/") ||
           file.starts_with("torch/") || file.starts_with("<eval_with_key>");
}

// Python's own library: contextlib, threading, importlib.
bool is_standard(std::string_view file) {
    return file.starts_with("<frozen ") ||
           (contains(file, "/lib/python3") && !contains(file, "-packages/"));
}

// "torchvision/models/resnet.py" of an installed package; else the last two parts of the path.
std::string_view short_path(std::string_view file) {
    constexpr std::string_view kPackages = "-packages/";
    if (const std::size_t at = file.rfind(kPackages); at != std::string_view::npos)
        return file.substr(at + kPackages.size());
    const std::size_t last = file.rfind('/');
    if (last == std::string_view::npos || last == 0)
        return file;
    const std::size_t before = file.rfind('/', last - 1);
    return before == std::string_view::npos ? file : file.substr(before + 1);
}

// A C++ name without its arguments.
std::string_view short_name(std::string_view name) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    std::size_t at = name.find('(');
    while (at != std::string_view::npos && name.substr(at).starts_with(kAnonymous))
        at = name.find('(', at + kAnonymous.size());
    return at == 0 ? name : name.substr(0, at);
}

// The allocator, and what recorded the stack.
bool is_machinery(std::string_view name) {
    constexpr std::string_view kRecorders[] = {"torch::unwind::", "torch::CapturedTraceback::"};
    return name.starts_with("c10::") ||
           std::ranges::any_of(kRecorders,
                               [name](std::string_view of) { return name.starts_with(of); });
}

// The operator that a C++ frame stands for: "aten::add", "at::_ops::add::call" and
// "torch::autograd::generated::AddBackward0::apply" are; "" for others.
std::string operator_name(std::string_view name) {
    name = short_name(name);
    if (name.starts_with("aten::"))
        return std::string(name);
    constexpr std::string_view kOps = "at::_ops::";
    constexpr std::string_view kBackward = "torch::autograd::generated::";
    for (const std::string_view prefix : {kOps, kBackward}) {
        const std::size_t at = name.find(prefix);
        if (at == std::string_view::npos)
            continue;
        const std::string_view rest = name.substr(at + prefix.size());
        const std::size_t end = rest.find("::");
        if (end != std::string_view::npos && end > 0)
            return fmt::format("{}{}", prefix == kOps ? "aten::" : "", rest.substr(0, end));
    }
    return {};
}

}  // namespace

FrameOrigin frame_origin(std::string_view file) {
    if (!is_python(file))
        return FrameOrigin::native;
    if (is_torch(file))
        return FrameOrigin::torch;
    return is_standard(file) ? FrameOrigin::standard : FrameOrigin::program;
}

std::string Sites::describe(const Frame& frame) const {
    const std::string_view name = strings_[frame.name];
    const std::string_view file = strings_[frame.file];
    if (!is_python(file))
        return std::string(short_name(name));
    return fmt::format("{}:{} {}", short_path(file), frame.line, name);
}

std::string Sites::operation_of(std::uint32_t stack) const {
    std::string found;
    for (const Frame& frame : stacks_[stack]) {
        const std::string_view file = strings_[frame.file];
        if (is_python(file)) {
            const bool inside = is_torch(file) && !is_standard(file);
            return found.empty() && inside ? std::string(strings_[frame.name]) : found;
        }
        if (std::string name = operator_name(strings_[frame.name]); !name.empty())
            found = std::move(name);
    }
    return found;
}

std::span<const Frame> Sites::own_frames(std::uint32_t stack) const {
    if (stack >= stacks_.size())
        return {};
    const std::span<const Frame> frames = stacks_[stack];
    std::size_t inside = frames.size();   // the innermost of PyTorch's Python
    std::size_t outside = frames.size();  // the innermost of C++ beyond the allocator
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const std::string_view file = strings_[frames[i].file];
        if (!is_python(file)) {
            if (outside == frames.size() && !is_machinery(strings_[frames[i].name]))
                outside = i;
        } else if (!is_torch(file) && !is_standard(file)) {
            return frames.subspan(i);
        } else if (inside == frames.size()) {
            inside = i;
        }
    }
    const std::size_t found = inside < frames.size() ? inside : outside;
    return found < frames.size() ? frames.subspan(found) : frames;
}

std::string Sites::site_of(std::uint32_t stack, std::string_view operation) const {
    const std::span<const Frame> frames = own_frames(stack);
    if (frames.empty())
        return {};
    const bool is_line = is_python(strings_[frames.front().file]);
    return is_line || operation.empty() ? describe(frames.front()) : std::string(operation);
}

const Sites::Names& Sites::names(std::uint32_t stack) {
    const std::uint32_t known = stack < stacks_.size() ? stack : 0;
    const auto [entry, fresh] = names_.try_emplace(known);
    if (fresh) {
        entry->second.operation = operation_of(known);
        entry->second.site = site_of(known, entry->second.operation);
    }
    return entry->second;
}

std::vector<std::string> Sites::frames(std::uint32_t stack) const {
    std::vector<std::string> lines;
    if (stack >= stacks_.size())
        return lines;
    for (const Frame& frame : stacks_[stack])
        lines.push_back(
            fmt::format("{} {}:{}", strings_[frame.name], strings_[frame.file], frame.line));
    return lines;
}

std::string size_class(Bytes size) {
    const Bytes low = size == 0 ? 0 : std::bit_floor(size);
    if (low < 512)
        return "up to 512 B";
    return fmt::format("{} to {}", format_bytes(low), format_bytes(2 * low));
}

}  // namespace tidemark
