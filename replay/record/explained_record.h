// ExplainedRecord: what a recorded run was, as far as its record says and the model of its
// allocator can explain: the settings, the limit, what was refused, the peaks, and, for each
// device, what has to be assumed at each step for the model to do what was recorded.
//
// It is computed once (infer_missing_events) and kept with the trace (explained_record). A replay
// of the recorded settings is then the recorded run, at the recorded addresses (RecordedAllocator),
// and every command speaks of the same one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/allocator/spec.h"
#include "replay/record/recorded_card.h"
#include "replay/record/replay_findings.h"
#include "traces/model/trace.h"

namespace tidemark {

// How a limit on reserved memory is known.
enum class LimitSource : std::uint8_t {
    settings,  // the recorded settings name it
    inferred,  // from requests that failed though the device had memory
    card,      // RecordedCard::room
};

// One device of a recorded run.
struct RecordedDevice {
    Bytes limit = 0;  // on reserved memory; 0 = none known
    LimitSource source = LimitSource::settings;
    RecordedCard card;
    std::uint64_t refusals = 0;  // requests that were refused
    ModelSpec model;             // its policy has the limit
    DeviceFindings findings;
};

struct ExplainedRecord {
    const Trace* record = nullptr;        // as it was read: lives as long as the explained one
    PolicySpec policy;                    // the recorded settings, without an inferred limit
    std::vector<RecordedDevice> devices;  // of the trace, by index
    Usage peak;                           // each counter's own maximum, summed over devices
    AllocatorStats stats;
    std::uint64_t decisions = 0;
    std::uint64_t mismatches = 0;

    // The limit on the reserved memory of `device`; 0 = none known.
    Bytes limit(std::size_t device) const {
        return device < devices.size() ? devices[device].limit : 0;
    }

    // The first limit that any device has, for headers; 0 = none known. O(devices).
    Bytes limit() const;

    // The first device with that limit; null = none known. O(devices).
    const RecordedDevice* limited() const;

    // The device whose card others had most of, as far as is known; null = of none. O(devices).
    const RecordedDevice* fullest_card(Bytes memory) const;

    std::uint64_t refusals() const;

    // "limit 6.00 GiB, inferred from 5 out-of-memory events", "limit 66.1 GiB, the memory that its
    // card had for it (...)"; "" without a limit.
    std::string limit_text() const;

    // The limit for `device` under `spec`: the known one, unless the spec names its own.
    Bytes limit_under(const PolicySpec& spec, std::size_t device) const;

    // Whether a replay under `spec` (its own limit included or not) and `limit` on each device, the
    // recorded one unless given, is this run.
    bool is_replay(const PolicySpec& spec, const Bytes* limit) const;
};

// What is known of the recorded run (infer_missing_events); null if it wasn't computed, the trace
// doesn't say enough, or what is replayed is no longer that run. O(1).
const ExplainedRecord* explained_record(const Trace& trace);

// The device whose limit counts for replays of `trace`: the one that it has been cut down to
// (DeviceTrace), else the first that had one; null = no limit is known of it. O(devices).
const RecordedDevice* limited_device(const Trace& trace);

}  // namespace tidemark
