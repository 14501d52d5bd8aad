// The graph proof: a captured graph whose intermediates come from an allocator computes the right
// thing at each of 10,000 launches, and touches nobody else's memory, while its inputs change and
// the same allocator serves others between the launches and beside them. On the GPU with kernels;
// on the simulator the same with copies, under the checker. Both also show the proof failing, where
// a graph's memory is given to others.
#include <cstdio>
#include <deque>
#include <map>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/checked.h"
#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "tests/gpu/graph_work.h"
#include "tests/support/policy.h"

using namespace tidemark;
using namespace tidemark::gpu;

namespace {

constexpr StreamId kGraphs{1};
constexpr StreamId kBeside{2};
constexpr PoolId kPool{1};

// Where the intermediates of a graph come from.
struct Source {
    const char* name = "";
    const char* policy = "";  // empty: nodes of the graph, by malloc_async on the captured stream
    bool pool = true;         // a private pool, else the one that all share
    bool keeps = false;       // intermediates live as long as the graph
};

constexpr Source kSources[] = {
    {.name = "arena, bump", .policy = "arena"},
    {.name = "arena, planned", .policy = "arena:mode=planned"},
    {.name = "torch, private pool", .policy = "torch"},
    {.name = "torch, expandable", .policy = "torch:expandable_segments=True"},
    {.name = "vpmm, kept", .policy = "vpmm:capture=survive", .pool = false, .keeps = true},
    {.name = "nodes of the graph"},
};

// What must fail: freed in the capture, any request may get the memory.
constexpr Source kShared{.name = "torch, shared pool", .policy = "torch", .pool = false};

// The memory of a proof: the graph's intermediates, and what others have.
class Memory {
  public:
    Memory(Device& device, Allocator* allocator, const Source& source)
        : device_(device), allocator_(allocator), source_(source) {}

    Address take(Bytes size, StreamId stream, bool for_graph) {
        if (allocator_ == nullptr)
            return device_.malloc_async(size, stream).value();
        const PoolId pool = for_graph && source_.pool ? kPool : PoolId::default_pool;
        const auto granted =
            allocator_->allocate({.size = size, .alignment = 256, .stream = stream, .pool = pool});
        if (!granted)
            FAIL("refused: " << to_text(granted.error().cause));
        granted_.emplace(granted->address, *granted);
        return granted->address;
    }

    void give(Address address, StreamId stream) {
        if (allocator_ == nullptr) {
            REQUIRE(device_.free_async(address, stream));
            return;
        }
        const auto found = granted_.find(address);
        allocator_->deallocate(found->second, stream);
        granted_.erase(found);
    }

    // An intermediate that the graph needs no more.
    void give_in_graph(Address address) {
        if (source_.keeps)
            kept_.push_back(address);
        else
            give(address, kGraphs);
    }

    void give_kept() {
        for (const Address address : kept_)
            give(address, kGraphs);
        kept_.clear();
    }

  private:
    Device& device_;
    Allocator* allocator_;
    Source source_;
    std::map<Address, Allocation> granted_;
    std::vector<Address> kept_;
};

struct Proof {
    Bytes size = 0;
    int launches = 0;
    std::uint64_t wrong_outputs = 0;
    std::uint64_t wrong_others = 0;
    Nanoseconds elapsed = 0;
};

struct InOut {
    Address a = Address::null;
    Address b = Address::null;
    Address out = Address::null;
};

// out = a + 2 b, in five steps with four intermediates, of which two live at any time.
void queue_graph(GraphWork& work, Memory& memory, const InOut& io, Bytes size) {
    constexpr std::uint32_t kMinus = ~std::uint32_t{0};
    const auto step = [&](Term first, Term second) {
        const Address target = memory.take(size, kGraphs, true);
        work.combine(target, first, second, size, kGraphs);
        return target;
    };
    const Address sum = step({1, io.a}, {1, io.b});
    const Address twice = step({2, sum}, {0, sum});
    memory.give_in_graph(sum);
    const Address less = step({1, twice}, {kMinus, io.a});
    memory.give_in_graph(twice);
    const Address more = step({1, less}, {1, io.b});
    memory.give_in_graph(less);
    work.combine(io.out, {1, more}, {kMinus, io.b}, size, kGraphs);
    memory.give_in_graph(more);
}

// The same as requests, for allocators that plan.
std::vector<PlannedAllocation> planned(Bytes size) {
    const auto one = [&](std::uint32_t begin, std::uint32_t end) {
        return PlannedAllocation{
            .size = size, .begin = begin, .end = end, .stream = kGraphs, .alignment = 256};
    };
    return {one(0, 2), one(1, 4), one(3, 6), one(5, 7)};
}

// Memory of others, each with words of its own, some on the stream of the graphs and some beside.
class Others {
  public:
    Others(GraphWork& work, Memory& memory, Bytes size)
        : work_(work), memory_(memory), largest_(size) {}

    // One more, and the oldest is looked at and goes.
    void turn() {
        const StreamId stream = random_.below(2) == 0 ? kGraphs : kBeside;
        const Bytes size = 4 * (1 + random_.below(largest_ / 2));
        const std::uint32_t seed = ++seeds_;
        const Address address = memory_.take(size, stream, false);
        work_.fill(address, size, seed, stream);
        live_.push_back({address, size, seed, stream});
        if (live_.size() > kLive)
            drop();
    }

    void drop() {
        const Other& oldest = live_.front();
        work_.check(oldest.address, {1, oldest.seed}, {0, 0}, oldest.size, oldest.stream);
        memory_.give(oldest.address, oldest.stream);
        live_.pop_front();
    }

    void drop_all() {
        while (!live_.empty())
            drop();
    }

  private:
    static constexpr std::size_t kLive = 6;

    struct Other {
        Address address = Address::null;
        Bytes size = 0;
        std::uint32_t seed = 0;
        StreamId stream = kGraphs;
    };

    GraphWork& work_;
    Memory& memory_;
    Bytes largest_;
    Random random_{7};
    std::uint32_t seeds_ = 0x80000000;
    std::deque<Other> live_;
};

// Outputs are counted apart from others by a second counter, so there are two works.
void run_proof(Device& device, Allocator* allocator, const Source& source,
               std::unique_ptr<GraphWork> (*make)(Device&), Proof& proof) {
    const std::unique_ptr<GraphWork> work = make(device);
    const std::unique_ptr<GraphWork> other_work = make(device);
    Memory memory(device, allocator, source);
    const Bytes size = proof.size;
    const InOut io{memory.take(size, kGraphs, false), memory.take(size, kGraphs, false),
                   memory.take(size, kGraphs, false)};
    Others others(*other_work, memory, size);
    for (int i = 0; i < 8; ++i)
        others.turn();
    if (allocator != nullptr && source.pool) {
        allocator->plan_pool(kPool, planned(size));
        allocator->begin_pool(kPool, {});
    }
    REQUIRE(device.begin_capture(kGraphs));
    queue_graph(*work, memory, io, size);
    const DeviceResult<GraphId> graph = device.end_capture(kGraphs);
    REQUIRE(graph);
    if (allocator != nullptr && source.pool)
        allocator->end_pool(kPool);

    const Stopwatch watch;
    for (int i = 0; i < proof.launches; ++i) {
        const auto seed = static_cast<std::uint32_t>(2 * i);
        work->fill(io.a, size, seed, kGraphs);
        work->fill(io.b, size, seed + 1, kGraphs);
        others.turn();
        REQUIRE(device.launch(*graph, kGraphs));
        work->check(io.out, {1, seed}, {2, seed + 1}, size, kGraphs);
        // Work of the stream beside cannot be ahead without bound.
        if (i % 256 == 255)
            REQUIRE(device.synchronize_device());
    }
    others.drop_all();
    proof.wrong_outputs = work->wrong();
    proof.wrong_others = other_work->wrong();
    proof.elapsed = watch.elapsed();
    REQUIRE(device.destroy_graph(*graph));
    memory.give_kept();
    if (allocator != nullptr && source.pool)
        allocator->close_pool(kPool);
    for (const Address address : {io.a, io.b, io.out})
        memory.give(address, kGraphs);
    REQUIRE(device.synchronize_device());
}

std::unique_ptr<GraphWork> copies(Device& device) {
    return make_copy_work(device);
}

std::unique_ptr<GraphWork> kernels(Device& device) {
    return make_kernel_work(static_cast<CudaDevice&>(device));
}

// On the simulator; how many hazards the checker saw.
std::uint64_t prove_on_simulator(const Source& source, Proof& proof) {
    SimDevice sim({.capacity = 2_GiB, .backed = true});
    Checker checker;
    CheckedDevice device(sim, checker);
    std::unique_ptr<Allocator> allocator;
    if (*source.policy != '\0')
        allocator = std::make_unique<CheckedAllocator>(support::make_policy(source.policy, device),
                                                       checker);
    run_proof(device, allocator.get(), source, copies, proof);
    allocator.reset();
    for (const Hazard& hazard : checker.hazards()) {
        UNSCOPED_INFO(source.name << ": " << to_text(hazard.kind) << " " << hazard.what);
        break;
    }
    return checker.count();
}

void prove_on_gpu(CudaDevice& device, const Source& source, Proof& proof) {
    std::unique_ptr<Allocator> allocator;
    if (*source.policy != '\0')
        allocator = support::make_policy(source.policy, device);
    run_proof(device, allocator.get(), source, kernels, proof);
    if (allocator)
        allocator->trim(TrimLevel::all);
    std::printf(
        "%-22s %10llu bytes, %d launches: %llu words of the output wrong, %llu of others, "
        "%.1f us a launch with what is around it\n",
        source.name, static_cast<unsigned long long>(proof.size), proof.launches,
        static_cast<unsigned long long>(proof.wrong_outputs),
        static_cast<unsigned long long>(proof.wrong_others),
        static_cast<double>(proof.elapsed) / 1000.0 / proof.launches);
}

}  // namespace

TEST_CASE("on the simulator replayed graphs are right and disturb nobody, from every source") {
    for (const Source& source : kSources) {
        for (const Bytes size : {Bytes{4}, 4_KiB, 3_MiB}) {
            INFO(source.name << ", " << size << " bytes");
            Proof proof{.size = size, .launches = size > 1_MiB ? 20 : 300};
            const std::uint64_t hazards = prove_on_simulator(source, proof);
            CHECK(hazards == 0);
            CHECK(proof.wrong_outputs == 0);
            CHECK(proof.wrong_others == 0);
        }
    }
}

TEST_CASE("on the simulator a graph whose memory others get too is seen, by content and checker") {
    Proof proof{.size = 4_KiB, .launches = 300};
    const std::uint64_t hazards = prove_on_simulator(kShared, proof);
    CHECK(hazards > 0);
    CHECK(proof.wrong_others > 0);
}

TEST_CASE("on the GPU graphs replayed 10,000 times are right and disturb nobody", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    for (const Source& source : kSources) {
        for (const Bytes size : {Bytes{4}, 4_KiB, 1_MiB + 4, 8_MiB}) {
            INFO(source.name << ", " << size << " bytes");
            Proof proof{.size = size, .launches = 10'000};
            prove_on_gpu(*device, source, proof);
            CHECK(proof.wrong_outputs == 0);
            CHECK(proof.wrong_others == 0);
        }
    }
}

TEST_CASE("on the GPU a graph whose memory others get too is seen", "[gpu]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    Proof proof{.size = 1_MiB, .launches = 1000};
    prove_on_gpu(*device, kShared, proof);
    CHECK(proof.wrong_others > 0);
}
