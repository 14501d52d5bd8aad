// Two passes over the events in order: one for what was live before, one that gives all of them
// slots.
#include "traces/readers/address_events.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/base/vacant_ids.h"
#include "traces/model/event_buffer.h"

namespace tidemark {
namespace {

struct AddressKey {
    std::uint64_t address = 0;
    std::uint32_t space = 0;
    std::uint16_t device = 0;

    friend bool operator==(const AddressKey&, const AddressKey&) = default;
};

struct AddressKeyHash {
    std::size_t operator()(const AddressKey& key) const {
        constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
        const std::uint64_t where = (std::uint64_t{key.space} << 16U) ^ key.device;
        return static_cast<std::size_t>(((key.address ^ (where * kOdd)) * kOdd) >> 16U);
    }
};

AddressKey address_key(const AddressEvent& event) {
    return {event.address, event.space, event.device};
}

class AddressWriter {
  public:
    AddressWriter(TraceSink& sink, const ReadOptions& options, const std::string& name,
                  TraceInfo& info)
        : options_(options), name_(name), info_(info), out_(sink) {
        info_.streams.assign(1, 0);
        streams_[0] = StreamId::default_stream;
    }

    Result<void> write(std::vector<AddressEvent> events);

  private:
    Result<void> write_preamble(const std::vector<AddressEvent>& events);
    Result<void> allocate(const AddressEvent& event, TraceEvent made);
    Result<void> free(const AddressEvent& event, TraceEvent made);
    StreamId stream_of(std::uint64_t handle);

    Result<void> odd(std::uint64_t& counter, std::string what) {
        ++counter;
        if (options_.strict)
            return fail(ErrorCode::bad_input, std::move(what), name_,
                        "without --strict it is counted and reading continues");
        return {};
    }

    const ReadOptions& options_;
    const std::string& name_;
    TraceInfo& info_;
    EventBuffer out_;
    VacantIds slots_;
    std::unordered_map<AddressKey, std::uint32_t, AddressKeyHash>
        live_;  // slot; kNoSlot: was freed
    std::unordered_map<std::uint64_t, StreamId> streams_;
};

StreamId AddressWriter::stream_of(std::uint64_t handle) {
    const auto [found, is_new] =
        streams_.try_emplace(handle, StreamId{static_cast<std::uint32_t>(info_.streams.size())});
    if (is_new)
        info_.streams.push_back(handle);
    return found->second;
}

Result<void> AddressWriter::write_preamble(const std::vector<AddressEvent>& events) {
    std::unordered_map<AddressKey, bool, AddressKeyHash> seen;
    for (const AddressEvent& event : events) {
        if (event.kind == EventKind::out_of_memory)
            continue;
        const bool is_first = seen.try_emplace(address_key(event), true).second;
        if (!is_first || event.kind != EventKind::free)
            continue;
        TraceEvent lived{.size = event.size,
                         .address = event.address,
                         .slot = slots_.take(),
                         .stream = stream_of(event.stream),
                         .device = event.device,
                         .flags = kPreamble};
        live_[address_key(event)] = lived.slot;
        TM_TRY(out_.add(lived));
    }
    info_.preamble_count = out_.count();
    info_.begins_inside = info_.preamble_count > 0;
    if (info_.begins_inside)
        info_.warnings.push_back(
            fmt::format("the recording starts in the middle: {} were live before; earlier blocks "
                        "that it never frees are unknown",
                        format_counted(info_.preamble_count, "allocation")));
    return {};
}

Result<void> AddressWriter::allocate(const AddressEvent& event, TraceEvent made) {
    if (event.size == 0)
        TM_TRY(odd(info_.anomalies.zero_sizes, "an allocation of 0 bytes"));
    if (event.size >= kLargestRequest)
        TM_TRY(odd(info_.anomalies.giant_sizes, "an allocation of 2^60 bytes or more"));
    const auto [found, is_new] = live_.try_emplace(address_key(event), kNoSlot);
    if (found->second != kNoSlot) {
        TM_TRY(odd(info_.anomalies.reused_live,
                   fmt::format("{:#x} is allocated while it is still live", event.address)));
        TraceEvent end = made;
        end.kind = EventKind::free;
        end.size = 0;
        end.slot = found->second;
        TM_TRY(out_.add(end));
        slots_.give_back(found->second);
    }
    made.slot = found->second = slots_.take();
    return out_.add(made);
}

Result<void> AddressWriter::free(const AddressEvent& event, TraceEvent made) {
    std::uint32_t& slot = live_.at(address_key(event));
    if (slot == kNoSlot)
        TM_TRY(
            odd(info_.anomalies.double_frees, fmt::format("{:#x} is freed twice", event.address)));
    else
        slots_.give_back(slot);
    made.slot = std::exchange(slot, kNoSlot);
    made.size = 0;
    return out_.add(made);
}

Result<void> AddressWriter::write(std::vector<AddressEvent> events) {
    std::ranges::stable_sort(events, {}, &AddressEvent::time);
    TM_TRY(write_preamble(events));
    std::uint16_t devices = 1;
    const Nanoseconds begin = events.empty() ? 0 : events.front().time;
    for (const AddressEvent& event : events) {
        devices = std::max<std::uint16_t>(devices, static_cast<std::uint16_t>(event.device + 1));
        const TraceEvent made{.time = event.time - begin,
                              .size = event.size,
                              .address = event.address,
                              .stream = stream_of(event.stream),
                              .device = event.device,
                              .kind = event.kind};
        if (event.kind == EventKind::allocate)
            TM_TRY(allocate(event, made));
        else if (event.kind == EventKind::free)
            TM_TRY(free(event, made));
        else
            TM_TRY(out_.add(made));
    }
    TM_TRY(out_.flush());
    info_.event_count = out_.count();
    info_.slot_count = slots_.count();
    info_.duration = out_.last_time();
    if (info_.devices.size() < devices)
        info_.devices.resize(devices);
    if (info_.pools.empty())
        info_.pools.emplace_back("default");
    return {};
}

}  // namespace

Result<void> write_address_events(std::vector<AddressEvent> events, TraceSink& sink,
                                  const ReadOptions& options, const std::string& name,
                                  TraceInfo& info) {
    return AddressWriter(sink, options, name, info).write(std::move(events));
}

}  // namespace tidemark
