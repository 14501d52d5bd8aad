// TierProgram: the parts of a trace that a replay over tiers needs: each stream's operations with
// the recorded gaps between them, kernels with all the buffers that they use, and for each use the
// next one of the same buffer. Built once, replayed under any number of policies and sizes.
//
// Time in it: the steps of a stream keep their recorded distances. A kernel is a run of uses on one
// stream with the same launch number; it begins at its first use, needs all its buffers together,
// and lasts until the stream's next step.
//
// The host's own memory (in a recording of driver calls) stays where it is, and is ignored.
//
// Immutable after it is built; may be shared by threads. Memory: O(events).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"
#include "core/tiers/victims/victim_policy.h"
#include "traces/model/trace.h"

namespace tidemark {

constexpr std::uint32_t kNoUse = 0xffffffffU;

// One buffer that one kernel uses. Each buffer is at most once in a kernel.
struct TierUse {
    BufferId buffer{};
    std::uint32_t next = kNoUse;  // index of the buffer's next use; kNoUse: it is freed first
    bool reads = false;
    bool writes = false;
};

enum class StepKind : std::uint8_t {
    allocate,     // buffer, size
    free,         // buffer
    kernel,       // uses [first, first + count)
    record,       // point: the stream has come to it
    wait,         // point, recorded before: the stream waits for it
    synchronize,  // all streams' steps before it in the recorded order are done first
    reserve,      // task, size
    release,      // task, size
    move,         // buffer, tier: the program's own hint
    mark,         // name: the same number for names that differ in digits only
};

struct TierStep {
    Nanoseconds gap = 0;  // after the stream's previous step; the first one: after the start
    Bytes size = 0;       // allocate, reserve, release
    std::uint32_t stream = 0;
    std::uint32_t first = 0;     // kernel: index of its first use
    std::uint32_t count = 0;     // kernel: of its uses
    std::uint32_t value = 0;     // buffer, point, task or name
    std::uint32_t use = kNoUse;  // allocate: the buffer's first use
    std::uint16_t device = 0;
    StepKind kind = StepKind::allocate;
    Tier tier = Tier::gpu;       // allocate, reserve, move
    std::uint8_t otherwise = 0;  // reserve: kOrDevice, kOrHost, kOrDisk
    bool has_content = false;    // allocate: something wrote it that the trace doesn't show
};

struct TierProgram {
    std::vector<TierStep> steps;  // in the recorded order
    std::vector<TierUse> uses;    // of all kernels, in that order
    std::uint32_t buffers = 0;    // every BufferId is below this: the largest live set
    std::uint32_t streams = 1;
    std::uint32_t devices = 1;  // that it allocates on: every device is below this
    std::uint32_t records = 0;  // every point is below this
    std::uint64_t events = 0;   // of the trace
    Nanoseconds duration = 0;   // recorded, from the start to the last step
    Bytes peak_bytes = 0;       // the most that was live at once in GPU memory, over all devices
    Bytes largest_kernel = 0;   // the most that one kernel uses: no smaller GPU can run it
    std::string assumption;     // what was assumed where the trace doesn't say it; else empty
    std::uint64_t trace_hash = 0;
};

// Errors: those of the trace's cursor; unsupported: more than 2^32 - 2 uses. O(events).
Result<TierProgram> make_tier_program(const Trace& trace);

}  // namespace tidemark
