// Choosing directories, and their counters.
#include "core/tiers/disk/disk_space.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

FilePlacement lay_out(StripeLayout layout, const std::vector<std::uint32_t>& directories) {
    FilePlacement placement{layout, {}};
    for (std::uint32_t stripe = 0; stripe < layout.stripes; ++stripe)
        placement.stripes.push_back({directories[stripe], layout.file_size(stripe)});
    return placement;
}

// `bytes` more fit under the quota.
bool fits(Bytes used, Bytes bytes, Bytes quota) {
    return used <= quota && bytes <= quota - used;
}

}  // namespace

Bytes FilePlacement::bytes() const {
    Bytes sum = 0;
    for (const StripeLocation& location : stripes)
        sum += location.bytes;
    return sum;
}

DirectorySpace::DirectorySpace(const std::vector<DiskDirectory>& directories, Bytes quota)
    : full_(directories.size()), quota_(quota) {
    for (const DiskDirectory& directory : directories)
        states_.push_back({.path = directory.path, .quota = directory.quota, .last_error = {}});
}

std::optional<FilePlacement> DirectorySpace::allocate(Bytes size, Bytes chunk, unsigned stripes,
                                                      const std::vector<bool>& avoid) {
    for (const bool failed_too : {false, true}) {
        std::optional<FilePlacement> found =
            allocate_on(candidates(avoid, failed_too), size, chunk, stripes);
        if (found && fits(used_, found->bytes(), quota_)) {
            adopt(*found);
            return found;
        }
    }
    return std::nullopt;
}

// The usable ones, emptiest first.
std::vector<std::uint32_t> DirectorySpace::candidates(const std::vector<bool>& avoid,
                                                      bool failed_too) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t index = 0; index < states_.size(); ++index) {
        const DirectoryState& state = states_[index];
        const bool avoided = index < avoid.size() && avoid[index];
        if (state.usable && !avoided && (failed_too || state.failed_writes == 0))
            found.push_back(index);
    }
    const auto fullness = [&](std::uint32_t index) {
        const DirectoryState& state = states_[index];
        return static_cast<double>(state.used) / static_cast<double>(state.quota);
    };
    std::stable_sort(found.begin(), found.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return fullness(a) < fullness(b); });
    return found;
}

// As many of `left` as have room. A directory that is too small for its part is too small for the
// larger one that it would get of fewer stripes, so that it can be struck off.
std::optional<FilePlacement> DirectorySpace::allocate_on(std::vector<std::uint32_t> left,
                                                         Bytes size, Bytes chunk,
                                                         unsigned stripes) const {
    StripeLayout layout{size, chunk, 1};
    const std::uint64_t most =
        std::min<std::uint64_t>({stripes == 0 ? kMostStripes : stripes, kMostStripes,
                                 std::max<std::uint64_t>(layout.chunks(), 1)});
    while (!left.empty()) {
        layout.stripes = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, left.size()));
        if (!layout.valid())
            return std::nullopt;
        FilePlacement placement = lay_out(layout, left);
        const auto small = std::find_if(placement.stripes.begin(), placement.stripes.end(),
                                        [&](const StripeLocation& location) {
                                            const DirectoryState& state =
                                                states_[location.directory];
                                            return !fits(state.used, location.bytes, state.quota);
                                        });
        if (small == placement.stripes.end())
            return placement;
        std::erase(left, small->directory);
    }
    return std::nullopt;
}

Error DirectorySpace::no_room(Bytes size) const {
    Bytes largest = 0;
    Bytes together = 0;
    for (const DirectoryState& state : states_) {
        const Bytes left = state.usable && state.used < state.quota ? state.quota - state.used : 0;
        largest = std::max(largest, left);
        together = left > kNoQuota - together ? kNoQuota : together + left;
    }
    const auto text = [](Bytes bytes) {
        return bytes > kLargestRequest ? std::string("no limit") : format_bytes(bytes);
    };
    const Bytes left = used_ < quota_ ? quota_ - used_ : 0;
    return {ErrorCode::no_space,
            fmt::format("a buffer of {} does not fit: left of the store's quota {}, of its "
                        "directories' {} (at most {} in one)",
                        format_bytes(size), text(left), text(together), text(largest)),
            "disk store", "raise a quota, add a directory, or erase something"};
}

void DirectorySpace::adopt(const FilePlacement& placement) {
    for (const StripeLocation& location : placement.stripes)
        states_[location.directory].used += location.bytes;
    used_ += placement.bytes();
}

void DirectorySpace::release(StripeLocation location) {
    DirectoryState& state = states_[location.directory];
    TM_CHECK(location.bytes <= state.used && location.bytes <= used_);
    state.used -= location.bytes;
    used_ -= location.bytes;
    if (full_[location.directory])
        note_success(location.directory);
}

void DirectorySpace::note_success(std::uint32_t directory) {
    states_[directory].failed_writes = 0;
    full_[directory] = false;
}

void DirectorySpace::note_failure(std::uint32_t directory, const Error& error) {
    DirectoryState& state = states_[directory];
    ++state.failed_writes;
    state.last_error = error;
    full_[directory] = error.code == ErrorCode::no_space;
}

void DirectorySpace::strand(StrandedFile file, const Error& error) {
    states_[file.directory].last_error = error;
    stranded_.push_back(std::move(file));
}

void DirectorySpace::adopt_stranded(StrandedFile file, const Error& error) {
    states_[file.directory].used += file.bytes;
    used_ += file.bytes;
    strand(std::move(file), error);
}

std::vector<StrandedFile> DirectorySpace::take_stranded() {
    return std::exchange(stranded_, {});
}

Bytes DirectorySpace::cost(Bytes size, Bytes chunk, unsigned stripes) const {
    StripeLayout layout{size, chunk, 1};
    const std::uint64_t most =
        std::min<std::uint64_t>({stripes == 0 ? kMostStripes : stripes, states_.size(),
                                 kMostStripes, std::max<std::uint64_t>(layout.chunks(), 1)});
    Bytes largest = 0;
    for (layout.stripes = 1; layout.stripes <= most; ++layout.stripes) {
        Bytes sum = 0;
        for (std::uint32_t stripe = 0; stripe < layout.stripes; ++stripe)
            sum += layout.file_size(stripe);
        largest = std::max(largest, sum);
    }
    return largest;
}

}  // namespace tidemark
