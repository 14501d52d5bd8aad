// torch: how a request is served, and how a block is freed.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/policies/driver_pool_allocator.h"
#include "core/policies/torch_allocator.h"

namespace tidemark::policies {

tl::expected<Allocation, OutOfMemory> Torch::allocate(const Request& request) {
    const Bytes padding =
        request.alignment > kTorchMinBlock ? request.alignment - kTorchMinBlock : 0;
    if (request.size >= kLargestRequest)
        return refuse({OutOfMemory::Cause::too_large});
    if (request.pool == PoolId::default_pool && open_scopes_ == 0) [[likely]] {
        if (!events_.empty())
            settle_events();
    }
    const Bytes size = settings_.round_size(std::max<Bytes>(request.size, 1) + padding);
    const Kind kind = size <= kTorchSmallMax ? TorchPools::small : TorchPools::large;
    const BlockId id =
        find_or_create(request, pools_.list_of(request.pool, kind, request.stream), size);
    if (id == kNoBlock) [[unlikely]]
        return refuse(refusal_);
    split_if_worthwhile(id, size);
    Block& block = blocks_[id];
    block.state = Block::State::allocated;
    block.streams = {};
    count_allocated(block.size);
    const Address address{align_up(to_integer(block.address), request.alignment)};
    return Allocation{address, block.size, id};
}

BlockId Torch::find_or_create(const Request& request, std::uint32_t list, Bytes size) {
    if (request.waited) [[unlikely]]
        return retry(request, list, size);
    BlockId id = find_free(list, size);
    if (id != kNoBlock) [[likely]]
        return id;
    if (should_collect())
        collect_garbage();
    if (rejects(size))
        return kNoBlock;
    id = new_block(list, size);
    if (id == kNoBlock && release_available(list, size))
        id = new_block(list, size);
    const bool in_scope = open_scopes_ != 0 || request.pool != PoolId::default_pool;
    if (id == kNoBlock && !in_scope) {
        release_cached();
        ++stats_.retries;
        id = new_after_wait(list, size);
    }
    if (id == kNoBlock && request.pool == PoolId::default_pool)
        id = borrow(pools_.kind_of(list), request.stream, size);
    return id;
}

// The rest of a request that was refused before, when the caller waits for the device itself.
BlockId Torch::retry(const Request& request, std::uint32_t list, Bytes size) {
    if (open_scopes_ != 0 || request.pool != PoolId::default_pool || rejects(size))
        return kNoBlock;
    release_unwaited();
    const BlockId id = new_after_wait(list, size);
    return id != kNoBlock ? id : borrow(pools_.kind_of(list), request.stream, size);
}

// Only since version 2.13 does it look at blocks that the wait has freed (pytorch issue 189504).
BlockId Torch::new_after_wait(std::uint32_t list, Bytes size) {
    const BlockId id = settings_.looks_after_wait() ? find_free(list, size) : kNoBlock;
    return id != kNoBlock ? id : new_block(list, size);
}

// Fails before anything is released: throw_on_cudamalloc_oom with a limit.
bool Torch::rejects(Bytes size) {
    if (!settings_.throws_early || limit_ == 0 ||
        usage_.reserved + settings_.segment_size(size) <= limit_)
        return false;
    refusal_ = {OutOfMemory::Cause::limit, DeviceStatus::out_of_memory};
    return true;
}

BlockId Torch::find_free(std::uint32_t list, Bytes size) {
    TorchPools::List& chosen = pools_.list(list);
    if (should_collect())
        ++pools_.pool_of(list).searches;
    if (settings_.max_split == TorchSettings::kUnlimited && reservations_.empty()) [[likely]]
        return chosen.free.take_first_from(size, blocks_);
    const BlockId id = pools_.best_fit(list, size, settings_.expandable, blocks_);
    if (id == kNoBlock)
        return kNoBlock;
    const Bytes found = blocks_[id].size;
    if (size < settings_.max_split && found >= settings_.max_split)
        return kNoBlock;
    if (size >= settings_.max_split && found >= size + settings_.max_non_split_rounding)
        return kNoBlock;
    chosen.free.erase(id, blocks_);
    return id;
}

// A block of a private pool that serves the default pool's requests when nothing else can.
BlockId Torch::borrow(Kind kind, StreamId stream, Bytes size) {
    for (const auto& [id, family] : pools_.lenders()) {
        const BlockId block = find_free(pools_.find_list(2 * family + kind, stream), size);
        if (block != kNoBlock)
            return block;
    }
    return kNoBlock;
}

BlockId Torch::new_block(std::uint32_t list, Bytes size) {
    const Bytes segment = settings_.segment_size(size);
    if (limit_ != 0 && usage_.reserved + segment > limit_) {
        refusal_ = {OutOfMemory::Cause::limit, DeviceStatus::out_of_memory};
        return kNoBlock;
    }
    if (settings_.expandable)
        return expand(list, size);
    const DeviceResult<Address> address = device_->malloc(segment);
    if (!address) {
        refusal_ = refused_by(address.error());
        return kNoBlock;
    }
    count_reserved(list, segment);
    ++stats_.segments_created;
    return blocks_.create(*address, segment, list);
}

void Torch::split_if_worthwhile(BlockId id, Bytes size) {
    const Block& block = blocks_[id];
    const Bytes rest = block.size - size;
    const std::uint32_t list = block.list;
    const bool any_rest = settings_.expandable || pools_.kind_of(list) == TorchPools::small;
    const bool worthwhile =
        any_rest ? rest >= kTorchMinBlock : size < settings_.max_split && rest > kTorchSmallMax;
    if (!worthwhile || !pools_.family_of(list).traits.splits)
        return;
    pools_.insert_free(blocks_.split(id, size), blocks_);
}

void Torch::deallocate(const Allocation& allocation, StreamId /*stream*/) {
    const BlockId id = allocation.node;
    Block& block = blocks_[id];
    TM_CHECK(block.state == Block::State::allocated);
    block.state = Block::State::waiting;
    if (!allocation.retired)
        usage_.allocated -= block.size;
    if (block.streams.empty()) [[likely]] {
        free_block(id);
    } else if (allocation.retired) {
        events_.forget(id);
        free_block(id);
    } else if (open_scopes_ != 0) {
        events_.defer(id);
    } else {
        events_.insert(id, blocks_, *device_, stats_);
        free_done();
    }
}

// The end of a block's lifetime: neither allocated nor pending free. Joins its free neighbours.
void Torch::free_block(BlockId id) {
    usage_.active -= blocks_[id].size;
    blocks_[id].state = Block::State::free;
    blocks_[id].streams = {};
    pools_.insert_free(pools_.join_free_neighbours(id, blocks_), blocks_);
}

void Torch::record_use(const Allocation& allocation, StreamId stream) {
    Block& block = blocks_[allocation.node];
    if (pools_.list(block.list).stream == stream)
        return;
    block.streams.add(stream);
    events_.record_use(allocation.node, stream, open_scopes_ != 0);
}

void Torch::free_done() {
    for (const BlockId id : events_.done())
        free_block(id);
    events_.done().clear();
}

void Torch::settle_events() {
    events_.insert_deferred(blocks_, *device_, stats_);
    events_.poll(blocks_, *device_);
    free_done();
}

void Torch::begin_pool(PoolId pool, PoolTraits traits) {
    if (pool == PoolId::default_pool)
        return;
    const std::uint32_t family = pools_.family(pool);
    pools_.set_traits(family, traits);
    pools_.set_closed(family, false);
    ++pools_.numbered(family).scopes;
    ++open_scopes_;
}

void Torch::end_pool(PoolId pool) {
    const auto found = pools_.families().find(pool);
    if (found == pools_.families().end() || pools_.numbered(found->second).scopes == 0)
        return;
    --pools_.numbered(found->second).scopes;
    --open_scopes_;
}

void Torch::close_pool(PoolId pool) {
    const auto found = pools_.families().find(pool);
    if (found == pools_.families().end() || pool == PoolId::default_pool)
        return;
    const std::uint32_t family = found->second;
    open_scopes_ -= std::exchange(pools_.numbered(family).scopes, 0);
    pools_.set_closed(family, true);
    pools_.set_traits(family, {});
    pools_.forget_if_over(pool);
}

Result<void> Torch::reconfigure(const Options& options) {
    TM_ASSIGN(settings_, TorchSettings::from(options));
    limit_ = settings_.limit_on(device_->memory().total);
    pools_.set_large_page(settings_.large_segment);
    return {};
}

Bytes Torch::largest_free() const {
    return pools_.largest_free(blocks_);
}

// A segment of a reservation is a run of mapped blocks, as in PyTorch's snapshots.
void Torch::for_each_region(const std::function<void(const Region&)>& visit) const {
    blocks_.for_each_run([](const Block& block) { return block.state != Block::State::unmapped; },
                         [&](const Block& block, Range run) {
                             const auto state =
                                 block.state == Block::State::allocated ? Region::State::allocated
                                 : block.state == Block::State::waiting ? Region::State::waiting
                                                                        : Region::State::free;
                             visit({{block.address, block.size},
                                    run,
                                    state,
                                    pools_.list(block.list).stream,
                                    pools_.family_of(block.list).id,
                                    false,
                                    page_of(block)});
                         });
    // Memory that the device refused to take back is at no address; it is shown at the end of its
    // reservation, where nothing is ever mapped.
    for (const Expandable& expandable : reservations_) {
        const Range range = expandable.reservation.range();
        const Bytes unused = expandable.reservation.refused();
        const Range hole{range.begin + (range.size - unused), unused};
        const TorchPools::List& list = pools_.list(expandable.list);
        if (unused != 0)
            visit({hole, hole, Region::State::hole, list.stream,
                   pools_.family_of(expandable.list).id});
    }
}

std::unique_ptr<Allocator> Torch::clone(Device& device) const {
    std::unique_ptr<Torch> copy(new Torch(*this));
    copy->device_ = &device;
    return copy;
}

namespace {

// The driver's pool, which PyTorch sets to keep everything; no other setting applies to it.
Result<std::unique_ptr<Allocator>> make_torch_async(Device& device, const Options& options) {
    if (!options.is_default("limit") || !options.is_default("per_process_memory_fraction"))
        return fail(ErrorCode::bad_option, "backend:cudaMallocAsync has no limit here", "torch",
                    "leave out limit and per_process_memory_fraction, or give the device less "
                    "memory");
    return std::make_unique<DriverPoolAllocator>(device, 0, DriverPoolAllocator::kKeepAll);
}

Result<std::unique_ptr<Allocator>> make_torch(Device& device, const Options& options) {
    if (options.choice("backend") != "native")
        return make_torch_async(device, options);
    TM_ASSIGN(const TorchSettings settings, TorchSettings::from(options));
    if (settings.expandable && !device.has(Feature::virtual_memory))
        return fail(ErrorCode::bad_option, "the device has no virtual memory management", "torch",
                    "leave out expandable_segments");
    return std::make_unique<Torch>(device, settings);
}

}  // namespace

PolicyInfo torch() {
    return {
        .name = "torch",
        .summary = "PyTorch's caching allocator: segments, split and merged, per stream",
        .source = "PyTorch 2.11, CUDACachingAllocator",
        .options = torch_options(),
        .make = make_torch,
        .variables = torch_variables(),
    };
}

}  // namespace tidemark::policies
