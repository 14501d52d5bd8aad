// The program, and who lies where.
#include "tests/support/placements.h"

#include <map>
#include <vector>

#include <fmt/format.h>

#include "tests/support/policy.h"

namespace tidemark::support {
namespace {

struct Op {
    char kind;  // 'a' or 'f'
    char name;
    Bytes size;
    std::uint32_t stream;
};

const std::vector<Op> kProgram{
    {'a', 'A', 1_MiB, 1}, {'a', 'B', 3_MiB, 1},       {'a', 'C', 700_KiB, 2}, {'a', 'D', 5_MiB, 2},
    {'f', 'B', 0, 1},     {'a', 'E', 1_MiB + 100, 2}, {'a', 'F', 1_MiB, 1},   {'f', 'A', 0, 1},
    {'f', 'F', 0, 1},     {'a', 'G', 4_MiB, 1},       {'f', 'D', 0, 2},       {'f', 'C', 0, 2},
    {'a', 'H', 6_MiB, 1}, {'a', 'I', 300, 2},         {'f', 'G', 0, 2},       {'a', 'J', 9_MiB, 2},
    {'f', 'E', 0, 1},     {'f', 'H', 0, 1},           {'a', 'K', 2_MiB, 1},   {'f', 'J', 0, 2},
    {'f', 'I', 0, 2},     {'f', 'K', 0, 1},
};

// Segments by where they begin, numbered in the order in which they were taken: where one was given
// back another may begin later.
class SegmentNumbers {
  public:
    // After a call; `granted` is null for what granted nothing.
    void update(const Allocator& policy, const Allocation* granted) {
        const std::uint64_t taken = policy.stats().segments_created;
        for (const Region& region : regions_of(policy)) {
            const bool here = granted != nullptr && region.range.begin == granted->address;
            const bool is_new =
                taken > taken_ && (here || !numbers_.contains(region.segment.begin));
            if (is_new)
                numbers_[region.segment.begin] = taken - 1;
        }
        taken_ = taken;
    }

    std::string location_of(const Allocator& policy, Address address) const {
        for (const Region& region : regions_of(policy)) {
            if (region.range.begin != address)
                continue;
            const Bytes offset = address - region.segment.begin;
            const bool whole = offset % 1_KiB == 0;
            return fmt::format("s{}+{}{}", numbers_.at(region.segment.begin),
                               whole ? offset / 1_KiB : offset, whole ? "K" : "");
        }
        return "nowhere";
    }

  private:
    std::map<Address, std::uint64_t> numbers_;
    std::uint64_t taken_ = 0;
};

}  // namespace

std::string placements(Allocator& policy) {
    std::map<char, Allocation> live;
    SegmentNumbers segments;
    std::string text;
    for (const Op& op : kProgram) {
        if (op.kind == 'f') {
            if (live.contains(op.name))
                policy.deallocate(live.extract(op.name).mapped(), StreamId{op.stream});
            segments.update(policy, nullptr);
            continue;
        }
        const auto granted = policy.allocate({.size = op.size, .stream = StreamId{op.stream}});
        segments.update(policy, granted ? &*granted : nullptr);
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", op.name,
                            granted ? segments.location_of(policy, granted->address) : "refused");
        if (granted)
            live[op.name] = *granted;
    }
    return text;
}

}  // namespace tidemark::support
