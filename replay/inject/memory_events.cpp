// The publisher of the process.
#include "replay/inject/memory_events.h"

#include <fmt/format.h>

#include "replay/inject/native_stack.h"
#include "replay/inject/physical_memory.h"

namespace tidemark::inject {

using live::RecordKind;
using live::ReportedEvent;

namespace {

ReportedEvent end_of(const LiveAllocation& begun) {
    return {.kind = begun.is_mapping ? RecordKind::unmap : RecordKind::free,
            .device = begun.device,
            .address = begun.address,
            .size = begun.size,
            .extra = begun.is_mapping ? kElsewhere : 0};
}

}  // namespace

MemoryEvents::MemoryEvents(RecordOptions options, const ReportFile& report,
                           std::span<const std::string_view> tags, LiveRanges* ranges)
    : options_(std::move(options)),
      report_(report),
      tags_(tags),
      tag_ids_(tags.size()),
      ranges_(ranges) {}

bool MemoryEvents::start(const std::vector<live::LiveDevice>& devices, const Settings& settings) {
    const std::lock_guard lock(mutex_);
    if (over_ || publisher_.load() != nullptr)
        return !over_;
    live::PublishOptions publish{.name = options_.name, .history_limit = options_.history_limit};
    publish.devices = devices;
    publish.recording = report_.claim_recording(options_.output);
    publish.overwrite = options_.overwrite;
    publish.ring_slots = 1U << 15U;  // a driver's calls are slower than the usual ring is made for
    auto started = live::Publisher::start(publish);
    if (!started) {
        over_ = true;
        report_.write("problem", to_text(started.error()));
        return false;
    }
    owned_ = std::move(*started);
    report_.write("recording", owned_->recording());
    for (const auto& [key, value] : settings)
        static_cast<void>(owned_->setting(key, value, false));
    publisher_.store(owned_.get(), std::memory_order_release);
    return true;
}

// The publisher itself stays: a thread may be about to call it, which does nothing then.
void MemoryEvents::close() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    if (publisher_.exchange(nullptr) != nullptr)
        static_cast<void>(owned_->close());
}

std::uint32_t MemoryEvents::name_tag(std::size_t index) {
    const std::uint32_t id = string(tags_[index]);
    tag_ids_[index].store(id, std::memory_order_release);
    return id;
}

std::uint32_t MemoryEvents::string(std::string_view text) {
    live::Publisher* const publisher = publisher_.load(std::memory_order_acquire);
    return publisher == nullptr ? 0 : publisher->string(text);
}

std::uint32_t MemoryEvents::native_stack() {
    live::Publisher* const publisher = publisher_.load(std::memory_order_acquire);
    return publisher == nullptr ? 0 : name_stack(*publisher);
}

void MemoryEvents::refuse(const ReportedEvent& event, std::size_t tag) {
    emit({.kind = RecordKind::refused,
          .device = event.device,
          .stream = event.stream,
          .size = event.size,
          .pool = event.pool},
         tag);
}

[[gnu::hot]] void MemoryEvents::begin(ReportedEvent&& event, cuda::CUcontext context,
                                      std::size_t tag) {
    const auto before = live_.add({.address = event.address,
                                   .size = event.size,
                                   .context = context,
                                   .pool = event.pool,
                                   .device = event.device,
                                   .is_mapping = event.kind == RecordKind::map});
    if (before) [[unlikely]]
        emit(end_of(*before), tag);
    emit(std::move(event), tag);
}

[[gnu::hot]] bool MemoryEvents::end(std::uint64_t address, std::uint64_t stream, std::size_t tag,
                                    LiveAllocation& ended) {
    if (!live_.take(address, ended))
        return false;
    ReportedEvent event = end_of(ended);
    event.stream = stream;
    emit(std::move(event), tag);
    return true;
}

void MemoryEvents::begin_again(const LiveAllocation& ended, std::uint64_t stream, std::size_t tag) {
    begin({.kind = ended.is_mapping ? RecordKind::map : RecordKind::allocate,
           .device = ended.device,
           .stream = stream,
           .address = ended.address,
           .size = ended.size,
           .extra = ended.is_mapping ? kElsewhere : ended.size,
           .pool = ended.pool},
          ended.context, tag);
}

void MemoryEvents::end_context(cuda::CUcontext context, int device) {
    live::Publisher* const publisher = publisher_.load(std::memory_order_acquire);
    if (publisher == nullptr)
        return;
    const std::vector<LiveAllocation> ended = live_.end_context(context);
    publisher->mark(
        fmt::format("context destroyed on device {}, with {} allocations", device, ended.size()));
    const std::uint32_t tag = publisher->string(kContextEndTag);
    for (const LiveAllocation& each : ended) {
        ReportedEvent event = end_of(each);
        event.tag = tag;
        put(event);
    }
}

void MemoryEvents::mark(std::string_view text) {
    if (live::Publisher* const publisher = publisher_.load(std::memory_order_acquire))
        publisher->mark(text);
}

bool MemoryEvents::range(std::string_view name, bool ends) {
    live::Publisher* const publisher = publisher_.load(std::memory_order_acquire);
    if (publisher != nullptr)
        publisher->range(name, ends);
    return publisher != nullptr;
}

}  // namespace tidemark::inject
