// Small programs over tiers, and a machine for them where every figure can be counted on fingers:
// links of 1 byte a nanosecond, without latency.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/tiers/tier_run.h"
#include "tests/support/vector_trace.h"

namespace tidemark::support {

// Writes a trace in words. Times are nanoseconds from the start; each call is an event.
class TierTrace {
  public:
    TierTrace& allocate(Nanoseconds time, std::uint32_t slot, Bytes size, std::uint32_t stream = 0,
                        std::uint8_t flags = 0) {
        return add(time, EventKind::allocate, slot, size, stream, 0, flags);
    }

    TierTrace& free(Nanoseconds time, std::uint32_t slot, std::uint32_t stream = 0) {
        return add(time, EventKind::free, slot, 0, stream, 0, 0);
    }

    TierTrace& use(Nanoseconds time, std::uint32_t slot, std::uint8_t mode, std::uint32_t kernel,
                   std::uint32_t stream = 0) {
        return add(time, EventKind::use, slot, 0, stream, kernel, mode);
    }

    TierTrace& reserve(Nanoseconds time, std::uint32_t task, Bytes size, std::uint32_t stream = 0,
                       std::uint8_t flags = 0) {
        return add(time, EventKind::reserve, kNoSlot, size, stream, task, flags);
    }

    TierTrace& move(Nanoseconds time, std::uint32_t slot, std::uint8_t tier,
                    std::uint32_t stream = 0) {
        return add(time, EventKind::move, slot, 0, stream, 0, tier);
    }

    TierTrace& release(Nanoseconds time, std::uint32_t task, std::uint32_t stream = 0) {
        return add(time, EventKind::release, kNoSlot, 0, stream, task, 0);
    }

    TierTrace& event(Nanoseconds time, EventKind kind, std::uint32_t number, std::uint32_t stream) {
        return add(time, kind, kNoSlot, 0, stream, number, 0);
    }

    // A marker: the stream's time reaches `time`.
    TierTrace& until(Nanoseconds time, std::uint32_t stream = 0) {
        return add(time, EventKind::mark, kNoSlot, 0, stream, 0, 0);
    }

    VectorTrace trace() const {
        TraceInfo info;
        for (std::uint32_t stream = 0; stream < streams_; ++stream)
            info.streams.push_back(stream);
        return VectorTrace(events_, std::move(info));
    }

    TierProgram program() const {
        const auto made = make_tier_program(trace());
        REQUIRE(made);
        return *made;
    }

  private:
    TierTrace& add(Nanoseconds time, EventKind kind, std::uint32_t slot, Bytes size,
                   std::uint32_t stream, std::uint32_t aux, std::uint8_t flags) {
        TraceEvent event;
        event.time = time;
        event.kind = kind;
        event.slot = slot;
        event.size = size;
        event.stream = StreamId{stream};
        event.aux = aux;
        event.flags = flags;
        events_.push_back(event);
        streams_ = std::max(streams_, stream + 1);
        return *this;
    }

    std::vector<TraceEvent> events_;
    std::uint32_t streams_ = 1;
};

inline SpaceSpec space_of(SpaceId id, Bytes capacity) {
    SpaceSpec space;
    space.id = id;
    space.capacity = capacity;
    return space;
}

inline LinkSpec link_of(SpaceId source, SpaceId target, double bytes_per_ns = 1) {
    LinkSpec link;
    link.source = source;
    link.target = target;
    link.bytes_per_second = bytes_per_ns * 1e9;
    return link;
}

constexpr SpaceId kGpu{Tier::gpu, 0};
constexpr SpaceId kHost{Tier::host, 0};
constexpr SpaceId kDisk{Tier::disk, 0};

inline MachineSpec small_machine(Bytes gpu, Bytes host = 1_GiB, Bytes disk = 0) {
    MachineSpec machine;
    machine.name = "small";
    machine.spaces = {space_of(kGpu, gpu), space_of(kHost, host)};
    machine.links = {link_of(kGpu, kHost), link_of(kHost, kGpu)};
    if (disk > 0) {
        machine.spaces.push_back(space_of(kDisk, disk));
        machine.spaces.back().directories = {"/unused"};
        machine.links.push_back(link_of(kHost, kDisk, 0.5));
        machine.links.push_back(link_of(kDisk, kHost, 0.5));
    }
    return machine;
}

inline TierRun run_on(const TierProgram& program, const MachineSpec& machine,
                      TierScenario scenario = {}) {
    const auto run = run_tiers(program, machine, scenario);
    if (!run)
        FAIL(to_text(run.error()));
    // What the links of GPUs carried is what is said to have moved.
    Bytes carried = 0;
    for (const TierLinkUse& link : run->links)
        if (link.source.tier == Tier::gpu || link.target.tier == Tier::gpu)
            carried += link.bytes;
    CHECK(carried == run->spilled_bytes + run->fetched_bytes + run->vain_bytes);
    return *run;
}

constexpr std::uint8_t kReadWrite = kReads | kWrites;

}  // namespace tidemark::support
