// vpmm: how a request is served, and how memory is freed.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"
#include "core/policies/vpmm_allocator.h"

namespace tidemark::policies {
namespace {

// Would more memory or addresses have helped?
bool is_shortage(const OutOfMemory& refusal) {
    return refusal.cause != OutOfMemory::Cause::device_error;
}

// How much to add so that an address that is a multiple of `given` can be aligned.
Bytes padding_for(Bytes alignment, Bytes given) {
    return alignment > given ? alignment - given : 0;
}

}  // namespace

tl::expected<Allocation, OutOfMemory> Vpmm::allocate(const Request& request) {
    if (request.size >= kLargestRequest)
        return refuse({OutOfMemory::Cause::too_large});
    const Bytes size = std::max<Bytes>(request.size, 1);
    const Bytes small = size + padding_for(request.alignment, VpmmSmall::kUnit);
    if (settings_.page == 0 || small < settings_.page)
        return allocate_small(request, align_up(small, VpmmSmall::kUnit));
    return allocate_pages(request, size + padding_for(request.alignment, device_->granularity()));
}

tl::expected<Allocation, OutOfMemory> Vpmm::allocate_pages(const Request& request, Bytes size) {
    size = (size + settings_.page - 1) / settings_.page * settings_.page;
    const Owner owner = regions_.owner_of(request.stream);
    const BlockId id = find_or_make(owner, size);
    if (id == kNoBlock) [[unlikely]]
        return refuse(refusal_);
    regions_.take(id, size, owner);
    count_allocated(size);
    const Address begin = regions_[id].address;
    return Allocation{Address{align_up(to_integer(begin), request.alignment)}, size, id};
}

// A piece. When there are no more, and while a graph is captured (a piece would become a node of
// it), a page.
tl::expected<Allocation, OutOfMemory> Vpmm::allocate_small(const Request& request, Bytes size) {
    const bool capturing = device_->capturing();
    refusal_ = {OutOfMemory::Cause::device_error, DeviceStatus::not_permitted};
    if (!capturing) {
        settle();
        if (const auto granted = grant_piece(request, size)) [[likely]]
            return *granted;
        if (!is_shortage(refusal_))
            return refuse(refusal_);
    }
    if (settings_.page == 0)
        return !capturing && reclaim() ? retry_piece(request, size) : refuse(refusal_);
    const std::uint64_t refusals = stats_.out_of_memory;
    const std::uint64_t retries = stats_.retries;
    auto granted = allocate_pages(request, size);
    if (!granted && stats_.retries != retries) {  // the wait has covered the pool's own memory
        stats_.out_of_memory = refusals;
        return retry_piece(request, size);
    }
    return granted;
}

std::optional<Allocation> Vpmm::grant_piece(const Request& request, Bytes size) {
    if (exceeds_limit(small_.growth_for(*device_, size))) {
        refusal_ = {OutOfMemory::Cause::limit};
        return std::nullopt;
    }
    const DeviceResult<std::uint32_t> piece = small_.allocate(*device_, size, request.stream);
    count_held();
    if (!piece) {
        refusal_ = refused_by(piece.error());
        return std::nullopt;
    }
    if (settings_.limit != 0 && usage_.reserved > settings_.limit) [[unlikely]] {
        usage_.active += small_.undo(*device_, *piece) ? 0 : size;
        count_held();
        refusal_ = {OutOfMemory::Cause::limit};
        return std::nullopt;
    }
    count_allocated(size);
    const Address begin = small_.address(*piece);
    return Allocation{Address{align_up(to_integer(begin), request.alignment)}, size,
                      *piece | kSmallNode};
}

tl::expected<Allocation, OutOfMemory> Vpmm::retry_piece(const Request& request, Bytes size) {
    ++stats_.retries;
    if (const auto granted = grant_piece(request, size))
        return *granted;
    return refuse(refusal_);
}

bool Vpmm::exceeds_limit(Bytes growth) const {
    return settings_.limit != 0 && growth != 0 &&
           (growth > settings_.limit || usage_.reserved > settings_.limit - growth);
}

// A free region of at least `size` for the owner, or kNoBlock with the reason in refusal_.
BlockId Vpmm::find_or_make(Owner owner, Bytes size) {
    const bool capturing = device_->capturing();
    if (!capturing)
        settle();
    const BlockId found = find(owner, size, !capturing);
    const bool wasteful = found != kNoBlock && settings_.waste != 0 &&
                          regions_[found].size / size >= settings_.waste &&
                          regions_[found].size > settings_.waste * size;
    if (found != kNoBlock && !wasteful) [[likely]]
        return found;
    if (capturing && settings_.capture == VpmmSettings::Capture::reject) {
        refusal_ = {OutOfMemory::Cause::device_error, DeviceStatus::not_permitted};
        return found;
    }
    if (!capturing && !wasteful)
        return make(owner, size);
    const BlockId made = make_room(owner, size, Effort::pages);
    return made == kNoBlock ? found : made;
}

// Best fit among the stream's own regions, whatever work is still queued; then among the others'
// whose work has finished.
BlockId Vpmm::find(Owner owner, Bytes size, bool ask) {
    const bool highest = settings_.harvest == VpmmSettings::Harvest::document;
    const BlockId own = regions_.find_own(owner, size, highest);
    if (own != kNoBlock) [[likely]]
        return own;
    if (ask)
        regions_.poll_others(owner, *device_);
    return regions_.find_done(owner, size, highest);
}

BlockId Vpmm::make(Owner owner, Bytes size) {
    const Effort first = first_effort(size);
    BlockId id = make_room(owner, size, first);
    if (id == kNoBlock && first != Effort::all && is_shortage(refusal_))
        id = make_room(owner, size, Effort::all);
    if (id != kNoBlock || !is_shortage(refusal_) || !reclaim())
        return id;
    ++stats_.retries;
    id = find(owner, size, true);
    return id != kNoBlock ? id : make_room(owner, size, Effort::all);
}

void Vpmm::record_use(const Allocation& allocation, StreamId stream) {
    if ((allocation.node & kSmallNode) != 0)
        small_.record_use(allocation.node & ~kSmallNode, stream);
    else
        regions_.record_use(allocation.node, stream);
}

void Vpmm::deallocate(const Allocation& allocation, StreamId /*stream*/) {
    if (!allocation.retired)
        usage_.allocated -= allocation.size;
    if ((allocation.node & kSmallNode) != 0) {
        if (small_.deallocate(*device_, allocation.node & ~kSmallNode, allocation.retired))
            usage_.active -= allocation.size;
        count_held();
        return;
    }
    const BlockId id = allocation.node;
    TM_CHECK(regions_[id].state == Block::State::allocated);
    if (allocation.retired || order_users(id)) [[likely]] {
        free_block(id, allocation.retired);
        return;
    }
    regions_.set_waiting(id, VpmmRegions::deferred);
    deferred_.push_back(id);
}

// Orders the block's stream behind the others that used the block. False: not now.
bool Vpmm::order_users(BlockId id) {
    const Block& block = regions_[id];
    if (block.streams.empty()) [[likely]]
        return true;
    return !device_->capturing() &&
           block.streams.order_before(regions_.stream_of(block.list), *device_);
}

void Vpmm::free_block(BlockId id, bool done) {
    usage_.active -= regions_[id].size;
    regions_.free(id, regions_[id].list, done, *device_);
}

// What could not be done earlier, and zombies whose work has finished. Not during a capture.
void Vpmm::settle() {
    if (!deferred_.empty()) [[unlikely]] {
        std::erase_if(deferred_, [this](BlockId id) {
            const bool ordered = order_users(id);
            if (ordered)
                free_block(id, false);
            return ordered;
        });
    }
    if (small_.has_waiting()) [[unlikely]] {
        usage_.active -= small_.settle(*device_);
        count_held();
    }
    if (regions_.has_zombies())
        end_zombies();
}

void Vpmm::count_held() {
    usage_.reserved = table_.held() + small_.held();
    usage_.mapped = table_.mapped() + small_.held();
}

std::unique_ptr<Allocator> Vpmm::clone(Device& device) const {
    std::unique_ptr<Vpmm> copy(new Vpmm(*this));
    copy->device_ = &device;
    return copy;
}

Result<void> Vpmm::prepare() {
    if (settings_.pages == 0)
        return {};
    const Bytes size = settings_.pages * settings_.page;
    DeviceResult<void> done;
    if (const auto root = table_.reserve(*device_, settings_.va_size); !root) {
        done = tl::make_unexpected(root.error());
    } else {
        regions_.add_root(table_.root(*root));
        done = table_.populate(*device_, {*root, {table_.root(*root).begin, size}});
    }
    if (!done) {
        const MemoryInfo memory = device_->memory();
        Error error = device_->explain(done.error());
        error.what = fmt::format("{} pages of {} cannot be created ({} of {} are free): {}",
                                 settings_.pages, format_bytes(settings_.page),
                                 format_bytes(memory.free), format_bytes(memory.total), error.what);
        error.where = "policy vpmm";
        return tl::make_unexpected(std::move(error));
    }
    const BlockId id = regions_.find_hole(size);
    regions_.take_hole(id, size);
    regions_.free(id, VpmmRegions::kNobody, true, *device_);
    ++stats_.maps;
    count_held();
    return {};
}

PolicyInfo vpmm() {
    return {
        .name = "vpmm",
        .summary = "pages behind reserved addresses, moved to where a request needs them in a row",
        .source = "openvm stark-backend 2.0, virtual pool memory manager (VPMM)",
        .options = vpmm_options(),
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            TM_ASSIGN(const VpmmSettings settings, VpmmSettings::from(options, device));
            auto allocator = std::make_unique<Vpmm>(device, settings);
            TM_TRY(allocator->prepare());
            return allocator;
        },
        .variables = vpmm_variables(),
        .only_read = true,
        .maps_segments = true,
    };
}

}  // namespace tidemark::policies
