// The handlers of launches, copies and fills.
#include "replay/inject/use_recorder.h"

#include <algorithm>
#include <cstring>

namespace tidemark::inject {

using live::kUsePerhaps;
using live::kUseReads;
using live::kUseWrites;

namespace {

// The arguments in one piece; empty: they are passed one by one.
std::span<const std::byte> packed_arguments(void* const* extra) {
    const std::byte* begin = nullptr;
    std::size_t size = 0;
    for (; extra != nullptr && reinterpret_cast<std::uintptr_t>(*extra) != kExtraEnd; extra += 2) {
        const auto what = reinterpret_cast<std::uintptr_t>(extra[0]);
        if (what == kExtraBuffer)
            begin = static_cast<const std::byte*>(extra[1]);
        else if (what == kExtraBufferSize)
            size = *static_cast<const std::size_t*>(extra[1]);
        else
            return {};
    }
    return {begin, begin == nullptr ? 0 : size};
}

// A block that is written in part counts as read as well: the rest of it stays.
std::uint8_t written(const UsedBlock& block, std::uint64_t size) {
    const bool whole = block.offset == 0 && size >= block.size;
    return whole ? kUseWrites : kUseReads | kUseWrites;
}

}  // namespace

void UseRecorder::Uses::add(const UsedBlock& block, std::uint8_t flags) {
    if (block.address == 0)
        return;
    Use* const begin = many_.empty() ? few_.data() : many_.data();
    Use* const end = begin + all().size();
    Use* const known =
        std::find_if(begin, end, [&](const Use& use) { return use.address == block.address; });
    const Use use{block.address, flags, block.device};
    if (known != end) {
        known->size = ((known->size | flags) & ~std::uint64_t{kUsePerhaps}) |
                      (known->size & flags & kUsePerhaps);
    } else if (many_.empty() && count_ < few_.size()) {
        few_[count_++] = use;
    } else {
        if (many_.empty())
            many_.assign(few_.begin(), few_.end());
        many_.push_back(use);
    }
}

bool UseRecorder::launches_nothing(const Call& call, cuda::CUstream stream) const {
    return captures_.load(std::memory_order_relaxed) > 0 &&
           driver_.is_capturing(stream, call.per_thread);
}

void UseRecorder::record(const Call& call, std::uint8_t device, cuda::CUstream stream,
                         std::uint32_t tag, const Uses& uses, bool known) {
    live::ReportedEvent event{.kind = live::RecordKind::use,
                              .device = device == kNoDevice ? std::uint8_t{0} : device,
                              .stream = call.handle_of(stream),
                              .extra = launches_.fetch_add(1, std::memory_order_relaxed) + 1,
                              .tag = tag};
    const RecordedLaunch launched{.correlation = call.correlation,
                                  .launch = static_cast<std::uint32_t>(event.extra),
                                  .stream = event.stream,
                                  .tag = tag,
                                  .device = event.device,
                                  .is_graph = !known && call.symbol == nullptr};
    if (uses.all().empty()) {
        event.size = known ? 0 : kUsePerhaps;
        memory_.put(event);
    } else {
        event.stack = memory_.stack();
        memory_.put_uses(event, uses.all());
    }
    times_.launched(launched);
}

void UseRecorder::scan(const std::byte* argument, std::size_t size, LiveRanges::Search& search,
                       Uses& uses) {
    constexpr std::size_t kAddressSize = sizeof(std::uint64_t);
    const std::uint8_t flags = kUseReads | kUseWrites | (size == kAddressSize ? 0 : kUsePerhaps);
    for (std::size_t at = 0; at + kAddressSize <= size; at += kAddressSize) {
        std::uint64_t address = 0;
        std::memcpy(&address, argument + at, kAddressSize);
        uses.add(search.find(address), flags);
    }
}

// False: what the kernel uses isn't known.
bool UseRecorder::find_uses(const Kernel& kernel, const Launch& launch, Uses& uses) const {
    if (!kernel.known)
        return false;
    const std::span<const std::byte> packed = packed_arguments(launch.extra);
    LiveRanges::Search search(ranges_);
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const KernelParameter& each = kernel.parameters[i];
        if (launch.arguments != nullptr)
            scan(static_cast<const std::byte*>(launch.arguments[i]), each.size, search, uses);
        else if (each.offset + each.size <= packed.size())
            scan(packed.data() + each.offset, each.size, search, uses);
        else
            return false;
    }
    return true;
}

void UseRecorder::launch_kernel(const Call& call, std::uint8_t device, const Launch& launch) {
    if (launches_nothing(call, launch.stream))
        return;
    const Kernel& kernel = kernels_.find(launch.function, call.symbol);
    std::uint32_t tag = kernel.tag.load(std::memory_order_acquire);
    if (tag == 0) {
        tag = memory_.string(kernel.name);
        kernel.tag.store(tag, std::memory_order_release);
    }
    Uses uses;
    const bool known = find_uses(kernel, launch, uses);
    record(call, device, launch.stream, tag, uses, known);
}

void UseRecorder::launch(const Call& call, std::uint8_t device) {
    const auto& params = call.as<LaunchParams>();
    launch_kernel(call, device, {params.function, params.stream, params.arguments, params.extra});
}

void UseRecorder::launch_cooperative(const Call& call, std::uint8_t device) {
    const auto& params = call.as<LaunchParams>();
    launch_kernel(call, device, {params.function, params.stream, params.arguments, nullptr});
}

void UseRecorder::launch_configured(const Call& call, std::uint8_t device) {
    const auto& params = call.as<LaunchExParams>();
    launch_kernel(call, device,
                  {params.function, params.config->stream, params.arguments, params.extra});
}

void UseRecorder::launch_graph(const Call& call, std::uint8_t device) {
    const cuda::CUstream stream = call.as<GraphLaunchParams>().stream;
    if (!launches_nothing(call, stream))
        record(call, device, stream, memory_.tag(call.index), {}, false);
}

void UseRecorder::copy_block(const Call& call, std::uint8_t device, const CopyParams& copy,
                             cuda::CUstream stream) {
    if (launches_nothing(call, stream))
        return;
    Uses uses;
    LiveRanges::Search search(ranges_);
    uses.add(search.find(copy.source), kUseReads);
    const UsedBlock& target = search.find(copy.target);
    uses.add(target, written(target, copy.size));
    record(call, device, stream, memory_.tag(call.index), uses, true);
}

void UseRecorder::copy(const Call& call, std::uint8_t device) {
    copy_block(call, device, call.as<CopyParams>(), nullptr);
}

void UseRecorder::copy_async(const Call& call, std::uint8_t device) {
    const auto& params = call.as<CopyAsyncParams>();
    copy_block(call, device, params.copy, params.stream);
}

void UseRecorder::copy_peer(const Call& call, std::uint8_t device) {
    const auto& params = call.as<CopyPeerParams>();
    copy_block(call, device, {params.target, params.source, params.size}, nullptr);
}

void UseRecorder::copy_peer_async(const Call& call, std::uint8_t device) {
    const auto& params = call.as<CopyPeerAsyncParams>();
    copy_block(call, device, {params.copy.target, params.copy.source, params.copy.size},
               params.stream);
}

void UseRecorder::copy_blocks(const Call& call, std::uint8_t device, const Batch& batch,
                              cuda::CUstream stream) {
    if (launches_nothing(call, stream))
        return;
    Uses uses;
    LiveRanges::Search search(ranges_);
    for (std::size_t i = 0; i < batch.count; ++i) {
        uses.add(search.find(batch.sources[i]), kUseReads);
        const UsedBlock& target = search.find(batch.targets[i]);
        uses.add(target, written(target, batch.sizes[i]));
    }
    record(call, device, stream, memory_.tag(call.index), uses, true);
}

void UseRecorder::copy_boxes(const Call& call, std::uint8_t device,
                             std::span<const CopyOperation> operations, cuda::CUstream stream) {
    if (launches_nothing(call, stream))
        return;
    Uses uses;
    LiveRanges::Search search(ranges_);
    const auto add = [&](const CopyOperand& operand, std::uint8_t flags) {
        uses.add(operand.type == kOperandIsArray ? search.find_array(operand.address)
                                                 : search.find(operand.address),
                 flags);
    };
    for (const CopyOperation& each : operations) {
        add(each.source, kUseReads);
        add(each.target, kUseReads | kUseWrites);
    }
    record(call, device, stream, memory_.tag(call.index), uses, true);
}

template <class End>
void UseRecorder::copy_box(const Call& call, std::uint8_t device, const End& target,
                           const End& source, cuda::CUstream stream) {
    if (launches_nothing(call, stream))
        return;
    Uses uses;
    LiveRanges::Search search(ranges_);
    const auto add = [&](const End& end, std::uint8_t flags) {
        uses.add(end.type == kMemoryIsArray
                     ? search.find_array(end.array)
                     : search.find(end.type == kMemoryIsHost ? end.host : end.device),
                 flags);
    };
    add(source, kUseReads);
    add(target, kUseReads | kUseWrites);
    record(call, device, stream, memory_.tag(call.index), uses, true);
}

void UseRecorder::copy_2d(const Call& call, std::uint8_t device) {
    const auto& copy = *call.as<CopyBoxParams<CopyEnd2d>>().copy;
    copy_box(call, device, copy.target, copy.source, nullptr);
}

void UseRecorder::copy_2d_async(const Call& call, std::uint8_t device) {
    const auto& params = call.as<CopyBoxParams<CopyEnd2d>>();
    copy_box(call, device, params.copy->target, params.copy->source, params.stream);
}

void UseRecorder::copy_3d(const Call& call, std::uint8_t device) {
    const auto& copy = *call.as<CopyBoxParams<CopyEnd3d>>().copy;
    copy_box(call, device, copy.target, copy.source, nullptr);
}

void UseRecorder::copy_3d_async(const Call& call, std::uint8_t device) {
    const auto& params = call.as<CopyBoxParams<CopyEnd3d>>();
    copy_box(call, device, params.copy->target, params.copy->source, params.stream);
}

void UseRecorder::fill_block(const Call& call, std::uint8_t device, std::uint64_t target,
                             std::uint64_t size, cuda::CUstream stream) {
    if (launches_nothing(call, stream))
        return;
    Uses uses;
    LiveRanges::Search search(ranges_);
    const UsedBlock& block = search.find(target);
    uses.add(block, written(block, size));
    record(call, device, stream, memory_.tag(call.index), uses, true);
}

void UseRecorder::fill_2d(const Call& call, std::uint8_t device) {
    fill_block(call, device, call.as<Fill2dParams>().target, 0, nullptr);
}

void UseRecorder::fill_2d_async(const Call& call, std::uint8_t device) {
    const auto& params = call.as<Fill2dParams>();
    fill_block(call, device, params.target, 0, params.stream);
}

}  // namespace tidemark::inject
