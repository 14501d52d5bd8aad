// What a Publisher consists of, and how a thread finds its ring in a few nanoseconds.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "traces/live/publisher.h"
#include "traces/live/recorder.h"
#include "traces/live/ring_leases.h"
#include "traces/live/shared_file.h"

namespace tidemark::live {

// Observes one device.
class DeviceEmitter final : public MemoryObserver {
  public:
    DeviceEmitter(Publisher::State& state, std::uint8_t device) : state_(state), device_(device) {}

    void on_allocate(const Request& request, const Allocation& allocation) override;
    void on_refused(const Request& request, const OutOfMemory& why) override;
    void on_deallocate(const Allocation& allocation, StreamId stream) override;
    void on_record_use(const Allocation& allocation, StreamId stream) override;
    void on_trim() override;
    void on_segment(SegmentChange change, Range range, StreamId stream, Address home) override;

  private:
    struct Event {
        RecordKind kind = RecordKind::none;
        Address address = Address::null;
        Bytes size = 0;
        std::uint64_t extra = 0;
        StreamId stream = StreamId::default_stream;
        PoolId pool = PoolId::default_pool;
    };

    void emit(const Event& event);

    Publisher::State& state_;
    const std::uint8_t device_;
};

struct Publisher::State {
    State(const Header& new_header, std::unique_ptr<SharedFile> new_file, Bytes history_limit);

    // The calling thread's ring: null if there is none for it, or publishing has ended.
    RingLease* lease();

    // As lease(); counts the caller's event if there is no ring.
    RingLease* lease_or_count();
    void count_without_ring();

    Header header;
    std::string recording;
    std::unique_ptr<SharedFile> file;
    RingLeases leases;
    Recorder recorder;
    std::vector<DeviceEmitter> emitters;
    std::uint64_t generation = 0;  // of all publishers of this process
    int process = 0;
    bool records = true;
    bool open = false;
};

}  // namespace tidemark::live
