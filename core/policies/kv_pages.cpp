// kv-pages: pages that stay where they were mapped, as in pools for KV caches.
//
// Model: vAttention and kvcached, for any requests. A request of a page or more gets a slot:
// reserved addresses for as much as it may ever need (here a power of two, at least `slot`), with
// pages mapped from the start as far as the request needs them. When the request ends, its pages
// stay mapped. The next request gets the idle slot that has just enough pages, or else the one with
// the most pages, and only what is missing is mapped there. When the device has no more memory,
// pages are taken from idle slots, starting with those that were left first. Smaller requests are
// blocks of a power of two inside a page; each page has blocks of one size, and a partly used page
// is preferred. What differs from the originals: pages move between slots by releasing them and
// creating new ones, nothing is mapped ahead of need, and memory that another stream used is
// ordered before it is reused.
//
// Promises: no device call while idle slots fit; no wait as long as one stream is used, except
// before pages are taken from idle slots; O(log slots) a call. Pages beyond what a request needs
// are held until a trim.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/page_leftovers.h"
#include "core/regions/page_table.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kKvUnit = 512;
constexpr std::uint32_t kKvBlockNode = 0x80000000U;

// A slot is a Block: `size` is what is mapped, `list` the power of two of its addresses,
// `reservation` 1 + its root, `stamp` what is granted of it or, for an idle slot, when it was left.
// `waits` is 1 if its page is cut into blocks.
class KvPages final : public Allocator {
  public:
    KvPages(Device& device, Bytes page, Bytes slot, Bytes limit)
        : device_(&device), slot_(std::max(slot, page)), limit_(limit), pages_(page, {}) {}

    ~KvPages() override {
        if (!is_broken_off())
            trim(TrimLevel::all);
    }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding = std::max(request.alignment, kKvUnit) - kKvUnit;
        const Bytes size = std::max<Bytes>(request.size, 1) + padding;
        const bool small = size <= pages_.page() / 2;
        auto granted = small
                           ? allocate_block(std::max(std::bit_ceil(size), kKvUnit), request.stream)
                           : allocate_slot(align_up(size, pages_.page()), request.stream);
        show();
        if (!granted) [[unlikely]]
            return refuse(granted.error());
        count_allocated(granted->size);
        granted->address = Address{align_up(to_integer(granted->address), request.alignment)};
        return granted;
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        count_deallocated(allocation);
        if ((allocation.node & kKvBlockNode) == 0)
            leave(allocation.node);
        else
            deallocate_block(allocation.node & ~kKvBlockNode);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        if ((allocation.node & kKvBlockNode) != 0)
            blocks_[allocation.node & ~kKvBlockNode].streams.add(stream);
        else
            slots_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel level) override {
        if (device_->capturing())
            return;
        const bool awaited = level == TrimLevel::all && wait();
        for (const BlockId slot : slots_.segments())
            shrink(slot, is_idle(slot) ? 0 : slots_[slot].stamp, awaited);
        leftovers_.settle(pages_, *device_);
        show();
    }

    Bytes largest_free() const override {
        Bytes largest = 0;
        for (const SizeIndex& index : idle_)
            largest = std::max(largest, index.largest(slots_));
        for (std::size_t power = partly_.size(); power-- > 0 && largest == 0;)
            largest = partly_[power].empty() ? 0 : Bytes{1} << power;
        return largest;
    }

    void for_each_region(const std::function<void(const Region&)>& visit) const override;

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<KvPages> copy(new KvPages(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    using Granted = tl::expected<Allocation, OutOfMemory>;
    using Found = tl::expected<BlockId, OutOfMemory>;

    KvPages(const KvPages&) = default;

    Granted allocate_slot(Bytes size, StreamId stream);
    Granted allocate_block(Bytes size, StreamId stream);
    void deallocate_block(BlockId id);
    Found slot_for(Bytes size, StreamId stream);
    Found find_slot(Bytes size, StreamId stream);
    Found new_slot(Bytes size, std::uint32_t power);
    tl::expected<void, OutOfMemory> extend(BlockId slot, Bytes size);
    bool take_from_idle(Bytes size);
    void shrink(BlockId slot, Bytes keep, bool awaited);
    void leave(BlockId slot);
    bool wait();
    void show();

    tl::expected<void, OutOfMemory> order(StreamSet users, StreamId stream) {
        if (users.only(stream) || users.empty()) [[likely]]
            return {};
        const DeviceResult<void> ordered = users.order_before(stream, *device_);
        if (!ordered)
            return tl::make_unexpected(
                OutOfMemory{OutOfMemory::Cause::device_error, ordered.error().status});
        return {};
    }

    bool is_idle(BlockId slot) const { return slots_[slot].state == Block::State::free; }

    PageTable::PageRange pages_of(BlockId slot, Bytes from, Bytes to) const {
        return {slots_[slot].reservation - 1, {slots_[slot].address + from, to - from}};
    }

    SizeIndex& idle(std::uint32_t power) {
        if (idle_.size() <= power)
            idle_.resize(power + std::size_t{1});
        return idle_[power];
    }

    Device* device_;
    Bytes slot_;
    Bytes limit_;
    PageTable pages_;
    PageLeftovers leftovers_;
    Blocks slots_;
    std::vector<SizeIndex> idle_;    // by the power of two of a slot's addresses, by what is mapped
    Blocks blocks_;                  // pieces of pages; `list`: the slot of the page
    std::vector<SizeIndex> partly_;  // by the power of two of blocks: free ones, lowest first
    std::uint64_t clock_ = 0;
};

KvPages::Granted KvPages::allocate_slot(Bytes size, StreamId stream) {
    TM_ASSIGN(const BlockId slot, slot_for(size, stream));
    slots_[slot].stamp = size;
    return Allocation{slots_[slot].address, size, slot};
}

KvPages::Granted KvPages::allocate_block(Bytes size, StreamId stream) {
    const auto power = static_cast<std::size_t>(std::countr_zero(size));
    partly_.resize(std::max(partly_.size(), power + 1));
    BlockId id = partly_[power].first_from(size, blocks_);
    if (id != kNoBlock) {
        TM_TRY(order(blocks_[id].streams, stream));
    } else {
        TM_ASSIGN(const BlockId slot, slot_for(pages_.page(), stream));
        slots_[slot].stamp = pages_.page();
        slots_[slot].waits = 1;
        id = blocks_.create(slots_[slot].address, pages_.page(), slot);
        blocks_[id].stamp = power;
        blocks_[id].streams = StreamSet(stream);  // ordered behind the page's former users
        partly_[power].insert(id, blocks_);
    }
    partly_[power].erase(id, blocks_);
    if (blocks_[id].size > size) {
        const BlockId rest = blocks_.split(id, size);
        blocks_[rest].stamp = power;
        partly_[power].insert(rest, blocks_);
    }
    blocks_[id].state = Block::State::allocated;
    blocks_[id].streams = StreamSet(stream);
    return Allocation{blocks_[id].address, size, id | kKvBlockNode};
}

void KvPages::deallocate_block(BlockId id) {
    TM_CHECK(blocks_[id].state == Block::State::allocated);
    blocks_[id].state = Block::State::free;
    SizeIndex& index = partly_[blocks_[id].stamp];
    id = join_neighbours(id, Block::State::free, blocks_, index);
    if (!blocks_[id].whole_segment()) {
        index.insert(id, blocks_);
        return;
    }
    const BlockId slot = blocks_[id].list;
    slots_[slot].streams = blocks_[id].streams;
    slots_[slot].waits = 0;
    blocks_.release(id);
    leave(slot);
}

// A slot with at least `size` mapped, which belongs to `stream` from now on.
KvPages::Found KvPages::slot_for(Bytes size, StreamId stream) {
    TM_ASSIGN(const BlockId slot, find_slot(size, stream));
    slots_[slot].state = Block::State::allocated;
    slots_[slot].streams = StreamSet(stream);
    return slot;
}

// An idle slot with at least `size` mapped, removed from its index, or a new slot. Its order
// between streams is made before anything changes.
KvPages::Found KvPages::find_slot(Bytes size, StreamId stream) {
    const auto power = static_cast<std::uint32_t>(std::bit_width(std::max(size, slot_) - 1));
    BlockId nearest = kNoBlock;
    if (size > device_->memory().total)
        return new_slot(size, power);  // which can't be
    for (std::uint32_t each = power; each < idle_.size(); ++each) {
        const BlockId fits = idle_[each].first_from(size, slots_);
        if (fits != kNoBlock) {
            TM_TRY(order(slots_[fits].streams, stream));
            idle_[each].erase(fits, slots_);
            return fits;
        }
        const BlockId most = idle_[each].last_below(size, slots_);
        const bool more =
            most != kNoBlock && (nearest == kNoBlock || slots_[most].size > slots_[nearest].size);
        if (more && !leftovers_.any_in(slots_[most].reservation - 1))
            nearest = most;
    }
    if (nearest == kNoBlock)
        return new_slot(size, power);
    TM_TRY(order(slots_[nearest].streams, stream));
    idle(slots_[nearest].list).erase(nearest, slots_);
    const auto extended = extend(nearest, size);
    if (extended)
        return nearest;
    idle(slots_[nearest].list).insert(nearest, slots_);
    return tl::make_unexpected(extended.error());
}

KvPages::Found KvPages::new_slot(Bytes size, std::uint32_t power) {
    const auto root = pages_.reserve(*device_, Bytes{1} << power);
    if (!root)
        return tl::make_unexpected(refused_by(root.error()));
    const BlockId slot = slots_.create(pages_.root(*root).begin, 0, power);
    slots_[slot].reservation = *root + 1;
    slots_[slot].stamp = ++clock_;
    const auto extended = extend(slot, size);
    if (extended)
        return slot;
    slots_.release(slot);
    leftovers_.add_root(*root);
    leftovers_.settle(pages_, *device_);
    return tl::make_unexpected(extended.error());
}

// Maps what a slot lacks to `size`; the slot is in no index.
tl::expected<void, OutOfMemory> KvPages::extend(BlockId slot, Bytes size) {
    if (size > device_->memory().total)
        return tl::make_unexpected(OutOfMemory{});
    const PageTable::PageRange missing = pages_of(slot, slots_[slot].size, size);
    const Bytes bytes = missing.range.size;
    const auto above_limit = [&] { return limit_ != 0 && pages_.held() + bytes > limit_; };
    if (above_limit() && (!take_from_idle(pages_.held() + bytes - limit_) || above_limit()))
        return tl::make_unexpected(OutOfMemory{OutOfMemory::Cause::limit});
    DeviceResult<void> done = pages_.populate(*device_, missing);
    if (!done && done.error().status == DeviceStatus::out_of_memory &&
        PageLeftovers::is_gone(pages_, missing) && take_from_idle(bytes)) {
        ++stats_.retries;
        done = pages_.populate(*device_, missing);
    }
    if (!done) {
        leftovers_.add(missing);
        leftovers_.settle(pages_, *device_);
        return tl::make_unexpected(refused_by(done.error()));
    }
    slots_[slot].size = size;
    stats_.segments_created += bytes / pages_.page();
    ++stats_.maps;
    return {};
}

// Takes this many bytes of pages, or as many as there are, from the ends of idle slots, those that
// were left first. False: there is nothing to take.
bool KvPages::take_from_idle(Bytes size) {
    std::vector<BlockId> order;
    for (const SizeIndex& index : idle_) {
        for (BlockId id = index.first_from(0, slots_); id != kNoBlock;
             id = index.next(slots_[id], slots_))
            order.push_back(id);
    }
    if (order.empty() || device_->capturing() || !wait())
        return false;
    std::ranges::sort(order, {}, [this](BlockId slot) { return slots_[slot].stamp; });
    const Bytes before = pages_.held();
    for (const BlockId slot : order) {
        const Bytes taken = before - pages_.held();
        if (taken >= size)
            break;
        const Bytes mapped = slots_[slot].size;
        shrink(slot, mapped - std::min(mapped, align_up(size - taken, pages_.page())), true);
    }
    return pages_.held() < before;
}

// Releases what a slot has mapped beyond `keep`; an idle slot with nothing left is removed. Unless
// it was `awaited`, only if no stream may still use it.
void KvPages::shrink(BlockId slot, Bytes keep, bool awaited) {
    const Bytes mapped = slots_[slot].size;
    if (mapped > keep) {
        if (!awaited) {
            const DeviceResult<bool> passed = slots_[slot].streams.passed(*device_);
            if (!passed || !*passed)
                return;
        }
        const PageTable::PageRange gone = pages_of(slot, keep, mapped);
        if (!pages_.vacate(*device_, gone))
            return;
        if (!PageLeftovers::is_gone(pages_, gone))
            leftovers_.add(gone);
        stats_.segments_released += gone.range.size / pages_.page();
        ++stats_.unmaps;
    }
    SizeIndex* const index = is_idle(slot) ? &idle(slots_[slot].list) : nullptr;
    if (index != nullptr)
        index->erase(slot, slots_);
    slots_[slot].size = std::min(keep, mapped);
    if (index == nullptr)
        return;
    if (slots_[slot].size != 0) {
        index->insert(slot, slots_);
        return;
    }
    leftovers_.add_root(slots_[slot].reservation - 1);
    slots_.release(slot);
    leftovers_.settle(pages_, *device_);
}

void KvPages::leave(BlockId slot) {
    TM_CHECK(slots_[slot].state == Block::State::allocated);
    slots_[slot].state = Block::State::free;
    slots_[slot].stamp = ++clock_;
    idle(slots_[slot].list).insert(slot, slots_);
}

bool KvPages::wait() {
    const bool waited = device_->synchronize_device().has_value();
    stats_.synchronizations += waited ? 1U : 0U;
    return waited;
}

void KvPages::show() {
    usage_.reserved = pages_.held();
    usage_.mapped = pages_.mapped();
}

void KvPages::for_each_region(const std::function<void(const Region&)>& visit) const {
    const auto mapped = [this](BlockId slot) {
        return Range{slots_[slot].address, slots_[slot].size};
    };
    const auto show = [&](Range range, Range segment, Region::State state) {
        visit({.range = range, .segment = segment, .state = state, .page = pages_.page()});
    };
    const auto beyond = [&](BlockId slot) {
        const Range whole = mapped(slot);
        if (whole.size > slots_[slot].stamp)
            show({whole.begin + slots_[slot].stamp, whole.size - slots_[slot].stamp}, whole,
                 Region::State::hole);
    };
    for (const BlockId slot : slots_.segments()) {
        if (is_idle(slot)) {
            show(mapped(slot), mapped(slot), Region::State::free);
        } else if (slots_[slot].waits == 0) {
            show({slots_[slot].address, slots_[slot].stamp}, mapped(slot),
                 Region::State::allocated);
            beyond(slot);
        }
    }
    blocks_.for_each([&](const Block& block, Range) {
        const bool free = block.state == Block::State::free;
        show({block.address, block.size}, mapped(block.list),
             free ? Region::State::free : Region::State::allocated);
        if (block.next == kNoBlock)
            beyond(block.list);
    });
    leftovers_.for_each(pages_, [&](Range page) { show(page, page, Region::State::hole); });
}

constexpr std::array<OptionInfo, 3> kKvPagesOptions{{
    {.name = "page",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "2MiB",
     .minimum = "64KiB",
     .maximum = "1GiB",
     .summary = "size of a page, the unit of mapping: a power of two and a multiple of the "
                "device's granularity",
     .source = "KVCACHED_PAGE_SIZE_MB; vAttention: 2 MiB on the stock driver"},
    {.name = "slot",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "64MiB",
     .minimum = "64KiB",
     .maximum = "1TiB",
     .summary = "least address space that is reserved for a request",
     .source = "vAttention: the longest sequence's"},
    {.name = "limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "most memory that pages may take; 0 = no limit",
     .source = "the pool's size; kvcached: 0.95 of the device"},
}};

Result<std::unique_ptr<Allocator>> make_kv_pages(Device& device, const Options& options) {
    const Bytes page = options.bytes("page");
    if (!device.has(Feature::virtual_memory))
        return fail(ErrorCode::unsupported, "the device has no virtual memory", "kv-pages",
                    "choose a policy that uses plain memory, such as buddy");
    if (!is_power_of_two(page) || page % device.granularity() != 0)
        return fail(ErrorCode::bad_option,
                    "page must be a power of two and a multiple of the device's granularity",
                    "kv-pages", "2MiB works on all devices");
    return std::make_unique<KvPages>(device, page, options.bytes("slot"), options.bytes("limit"));
}

}  // namespace

PolicyInfo kv_pages() {
    return {
        .name = "kv-pages",
        .summary = "slots of addresses whose pages stay mapped, as in pools for KV caches",
        .source = "vAttention (Prabhu et al., ASPLOS 2025) and kvcached",
        .options = kKvPagesOptions,
        .make = make_kv_pages,
        .tried_unasked = false,
        .only_read = true,
        .maps_segments = true,
    };
}

}  // namespace tidemark::policies
