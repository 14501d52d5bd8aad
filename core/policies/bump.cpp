// bump: hands out increasing addresses and never reuses one. The lower bound on an allocator's own
// cost.
//
// Model: a cursor runs through a segment. A request that does not fit reserves a new segment of at
// least `segment` bytes (of its own size when the device has no more), and the cursor moves there
// if more is left in it. Addresses are never reused, so streams need no bookkeeping. With
// `release_empty` a segment without live blocks is released immediately (cudaFree waits for its
// work), which lets long programs run; without it, only when the device is full or at a trim. The
// segment under the cursor is kept until the cursor leaves it, or until a trim.
//
// Promises: O(1) a call apart from the device's own cost. The difference between reserved and
// allocated is the price of not reusing addresses.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/base/vacant_ids.h"
#include "core/regions/grants.h"
#include "core/regions/segments.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kBumpDeviceAlignment = 512;  // what Device::malloc promises
constexpr std::uint32_t kNoSegment = 0xffffffffU;

struct Segment {
    Range range;             // of size 0: vacant
    std::uint32_t live = 0;  // grants in it
};

class Bump final : public Allocator {
  public:
    Bump(Device& device, Bytes segment, Bytes alignment, bool release_empty)
        : device_(&device),
          segment_size_(segment),
          alignment_(alignment),
          release_empty_(release_empty) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes alignment = std::max(alignment_, request.alignment);
        const Bytes size = align_up(std::max<Bytes>(request.size, 1), alignment_);
        const std::uint64_t begin = align_up(cursor_, alignment);
        if (begin > end_ || size > end_ - begin) [[unlikely]]
            return allocate_in_new_segment(size, alignment);
        cursor_ = begin + size;
        return grant(current_, Address{begin}, size);
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        const Grant& grant = grants_[allocation.node];
        TM_CHECK(grant.size == allocation.size);
        const std::uint32_t segment = grant.owner;
        count_deallocated(allocation);
        grants_.remove(allocation.node);
        if (--segments_[segment].live == 0 && segment != current_ && release_empty_)
            give_back(segment);
    }

    // No address is used twice, and cudaFree waits for every stream.
    void record_use(const Allocation& /*allocation*/, StreamId /*stream*/) override {}

    void trim(TrimLevel /*level*/) override {
        for (std::uint32_t i = 0; i < segments_.size(); ++i) {
            if (segments_[i].range.size != 0 && segments_[i].live == 0)
                give_back(i);
        }
    }

    Bytes largest_free() const override {
        const std::uint64_t begin = align_up(cursor_, alignment_);
        return begin < end_ ? end_ - begin : 0;
    }

    void for_each_region(const std::function<void(const Region&)>& visit) const override;

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Bump> copy(new Bump(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    Bump(const Bump&) = default;

    Allocation grant(std::uint32_t segment, Address begin, Bytes size) {
        count_allocated(size);
        ++segments_[segment].live;
        return Allocation{begin, size, grants_.add({begin, size, segment})};
    }

    tl::expected<Allocation, OutOfMemory> allocate_in_new_segment(Bytes size, Bytes alignment);
    tl::expected<std::uint32_t, OutOfMemory> take_segment(Bytes preferred, Bytes needed);
    bool give_back(std::uint32_t segment);

    Device* device_;
    Bytes segment_size_;
    Bytes alignment_;
    bool release_empty_;
    std::uint64_t cursor_ = 0;  // in the current segment, [.., end_)
    std::uint64_t end_ = 0;
    std::uint32_t current_ = kNoSegment;
    Grants grants_;
    std::vector<Segment> segments_;
    VacantIds vacant_;  // numbers of segments that were released
};

tl::expected<Allocation, OutOfMemory> Bump::allocate_in_new_segment(Bytes size, Bytes alignment) {
    const Bytes slack = alignment > kBumpDeviceAlignment ? alignment - kBumpDeviceAlignment : 0;
    const Bytes needed = align_up(size + slack, device_->granularity());
    const Bytes preferred = std::max(needed, align_up(segment_size_, device_->granularity()));
    const auto segment = take_segment(preferred, needed);
    if (!segment)
        return refuse(segment.error());
    const Range range = segments_[*segment].range;
    const std::uint64_t begin = align_up(to_integer(range.begin), alignment);
    const std::uint64_t end = to_integer(range.begin + range.size);
    if (end - (begin + size) > end_ - cursor_) {
        const std::uint32_t left = current_;
        current_ = *segment;
        cursor_ = begin + size;
        end_ = end;
        if (left != kNoSegment && segments_[left].live == 0 && release_empty_)
            give_back(left);
    }
    return grant(*segment, Address{begin}, size);
}

// A new segment of `preferred` bytes, or else of `needed`; when the device is full, tries once more
// after releasing the segments without live blocks.
tl::expected<std::uint32_t, OutOfMemory> Bump::take_segment(Bytes preferred, Bytes needed) {
    const auto range =
        malloc_segment(*device_, preferred, needed, [this] { return trim_for_retry(); });
    if (!range)
        return tl::make_unexpected(refused_by(range.error()));
    count_taken(range->size);
    return vacant_.put_into(segments_, Segment{*range, 0});
}

// False if the device refuses; then nothing has changed.
bool Bump::give_back(std::uint32_t segment) {
    const Range range = segments_[segment].range;
    if (!device_->free(range.begin))
        return false;
    count_given_back(range.size);
    segments_[segment] = {};
    vacant_.give_back(segment);
    if (segment == current_) {
        current_ = kNoSegment;
        cursor_ = 0;
        end_ = 0;
    }
    return true;
}

void Bump::for_each_region(const std::function<void(const Region&)>& visit) const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < segments_.size(); ++i) {
        if (segments_[i].range.size != 0)
            order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
        return segments_[a].range.begin < segments_[b].range.begin;
    });
    const std::vector<Grant> grants = grants_.by_address();
    auto grant = grants.begin();
    for (const std::uint32_t number : order) {
        const Range segment = segments_[number].range;
        Address position = segment.begin;
        const auto visit_up_to = [&](Address end, Region::State state) {
            if (position < end)
                visit({{position, end - position}, segment, state});
            position = end;
        };
        for (; grant != grants.end() && grant->owner == number; ++grant) {
            visit_up_to(grant->begin, Region::State::hole);
            visit_up_to(grant->begin + grant->size, Region::State::allocated);
        }
        if (number == current_)
            visit_up_to(Address{cursor_}, Region::State::hole);
        visit_up_to(segment.begin + segment.size,
                    number == current_ ? Region::State::free : Region::State::hole);
    }
}

constexpr std::array<OptionInfo, 3> kBumpOptions{{
    {.name = "segment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "256MiB",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "size of the segments that are reserved from the device"},
    {.name = "alignment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "512",
     .minimum = "16",
     .maximum = "1GiB",
     .summary = "addresses and sizes are multiples of this power of two",
     .source = "the alignment of cudaMalloc"},
    {.name = "release_empty",
     .type = OptionType::boolean,
     .default_value = "true",
     .summary = "release a segment as soon as no block in it is live"},
}};

Result<std::unique_ptr<Allocator>> make_bump(Device& device, const Options& options) {
    const Bytes alignment = options.bytes("alignment");
    if (!is_power_of_two(alignment))
        return fail(ErrorCode::bad_option,
                    fmt::format("alignment is {}, not a power of two", alignment), "policy bump");
    return std::make_unique<Bump>(device, options.bytes("segment"), alignment,
                                  options.boolean("release_empty"));
}

}  // namespace

PolicyInfo bump() {
    return {
        .name = "bump",
        .summary = "never reuses an address: the lower bound on an allocator's own cost",
        .source =
            "region-based allocation; Hanson, Fast allocation and deallocation of memory "
            "based on object lifetimes, 1990",
        .options = kBumpOptions,
        .make = make_bump,
        .placement_matters = false,
    };
}

}  // namespace tidemark::policies
