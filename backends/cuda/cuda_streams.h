// CudaStreams: the streams of one device, the order between them, and which of them are captured.
//
// Streams are found by StreamId in a table; each has a slot, a small number that its EventIds
// carry. Thread-safe: the table has a mutex, each stream has its own, and no driver call that waits
// is made under either.
//
// The program may destroy a borrowed stream between its calls: its handle is used only on the
// thread that is in a call about it. The points that were recorded on it while it existed cover
// what was queued on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "backends/cuda/cuda_stream.h"

namespace tidemark {

class CudaStreams {
  public:
    explicit CudaStreams(CudaContext& context);
    CudaStreams(const CudaStreams&) = delete;
    CudaStreams& operator=(const CudaStreams&) = delete;

    // Ends existing captures, and destroys the streams made here and all events.
    ~CudaStreams();

    // The stream of `id`, made if it was not used yet. invalid_value if it was disowned, or was
    // never adopted but has the id of an adopted one.
    DeviceResult<CudaStream*> find(CudaCall& call, StreamId id);

    // See CudaDevice.
    StreamId adopt(std::uintptr_t native);
    StreamId borrow(std::uintptr_t native, StreamId first);
    void keep(StreamId id);
    void disown(StreamId id);

    // See CudaVisit: from now on the stream is, or is no longer, in a call of the program on this
    // thread. enter() returns the previous one; null: none.
    const CudaStream* enter(StreamId id);
    void leave_to(const CudaStream* before);

    // A point will cover what the program has queued on a borrowed stream so far. It is recorded
    // now or, if `record_now` is false, when it is needed: by then it costs a wait for the device.
    // Nothing for other streams.
    void note_work(StreamId id, bool record_now);

    // The handle of the stream, for work; for a borrowed stream that is in no call on this thread,
    // the default stream's, ordered behind everything that was queued on it.
    DeviceResult<cuda::CUstream> queue(CudaCall& call, StreamId id);

    // Could a stream be captured that nobody here can see? Then prohibited calls need permission.
    bool has_foreign() const { return adopted_count_.load(std::memory_order_relaxed) > 0; }

    std::size_t native_events() const { return events_.count(); }

    // Others may use, and capture, this stream from now on.
    void share(CudaStream& stream);

    DeviceResult<EventId> record(CudaCall& call, StreamId id);
    DeviceResult<bool> complete(CudaCall& call, EventId event, bool await);

    // True only if `complete` would return true without asking the driver, and be allowed to.
    // Cheap: no driver call, no stream's mutex.
    bool known_to_have_passed(EventId event) const;
    DeviceResult<void> wait(CudaCall& call, StreamId id, EventId event);
    DeviceResult<void> synchronize(CudaCall& call, StreamId id);
    DeviceResult<void> synchronize_all(CudaCall& call);

    // Is any known stream captured? One driver call for each stream that others have; borrowed
    // streams count if they were captured when they were last in a call.
    bool capturing() const;

    // See Device.
    std::uint64_t replaced() const { return replaced_.load(std::memory_order_acquire); }

    // Is this one? No driver call if it cannot be.
    bool captured(const CudaStream& stream) const;

    DeviceResult<void> begin_capture(CudaCall& call, StreamId id);

    // Ends it. From another thread than the one that began it, the driver refuses and drops the
    // capture.
    DeviceResult<cuda::CUgraph> end_capture(CudaCall& call, StreamId id);

  private:
    static constexpr unsigned kNumberBits = 40;  // of an EventId: the point on its stream

    static EventId name(const CudaStream& stream, std::uint64_t number);

    // The stream and the number of a point that was recorded here; null for any other.
    CudaStream* locate(EventId event, std::uint64_t* number) const;

    CudaStream& append(StreamId id);  // to the table, under its mutex
    CudaStream& append_adopted(StreamId id, std::uintptr_t native);
    CudaStream* known(StreamId id) const;  // null: it is in no table

    // May its handle be used?
    bool usable(const CudaStream& stream) const { return !stream.borrowed || &stream == visited_; }

    // Notices that a borrowed stream is captured, or has become another one with the handle of a
    // stream that is gone.
    void look_at(CudaStream& stream);
    DeviceResult<EventId> point_of_absent(CudaCall& call, CudaStream& stream);
    DeviceResult<void> make_native(CudaCall& call, CudaStream& stream);
    bool asks_captured(cuda::CUstream native) const;

    CudaContext& context_;
    CudaEvents events_;

    mutable std::shared_mutex table_mutex_;  // guards what follows
    std::deque<CudaStream> streams_;         // by slot; stable addresses; 0 is the default stream
    std::unordered_map<std::uint32_t, CudaStream*> by_id_;
    std::unordered_map<std::uintptr_t, StreamId> adopted_;
    std::atomic<std::uint32_t> adopted_count_{0};
    std::vector<CudaStream*> foreign_;

    std::atomic<std::uint64_t> replaced_{0};
    std::atomic<std::uint32_t> begun_captures_{0};
    mutable std::atomic<std::uint32_t> foreign_count_{0};  // of those, to be checked

    // The stream of the call that this thread is in, for any device.
    static thread_local const CudaStream* visited_;
};

}  // namespace tidemark
