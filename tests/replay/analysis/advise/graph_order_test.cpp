// Captures by falling size: whole, with what lies between them left where it is; and not where one
// needs another's blocks.
#include "replay/analysis/advise/graph_order.h"

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

using namespace tidemark;

namespace {

class Captures {
  public:
    Captures& add(EventKind kind, std::uint32_t slot = kNoSlot, Bytes size = 0) {
        TraceEvent event;
        event.kind = kind;
        event.slot = slot;
        event.size = size;
        event.aux = 1;
        event.time = static_cast<Nanoseconds>(events_.size());
        events_.push_back(event);
        return *this;
    }

    Captures& capture(std::uint32_t slot, Bytes size, bool keeps = false) {
        add(EventKind::pool_begin).add(EventKind::allocate, slot, size);
        if (!keeps)
            add(EventKind::free, slot);
        return add(EventKind::pool_end);
    }

    // The sizes of allocations in their new order; empty: it stays as it is.
    std::vector<Bytes> sizes() const {
        TraceInfo info;
        info.pools = {"default", "graphs"};
        const support::VectorTrace trace(events_, info);
        const auto found = largest_graph_first(trace);
        REQUIRE(found);
        std::vector<Bytes> sizes;
        if (!*found)
            return sizes;
        Nanoseconds last = -1;
        const auto cursor = (*found)->cursor();
        for (;;) {
            const auto batch = cursor->next();
            REQUIRE(batch);
            if (batch->count == 0)
                return sizes;
            for (std::size_t i = 0; i < batch->count; ++i) {
                CHECK(batch->time[i] > last);
                last = batch->time[i];
                if (batch->kind[i] == EventKind::allocate)
                    sizes.push_back(batch->size[i]);
            }
        }
    }

  private:
    std::vector<TraceEvent> events_;
};

}  // namespace

TEST_CASE("captures change places, and nothing else does", "[graph-order]") {
    Captures program;
    program.add(EventKind::allocate, 0, 7).capture(1, 10).add(EventKind::allocate, 2, 8);
    program.capture(3, 30, true).capture(4, 20).add(EventKind::free, 3);
    CHECK(program.sizes() == std::vector<Bytes>{7, 30, 8, 20, 10});
}

TEST_CASE("captures that are in order, or need each other, stay", "[graph-order]") {
    CHECK(Captures().capture(0, 30).capture(1, 20).sizes().empty());
    CHECK(Captures().capture(0, 30).sizes().empty());
    // A block of the first that is freed between them, or by the second.
    Captures between;
    between.capture(0, 10, true).add(EventKind::free, 0).capture(1, 20);
    CHECK(between.sizes().empty());
    Captures within;
    within.capture(0, 10, true).add(EventKind::pool_begin).add(EventKind::allocate, 1, 20);
    within.add(EventKind::free, 0).add(EventKind::pool_end);
    CHECK(within.sizes().empty());
    Captures outside;
    outside.add(EventKind::allocate, 0, 5).capture(1, 10).add(EventKind::pool_begin);
    outside.add(EventKind::free, 0).add(EventKind::allocate, 2, 20).add(EventKind::pool_end);
    CHECK(outside.sizes().empty());
}
