// What it costs to pin a buffer that is there, and to let it go: by the gate alone, by a pin of the
// tiers, and by a handle of deferrable memory (core/deferrable).
#include <cstdio>
#include <memory>

#include "core/base/stopwatch.h"
#include "core/deferrable/deferrable_store.h"
#include "tests/support/tiered_fixture.h"

using namespace tidemark;

namespace {

constexpr int kRounds = 5'000'000;

template <class Pin>
void measure(const char* name, Pin pin) {
    const Stopwatch watch;
    for (int i = 0; i < kRounds; ++i)
        pin();
    std::printf("%-34s %6.1f ns\n", name, static_cast<double>(watch.elapsed()) / kRounds);
}

}  // namespace

int main() {
    const auto moves = std::make_shared<DeferrableMoves>();
    StoreOptions options;
    options.on_moves = DeferrableStore::listen(moves);
    support::TieredFixture tiers({}, options);
    DeferrableStore memory(*tiers.store, tiers.space(support::kGpu),
                           [&](Bytes size) -> Result<std::shared_ptr<const AddressRange>> {
                               return tiers.transfers.reserve(size);
                           },
                           moves, {});
    const Deferrable buffer = *memory.create(300, 0);
    (void)memory.pin(buffer);  // opens it
    Gate gate;
    Gate::State before;
    gate.admit(true, false, before);
    measure("gate", [&] {
        bool writers = false;
        if (gate.try_pin(true))
            (void)gate.unpin(writers);
    });
    measure("gate, with a stream", [&] {
        bool writers = false;
        if (!gate.try_pin(true))
            return;
        gate.note(StreamId{7});
        (void)gate.unpin(writers);
    });
    measure("deferrable buffer", [&] { (void)memory.pin(buffer); });
    measure("deferrable buffer, with a stream", [&] { memory.pin(buffer)->release(StreamId{7}); });
    return memory.statistics().uses > 2 * kRounds ? 0 : 1;
}
