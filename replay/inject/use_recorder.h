// UseRecorder: which blocks of memory launches, copies and fills touch, as uses of the recording
// (docs/format-live.md). For a kernel these are the blocks that its arguments point to: an argument
// that is an address within a block counts as a pointer to it; an address within a larger argument
// (a structure that is passed by value) is perhaps one. The uses of a graph's kernels are not
// known, nor are a kernel's arguments if the driver doesn't report them.
//
// A call is recorded when it has succeeded: before the program can do anything about what it uses.
// Calls on a stream that is captured launch nothing.
//
// Thread-safe. A launch costs its thread about 50 ns, plus 5 for each argument and 20 for each
// block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/inject/call.h"
#include "replay/inject/cupti_api.h"
#include "replay/inject/driver_queries.h"
#include "replay/inject/gpu_times.h"
#include "replay/inject/kernels.h"
#include "replay/inject/live_ranges.h"
#include "replay/inject/memory_events.h"

namespace tidemark::inject {

class UseRecorder {
  public:
    // `captures`: how many streams are being captured; `times` hears of what is launched. All
    // outlive it.
    UseRecorder(MemoryEvents& memory, const LiveRanges& ranges, const DriverQueries& driver,
                const std::atomic<int>& captures, GpuTimes& times)
        : memory_(memory),
          ranges_(ranges),
          driver_(driver),
          captures_(captures),
          times_(times),
          kernels_(driver) {}

    // Code is unloaded: its handles may be given to other code.
    void on_unload() { kernels_.on_unload(); }

    // For launched_calls.inc: each takes its calls when they have succeeded; on which device, as
    // far as that is known.
    void launch(const Call& call, std::uint8_t device);
    void launch_cooperative(const Call& call, std::uint8_t device);
    void launch_configured(const Call& call, std::uint8_t device);
    void launch_graph(const Call& call, std::uint8_t device);
    void copy(const Call& call, std::uint8_t device);
    void copy_async(const Call& call, std::uint8_t device);
    void copy_peer(const Call& call, std::uint8_t device);
    void copy_peer_async(const Call& call, std::uint8_t device);
    void copy_2d(const Call& call, std::uint8_t device);
    void copy_2d_async(const Call& call, std::uint8_t device);
    void copy_3d(const Call& call, std::uint8_t device);
    void copy_3d_async(const Call& call, std::uint8_t device);
    void fill_2d(const Call& call, std::uint8_t device);
    void fill_2d_async(const Call& call, std::uint8_t device);

    // A batch is one launch of all its copies.
    template <class Params>
    void copy_batch(const Call& call, std::uint8_t device) {
        const auto& params = call.as<Params>();
        copy_blocks(call, device, {params.targets, params.sources, params.sizes, params.count},
                    params.stream);
    }

    template <class Params>
    void copy_box_batch(const Call& call, std::uint8_t device) {
        const auto& params = call.as<Params>();
        copy_boxes(call, device, {params.operations, params.count}, params.stream);
    }

    template <std::size_t element>
    void fill(const Call& call, std::uint8_t device) {
        const auto& params = call.as<FillParams>();
        fill_block(call, device, params.target, params.count * element, nullptr);
    }

    template <std::size_t element>
    void fill_async(const Call& call, std::uint8_t device) {
        const auto& params = call.as<FillAsyncParams>();
        fill_block(call, device, params.fill.target, params.fill.count * element, params.stream);
    }

  private:
    using Use = live::RecordPart;  // its size is what kUseReads is one of

    // The blocks of one launch, each once; few of them need no memory.
    class Uses {
      public:
        void add(const UsedBlock& block, std::uint8_t flags);

        std::span<const Use> all() const {
            return many_.empty() ? std::span<const Use>(few_).first(count_) : many_;
        }

      private:
        std::array<Use, 16> few_;
        std::size_t count_ = 0;  // of these
        std::vector<Use> many_;  // all, where they are more
    };

    // How a kernel is launched: where its arguments are, one by one or in one piece.
    struct Launch {
        cuda::CUfunction function = nullptr;
        cuda::CUstream stream = nullptr;
        void* const* arguments = nullptr;
        void* const* extra = nullptr;
    };

    void launch_kernel(const Call& call, std::uint8_t device, const Launch& launch);
    bool find_uses(const Kernel& kernel, const Launch& launch, Uses& uses) const;
    static void scan(const std::byte* argument, std::size_t size, LiveRanges::Search& search,
                     Uses& uses);
    void copy_block(const Call& call, std::uint8_t device, const CopyParams& copy,
                    cuda::CUstream stream);

    // Copies, an element of each array.
    struct Batch {
        const std::uint64_t* targets;
        const std::uint64_t* sources;
        const std::size_t* sizes;
        std::size_t count;
    };

    void copy_blocks(const Call& call, std::uint8_t device, const Batch& batch,
                     cuda::CUstream stream);
    void copy_boxes(const Call& call, std::uint8_t device,
                    std::span<const CopyOperation> operations, cuda::CUstream stream);
    // Ends as CopyEnd2d or CopyEnd3d.
    template <class End>
    void copy_box(const Call& call, std::uint8_t device, const End& target, const End& source,
                  cuda::CUstream stream);
    void fill_block(const Call& call, std::uint8_t device, std::uint64_t target, std::uint64_t size,
                    cuda::CUstream stream);
    bool launches_nothing(const Call& call, cuda::CUstream stream) const;
    void record(const Call& call, std::uint8_t device, cuda::CUstream stream, std::uint32_t tag,
                const Uses& uses, bool known);

    MemoryEvents& memory_;
    const LiveRanges& ranges_;
    const DriverQueries& driver_;
    const std::atomic<int>& captures_;
    GpuTimes& times_;
    KernelTable kernels_;
    std::atomic<std::uint32_t> launches_ = 0;
};

}  // namespace tidemark::inject
