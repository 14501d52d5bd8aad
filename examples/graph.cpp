// A captured graph with planned temporary memory: a dry run finds the requests of the graph, so
// that all of them fit into the smallest arena, and nothing is allocated while the graph is
// captured or launched. It uses a simulated GPU.
#include <cstdio>

#include <tidemark/backends/sim/sim_device.h>
#include <tidemark/core/allocator/spec.h>
#include <tidemark/core/capture/captured_graph.h>

using namespace tidemark;

namespace {

constexpr StreamId kStream{1};
constexpr int kLayers = 8;
constexpr Bytes kLayer = 16_MiB;

// Runs layer after layer; only the last result and the next one are live at the same time.
Result<void> layers(Device& device, Allocator& allocator) {
    Allocation last;
    for (int layer = 0; layer < kLayers; ++layer) {
        const auto next = allocator.allocate({.size = kLayer, .stream = kStream});
        if (!next || !device.fill(next->address, 1, kLayer, kStream))
            return fail(ErrorCode::no_space, "a layer has no memory");
        if (last.size != 0)
            allocator.deallocate(last, kStream);
        last = *next;
    }
    allocator.deallocate(last, kStream);
    return {};
}

Result<bool> example() {
    SimDevice device({.capacity = 1_GiB});
    TM_ASSIGN(const PolicySpec policy, parse_policy("torch"));
    TM_ASSIGN(const std::unique_ptr<Allocator> pool, policy.make(device));
    CaptureAllocator allocator(device, *pool);

    const auto body = [&] { return layers(device, allocator); };
    TM_ASSIGN(const DryRun seen, dry_run(allocator, kStream, body));
    TM_ASSIGN(const Plan plan, seen.plan());
    TM_ASSIGN(const std::shared_ptr<GraphArena> arena, allocator.make_arena(plan.height));
    TM_ASSIGN(const CapturedGraph graph,
              capture_graph(device, allocator,
                            {.stream = kStream, .arena = arena, .planned_from = &seen}, body));
    const bool launched = graph.launch(kStream) && device.synchronize(kStream);
    std::printf("%d layers of 16 MiB: %.0f MiB requested, an arena of %.0f MiB\n", kLayers,
                static_cast<double>(seen.volume() >> 20), static_cast<double>(plan.height >> 20));
    return launched && graph.report().deviations == 0 && plan.height == 2 * kLayer;
}

}  // namespace

int main() {
    const Result<bool> outcome = example();
    if (!outcome)
        std::fprintf(stderr, "%s\n", to_text(outcome.error()).c_str());
    return outcome && *outcome ? 0 : 1;
}
