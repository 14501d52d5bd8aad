// CapturedGraph: a graph with the memory that its nodes name; and capturing one, so that no failure
// on the way leaves anything captured, frozen or lost.
//
//     const auto graph = capture_graph(device, allocator, {.stream = s, .arena = arena}, [&] {
//         ... request memory on s from the allocator, queue work on s ...
//         return Result<void>();
//     });
//     graph->launch(s);
//
// The program's obligations: memory outside that the graph reads and writes stays live, at its
// address, as long as the graph; outputs are allocated before, or escape and are kept.
//
// A device that cannot capture runs the body once, immediately, and returns a graph that does
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/capture/capture_allocator.h"

namespace tidemark {

// A handle: copies are the same graph and share its count of launches. The graph is destroyed with
// the last of them, before its arena. May be launched, copied and dropped on any thread; the device
// must outlive it.
class CapturedGraph {
  public:
    // Runs what was recorded, in the order of `stream`. Does not wait. Launches of one graph run
    // one after another.
    DeviceResult<void> launch(StreamId stream) const;

    std::uint64_t launches() const;

    // False: the device could not capture, and the body has run once instead.
    bool replays() const;

    const CaptureReport& report() const;

  private:
    friend class CaptureScope;
    struct State;

    explicit CapturedGraph(std::shared_ptr<State> state) : state_(std::move(state)) {}

    std::shared_ptr<State> state_;
};

// A capture in progress. Its destructor ends it in any case.
class CaptureScope {
  public:
    // Opens a session and starts to capture its stream. Errors: those of the session, the device's
    // as an Error, no arena (unsupported). After an error nothing is open and nothing captured.
    static Result<CaptureScope> begin(Device& device, CaptureAllocator& allocator,
                                      const CaptureSetup& setup);

    CaptureScope(CaptureScope&& other) noexcept;
    CaptureScope& operator=(CaptureScope&&) = delete;
    ~CaptureScope();

    SessionId session() const { return session_; }

    // Ends the capture and the session. Errors: the device's as an Error; then there is no graph,
    // and the session has ended all the same.
    Result<CapturedGraph> end();

    // Ends both without a graph, and returns the summary of the session.
    CaptureReport abandon();

  private:
    CaptureScope(Device& device, CaptureAllocator& allocator, const CaptureSetup& setup,
                 SessionId session)
        : device_(&device), allocator_(&allocator), setup_(setup), session_(session) {}

    Device* device_;  // null: it has ended
    CaptureAllocator* allocator_;
    CaptureSetup setup_;
    SessionId session_;
};

// The body's error, with what its arena lacked if that refused something and there is no other
// hint.
Error with_reason(Error error, const CaptureReport& report);

// Captures what `body()` does, a Result<void>. Errors: the body's first, then those of
// CaptureScope. An exception of the body ends the capture before it propagates.
template <class Body>
Result<CapturedGraph> capture_graph(Device& device, CaptureAllocator& allocator,
                                    const CaptureSetup& setup, Body body) {
    auto scope = CaptureScope::begin(device, allocator, setup);
    if (!scope)
        return tl::make_unexpected(std::move(scope).error());
    const Result<void> done = body();
    if (!done)
        return tl::make_unexpected(with_reason(done.error(), scope->abandon()));
    return scope->end();
}

// Runs `body()` uncaptured and records its requests on `stream`. Errors: the body's; those of
// opening a session.
template <class Body>
Result<DryRun> dry_run(CaptureAllocator& allocator, StreamId stream, Body body) {
    const Result<SessionId> session = allocator.open({.stream = stream});
    if (!session)
        return tl::make_unexpected(session.error());

    struct Closing {
        CaptureAllocator& allocator;
        SessionId session;
        CaptureReport report;
        bool open = true;

        void close() {
            if (std::exchange(open, false))
                report = allocator.close(session, false);
        }

        ~Closing() { close(); }
    } closing{allocator, *session, {}};

    const Result<void> done = body();
    closing.close();
    if (!done)
        return tl::make_unexpected(done.error());
    return std::move(closing.report.dry_run);
}

}  // namespace tidemark
