// CapturedGraph: the order in which things start and end.
#include "core/capture/captured_graph.h"

#include <mutex>
#include <optional>

#include "core/base/check.h"

namespace tidemark {

// Destroying a graph may touch the addresses in it: first the graph, then the arena.
struct CapturedGraph::State {
    Device& device;
    std::shared_ptr<GraphArena> arena;
    std::optional<GraphId> graph;
    CaptureReport report;
    std::mutex mutex;
    std::uint64_t launches = 0;

    State(Device& on, std::shared_ptr<GraphArena> in, std::optional<GraphId> made,
          CaptureReport said)
        : device(on), arena(std::move(in)), graph(made), report(std::move(said)) {}

    State(const State&) = delete;
    State& operator=(const State&) = delete;

    ~State() {
        if (graph)
            static_cast<void>(device.destroy_graph(*graph));
        arena->graph_gone();
    }
};

DeviceResult<void> CapturedGraph::launch(StreamId stream) const {
    const std::lock_guard lock(state_->mutex);
    if (state_->graph) {
        TM_TRY(state_->device.launch(*state_->graph, stream));
    }
    ++state_->launches;
    return {};
}

std::uint64_t CapturedGraph::launches() const {
    const std::lock_guard lock(state_->mutex);
    return state_->launches;
}

bool CapturedGraph::replays() const {
    return state_->graph.has_value();
}

const CaptureReport& CapturedGraph::report() const {
    return state_->report;
}

Error with_reason(Error error, const CaptureReport& report) {
    if (report.refused != 0 && error.hint.empty())
        error.hint = report.last_refusal.what;
    return error;
}

Result<CaptureScope> CaptureScope::begin(Device& device, CaptureAllocator& allocator,
                                         const CaptureSetup& setup) {
    if (setup.arena == nullptr)
        return fail(ErrorCode::unsupported, "a capture without an arena", "capture",
                    "make one with make_arena; the graph's own memory would move or vanish");
    TM_ASSIGN(const SessionId session, allocator.open(setup));
    if (device.has(Feature::capture)) {
        if (const auto begun = device.begin_capture(setup.stream); !begun) {
            const Error why = device.explain(begun.error());
            allocator.close(session, false);
            return tl::make_unexpected(why);
        }
    }
    return CaptureScope(device, allocator, setup, session);
}

CaptureScope::CaptureScope(CaptureScope&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      allocator_(other.allocator_),
      setup_(std::move(other.setup_)),
      session_(other.session_) {}

CaptureScope::~CaptureScope() {
    if (device_ != nullptr)
        static_cast<void>(abandon());
}

CaptureReport CaptureScope::abandon() {
    TM_CHECK(device_ != nullptr);
    Device& device = *std::exchange(device_, nullptr);
    if (device.has(Feature::capture)) {
        if (const auto graph = device.end_capture(setup_.stream))
            static_cast<void>(device.destroy_graph(*graph));
    }
    return allocator_->close(session_, false);
}

Result<CapturedGraph> CaptureScope::end() {
    TM_CHECK(device_ != nullptr);
    Device& device = *std::exchange(device_, nullptr);
    std::optional<GraphId> graph;
    if (device.has(Feature::capture)) {
        const DeviceResult<GraphId> ended = device.end_capture(setup_.stream);
        if (!ended) {
            const Error why = device.explain(ended.error());
            allocator_->close(session_, false);
            return tl::make_unexpected(why);
        }
        graph = *ended;
    }
    CaptureReport report = allocator_->close(session_, true);
    return CapturedGraph(std::make_shared<CapturedGraph::State>(device, std::move(setup_.arena),
                                                                graph, std::move(report)));
}

}  // namespace tidemark
