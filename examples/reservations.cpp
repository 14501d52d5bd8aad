// Memory by reservation: tasks that share a GPU reserve memory before they start, and everything
// that they allocate on their stream counts against it, with any allocator. On a simulated GPU.
//
// It shows reservations of a space, an allocator that charges the reservation bound to a stream, a
// task that needs more than it reserved, and a program's own handler for out of memory.
#include <cstdio>

#include <tidemark/backends/sim/sim_device.h>
#include <tidemark/core/allocator/spec.h>
#include <tidemark/core/base/text.h>
#include <tidemark/core/tiers/spaces/reserved_allocator.h>

using namespace tidemark;

namespace {

constexpr SpaceId kGpu{Tier::gpu, 0};

void show(const char* when, const MemorySpace& space) {
    std::printf("%-34s %s\n", when, space.text().c_str());
}

// Allocates `count` blocks of `size` on the stream, and frees them. Returns how many it got.
int task(Allocator& allocator, StreamId stream, int count, Bytes size) {
    std::vector<Allocation> pieces;
    for (int i = 0; i < count; ++i)
        if (const auto piece = allocator.allocate({.size = size, .alignment = 512, .stream = stream}))
            pieces.push_back(*piece);
    for (const Allocation& piece : pieces)
        allocator.deallocate(piece, stream);
    return static_cast<int>(pieces.size());
}

Result<bool> example() {
    SimConfig config;
    config.capacity = 1_GiB;
    SimDevice device(config);
    TM_ASSIGN(const PolicySpec policy, parse_policy("best-fit"));
    TM_ASSIGN(const std::unique_ptr<Allocator> memory, policy.make(device));

    SpaceSpec spec;
    spec.id = kGpu;
    spec.capacity = 512_MiB;
    spec.reservation_limit = 0.9;
    MemorySpace space(spec);
    space.set_over_reservation(increase_reservation());
    int told = 0;
    space.set_oom_policy(oom_callback([&](const OomFacts&) {
        ++told;
        return OomAnswer::give_up;
    }));
    ReservationBindings bindings(space);
    ReservedAllocator allocator(*memory, bindings);
    constexpr StreamId kStream{1};
    show("nothing is reserved", space);

    auto reservation = space.try_reserve(200_MiB);
    if (!reservation)
        return fail(ErrorCode::no_space, "there should have been room");
    const bool bound =
        bindings.bind(stream_key(kStream), std::move(*reservation)).has_value();
    show("a task has 200 MiB", space);
    const int inside = task(allocator, kStream, 4, 50_MiB);
    const int beyond = task(allocator, kStream, 6, 50_MiB);
    show("it used 300 MiB, and it grew", space);
    const int refused = 20 - task(allocator, kStream, 20, 50_MiB);
    bindings.unbind(stream_key(kStream));
    show("it has ended", space);

    const bool right = bound && inside == 4 && beyond == 6 && refused > 0 && told == refused &&
                       space.counters().used == 0;
    std::printf("%d requests failed, and the handler was called each time: %s\n", refused,
                right ? "as expected" : "NOT as expected");
    return right;
}

}  // namespace

int main() {
    const Result<bool> outcome = example();
    if (!outcome)
        std::fprintf(stderr, "%s\n", to_text(outcome.error()).c_str());
    return outcome && *outcome ? 0 : 1;
}
