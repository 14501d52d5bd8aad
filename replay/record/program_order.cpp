// One pass with vector clocks.
#include "replay/record/program_order.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/wrap/stream_order.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

class FreeOrder {
  public:
    explicit FreeOrder(const TraceInfo& info)
        : info_(info),
          blocks_(info.slot_count),
          orders_(std::max<std::size_t>(info.devices.size(), 1)) {}

    void take(const EventBatch& batch) {
        for (std::size_t i = 0; i < batch.count; ++i, ++event_)
            take(batch, i);
    }

    const UnorderedFrees& found() const { return found_; }

  private:
    // The last work of one stream with a block.
    struct Use {
        StreamOrder::Work work;
        std::uint64_t event = 0;
        bool waited_for = false;  // by the allocator: record_stream
    };

    void take(const EventBatch& batch, std::size_t i) {
        const StreamId stream = batch.stream[i];
        const std::uint32_t slot = batch.slot[i];
        if (batch.device[i] >= orders_.size())
            return;
        StreamOrder& order = orders_[batch.device[i]];
        switch (batch.kind[i]) {
            case EventKind::allocate:
                if (slot < blocks_.size())
                    blocks_[slot] = {{order.work_of(stream), event_}};
                return;
            case EventKind::use:
            case EventKind::record_use:
                return use(slot, order.work_of(stream), batch.kind[i] == EventKind::record_use);
            case EventKind::free:
            case EventKind::retire:
                return end(slot, stream, batch.kind[i] == EventKind::retire, order);
            case EventKind::record_event:
                found_.has_order = true;
                return order.recorded(stream, EventId{batch.aux[i]});
            case EventKind::wait_event:
                return order.waited(stream, EventId{batch.aux[i]});
            case EventKind::synchronize:
                found_.has_order = true;
                if ((batch.flags[i] & kWholeDevice) != 0)
                    order.synchronized_all();
                else
                    order.synchronized(stream);
                return;
            default:
                return;
        }
    }

    void use(std::uint32_t slot, const StreamOrder::Work& work, bool waited_for) {
        if (slot >= blocks_.size())
            return;
        std::vector<Use>& uses = blocks_[slot];
        const auto known = std::ranges::find_if(
            uses, [&work](const Use& each) { return each.work.stream == work.stream; });
        if (known == uses.end()) {
            uses.push_back({work, event_, waited_for});
        } else {
            known->work = work;
            known->event = event_;
            known->waited_for = known->waited_for || waited_for;
        }
    }

    void end(std::uint32_t slot, StreamId stream, bool waits, StreamOrder& order) {
        if (slot >= blocks_.size())
            return;
        const std::vector<Use> uses = std::exchange(blocks_[slot], {});
        // It waits for streams of which nothing is recorded: perhaps for all.
        if (waits && std::ranges::none_of(uses, &Use::waited_for))
            return;
        for (const Use& use : uses) {
            if (use.waited_for || order.before(use.work, stream))
                continue;
            if (found_.count++ > 0)
                return;
            found_.free_event = event_;
            found_.use_event = use.event;
            found_.free_stream = handle_of(stream);
            found_.use_stream = handle_of(use.work.stream);
            return;
        }
    }

    std::uint64_t handle_of(StreamId stream) const {
        const auto index = to_integer(stream);
        return index < info_.streams.size() ? info_.streams[index] : index;
    }

    const TraceInfo& info_;
    std::vector<std::vector<Use>> blocks_;  // by slot
    std::vector<StreamOrder> orders_;       // by device
    UnorderedFrees found_;
    std::uint64_t event_ = 0;
};

}  // namespace

Result<UnorderedFrees> find_unordered_frees(const Trace& trace) {
    FreeOrder order(trace.info());
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return order.found();
        order.take(batch);
    }
}

std::string to_text(const UnorderedFrees& frees) {
    if (frees.count == 0)
        return {};
    const std::string where =
        fmt::format("event {} frees memory on stream {:#x} that stream {:#x} used at event {}",
                    format_count(frees.free_event), frees.free_stream, frees.use_stream,
                    format_count(frees.use_event));
    if (!frees.has_order)
        return fmt::format(
            "{} on another stream than a use of the block ({}): whether the two are ordered isn't "
            "known, because the recording has no events between streams",
            frees.count == 1 ? std::string("a free is") : format_count(frees.count) + " frees are",
            where);
    return fmt::format(
        "the program frees memory that another stream may still use, {}: {}, and nothing orders "
        "the use before the free; no policy can fix that",
        format_times(frees.count), where);
}

}  // namespace tidemark
