// The publisher of the process.
#include "replay/inject/memory_events.h"

#include <fmt/format.h>

#include "replay/inject/native_stack.h"

namespace tidemark::inject {

using live::RecordKind;
using live::ReportedEvent;

namespace {

ReportedEvent end_of(const ReportedEvent& begun) {
    const bool is_mapping = begun.kind == RecordKind::map;
    return {.kind = is_mapping ? RecordKind::unmap : RecordKind::free,
            .device = begun.device,
            .address = begun.address,
            .size = begun.size,
            .extra = is_mapping ? begun.extra : 0};
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

void MemoryEvents::emit(ReportedEvent&& event, std::size_t tag) {
    if (!started() || event.device == kNoDevice)
        return;
    event.tag = this->tag(tag);
    event.stack = stack();
    put(event);
}

void MemoryEvents::put(const ReportedEvent& event) {
    live::Publisher* const publisher = publisher_.load(std::memory_order_acquire);
    if (publisher == nullptr)
        return;
    if (ranges_ != nullptr)
        ranges_->follow(event);
    publisher->put(event);
}

std::uint32_t MemoryEvents::tag(std::size_t index) {
    std::uint32_t id = tag_ids_[index].load(std::memory_order_acquire);
    if (id == 0) [[unlikely]] {
        id = string(tags_[index]);
        tag_ids_[index].store(id, std::memory_order_release);
    }
    return id;
}

std::uint32_t MemoryEvents::string(std::string_view text) {
    live::Publisher* const publisher = publisher_.load(std::memory_order_acquire);
    return publisher == nullptr ? 0 : publisher->string(text);
}

std::uint32_t MemoryEvents::stack() {
    if (!options_.stacks) [[likely]]
        return 0;
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

void MemoryEvents::begin(ReportedEvent&& event, cuda::CUcontext context, std::size_t tag) {
    if (const auto before = live_.add(event, context)) [[unlikely]]
        emit(end_of(before->begin), tag);
    emit(std::move(event), tag);
}

bool MemoryEvents::end(std::uint64_t address, std::uint64_t stream, std::size_t tag,
                       LiveAllocation& ended) {
    if (!live_.take(address, ended))
        return false;
    ReportedEvent event = end_of(ended.begin);
    event.stream = stream;
    emit(std::move(event), tag);
    return true;
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
        ReportedEvent event = end_of(each.begin);
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
