// MemoryEvents: publishes what happens to the program's memory: events with their tags and stacks,
// and the live blocks, so that each end finds its start. Publishing starts late, because only a
// driver that is initialized says which devices there are.
//
// Thread-safe. An event costs its thread about 40 ns, without stacks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/inject/live_memory.h"
#include "replay/inject/live_ranges.h"
#include "replay/inject/process_report.h"
#include "traces/live/publisher.h"

namespace tidemark::inject {

struct RecordOptions {
    std::string output;      // the recording; "" = one in the folder of recordings
    bool overwrite = false;  // a recording that is there
    std::string name;
    Bytes history_limit = 0;
    bool stacks = false;
    bool uses = false;  // what launches and copies touch
};

// Events of it are left out.
constexpr std::uint8_t kNoDevice = 0xff;

class MemoryEvents {
  public:
    using Settings = std::vector<std::pair<std::string, std::string>>;

    // `tags` are those that events are given by index; `report` and they outlive it.
    // `ranges` as well, if it is to follow what is recorded.
    MemoryEvents(RecordOptions options, const ReportFile& report,
                 std::span<const std::string_view> tags, LiveRanges* ranges);

    // Of the monotonic clock; 0 before it is started.
    Nanoseconds start_time() const {
        const live::Publisher* const publisher = publisher_.load(std::memory_order_acquire);
        return publisher == nullptr ? 0 : publisher->start_time();
    }

    bool started() const { return publisher_.load(std::memory_order_acquire) != nullptr; }

    // Before anything else, and once. False: it cannot be, which the report says, or it is over.
    bool start(const std::vector<live::LiveDevice>& devices, const Settings& settings);

    // Nothing is published any more; threads may be inside one of these functions.
    void close();

    // Sets the event's tag and stack. Inline as what it takes: after a call of the driver, each
    // function that an event passes through costs it some ns.
    [[gnu::always_inline]] void emit(live::ReportedEvent&& event, std::size_t tag) {
        if (!started() || event.device == kNoDevice)
            return;
        event.tag = this->tag(tag);
        event.stack = stack();
        put(event);
    }

    // As emit(), of an event that has its tag and stack already.
    void put(const live::ReportedEvent& event) {
        live::Publisher* const publisher = publisher_.load(std::memory_order_acquire);
        if (publisher == nullptr)
            return;
        if (ranges_ != nullptr) [[unlikely]]
            ranges_->follow(event);
        publisher->put(event);
    }

    // As put(), of uses that happen together.
    void put_uses(const live::ReportedEvent& event, std::span<const live::RecordPart> uses) {
        if (live::Publisher* const publisher = publisher_.load(std::memory_order_acquire))
            publisher->put(event, uses);
    }

    // Ids for that; 0: there is no room for it. tag(): of `tags`, by index.
    std::uint32_t tag(std::size_t index) {
        const std::uint32_t id = tag_ids_[index].load(std::memory_order_acquire);
        return id != 0 ? id : name_tag(index);
    }

    std::uint32_t stack() { return options_.stacks ? native_stack() : 0; }

    std::uint32_t string(std::string_view text);

    // `event` says what was requested.
    void refuse(const live::ReportedEvent& event, std::size_t tag);

    // An allocation, or a mapping of memory that another process has allocated. What was at its
    // address ends, if its end was missed.
    void begin(live::ReportedEvent&& event, cuda::CUcontext context, std::size_t tag);

    // Its end. `ended` is what has ended, to be begun again if that fails; false: nothing is known.
    bool end(std::uint64_t address, std::uint64_t stream, std::size_t tag, LiveAllocation& ended);
    void begin_again(const LiveAllocation& ended, std::uint64_t stream, std::size_t tag);

    // The end of everything that is live in the context. O(live).
    void end_context(cuda::CUcontext context, int device);

    void mark(std::string_view text);

    // A range of the program starts, or the innermost one of that name ends. False: publishing
    // hasn't begun, or is over.
    bool range(std::string_view name, bool ends);

  private:
    [[gnu::noinline]] std::uint32_t name_tag(std::size_t index);
    [[gnu::noinline]] std::uint32_t native_stack();

    const RecordOptions options_;
    const ReportFile& report_;
    const std::span<const std::string_view> tags_;
    std::vector<std::atomic<std::uint32_t>> tag_ids_;  // 0: not named yet
    LiveMemory live_;
    LiveRanges* const ranges_;  // null: addresses are not looked up

    std::mutex mutex_;  // of starting
    bool over_ = false;
    std::unique_ptr<live::Publisher> owned_;
    std::atomic<live::Publisher*> publisher_ = nullptr;  // null: not yet, or no longer
};

}  // namespace tidemark::inject
