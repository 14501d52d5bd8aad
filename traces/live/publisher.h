// Publisher: the program's side of the live view. It receives the events of the program's
// allocators, writes each into a ring of the thread that caused it, and records them into a file.
// Viewers only read these files: they map nothing and stop nobody.
//
// An event costs its thread about 20 ns, takes no lock and never waits: if a ring is full the event
// is dropped and counted. Threads that publish at the same moment share one counter of sequence
// numbers (about 70 ns each for four on two processors); behind an allocator's lock there is only
// one. Events of allocators are emitted inside that lock, which decides their order among all
// threads.
//
// One per process. A child made by fork() publishes nothing. When the publisher ends, no thread may
// be inside one of its functions; threads may end before or after.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/allocator/memory_observer.h"
#include "core/base/result.h"
#include "traces/live/live_frame.h"
#include "traces/live/wire.h"

namespace tidemark::live {

// A device whose memory the program publishes.
struct LiveDevice {
    std::string name;
    Bytes capacity = 0;  // 0 = unknown
};

struct PublishOptions {
    std::string name = {};       // as the viewer lists it; "" = the program's file name
    std::string recording = {};  // a path; "" = a name of its own in the recordings folder
    bool overwrite = false;      // an existing recording, unless a program is writing it
    // Bytes of the recording. Beyond this the oldest part is dropped, and the recording is several
    // files NAME-000001.tml. 0 = everything is kept.
    Bytes history_limit = 0;
    std::vector<LiveDevice> devices{{}};  // 1 to 16
    std::uint32_t rings = 64;             // threads that can publish at the same time
    // Slots of 48 bytes, a power of two from 2048 on. At 5 M events/s of one thread the recorder
    // may stop for 50 ms (it looks every 1 to 4 ms). Memory is reserved for threads that publish,
    // plus one.
    std::uint32_t ring_slots = 1U << 18;
    std::string runtime_folder = {};  // "" = runtime_folder()
    bool records = true;              // false: only empty_rings() and close() empty the rings
    // Events may have their own time (ReportedEvent::time): for events of another program.
    bool given_times = false;
};

// How much disk a recording without a path may take.
constexpr Bytes kUsualHistoryLimit = Bytes{1} << 30;

struct PublisherCounts {
    std::uint64_t published = 0;  // records of all kinds that found room
    std::uint64_t dropped = 0;    // and those that didn't
    std::uint64_t lost = 0;       // of the published: could not be written, or never arrived
};

// What a program reports about memory that is not managed here (Publisher::put): a Record without
// its number and position.
struct ReportedEvent {
    RecordKind kind = RecordKind::none;  // none of the names
    std::uint8_t device = 0;             // below the number of devices
    std::uint64_t stream = 0;            // the program's handle; 0 = the default stream
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t extra = 0;
    PoolId pool = PoolId::default_pool;
    std::uint32_t tag = 0;    // of Publisher::string; 0 = none
    std::uint32_t stack = 0;  // of Publisher::stack; 0 = none
    std::uint64_t time = 0;   // with PublishOptions::given_times: of the monotonic clock; 0 = now
};

class Publisher {
  public:
    // Starts to publish and to record. Errors: io: a folder or file cannot be made, or the system
    // has no thread; bad_option; unsupported: the process has a publisher already. Takes the memory
    // of one ring. From any thread.
    static Result<std::unique_ptr<Publisher>> start(const PublishOptions& options = {});

    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;
    ~Publisher();  // close()

    // Records what is left, ends the recording and removes the program from the list of those that
    // publish. Afterwards nothing is published; a second call does nothing. Errors: io: what was
    // left could not be recorded, or the shared file could not be removed. One thread.
    Result<void> close();

    // Pass this to the allocator and the Device of `device` (its index in PublishOptions::devices).
    // Valid as long as the publisher. O(1).
    MemoryObserver& observer(std::uint16_t device = 0);

    // A named point of the program; dropped and counted if there is no room. From any thread,
    // O(length).
    void mark(std::string_view text);

    // Like LiveRange, for callers that can't hold one: the innermost range of that name ends. From
    // any thread.
    void range(std::string_view name, bool ends);

    // An event of an allocator that has no MemoryObserver; otherwise as mark(). Call it inside
    // whatever lock that allocator holds. About 20 ns.
    void put(const ReportedEvent& event);

    // As put(), for events that happen together: one for each of `parts`, or none of them.
    void put(const ReportedEvent& event, std::span<const RecordPart> parts);

    // Ids for ReportedEvent, defined if they are new: O(length log names). 0: there is no room for
    // it. From any thread; each thread has ids of its own, and may use those of others.
    std::uint32_t string(std::string_view text);
    std::uint32_t stack(std::span<const LiveFrame> frames);

    // A fact about the program or, with `of_allocator`, a setting of its allocator. False: there is
    // no room for it. From any thread.
    bool setting(std::string_view key, std::string_view value, bool of_allocator);

    // So far. From any thread; O(rings).
    PublisherCounts counts() const;

    // Records what is in the rings now, for callers without a recorder thread (`records` false;
    // otherwise a defect). Errors: io; what could not be written counts as lost. One thread.
    Result<void> empty_rings();

    // When publishing started, on the monotonic clock.
    Nanoseconds start_time() const;

    // The path of the recording; with a history limit its files have a number before the
    // extension.
    const std::string& recording() const;

    // The path of the file in shared memory, by which viewers find the program.
    const std::string& shared_path() const;

    struct State;  // publisher_state.h

  private:
    explicit Publisher(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace tidemark::live

namespace tidemark {

// Allocations of this thread inside the scope have the tag, and the stack if there is one. Scopes
// nest, and the innermost counts; a scope without a stack keeps the outer one's. Ends on the thread
// where it began. Does nothing in a program without a publisher. About 30 ns for a tag that the
// thread has used before.
class LiveScope {
  public:
    explicit LiveScope(std::string_view tag, std::span<const live::LiveFrame> stack = {});
    ~LiveScope();
    LiveScope(const LiveScope&) = delete;
    LiveScope& operator=(const LiveScope&) = delete;

  private:
    std::uint64_t generation_ = 0;  // 0: there was no publisher
    std::uint32_t outer_tag_ = 0;
    std::uint32_t outer_stack_ = 0;
};

// A named stretch of the program: a step, a layer. Ends on the thread where it began. Does nothing
// in a program without a publisher; dropped and counted if the ring is full.
class LiveRange {
  public:
    explicit LiveRange(std::string_view name);
    ~LiveRange();
    LiveRange(const LiveRange&) = delete;
    LiveRange& operator=(const LiveRange&) = delete;

  private:
    std::uint64_t generation_ = 0;
    std::uint32_t name_ = 0;
    std::string passing_name_;  // has to be defined again
};

}  // namespace tidemark
