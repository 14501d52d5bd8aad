// SharedAllocator with caches under eight threads on a GPU, with content: what a thread wrote on
// its stream is there when it frees, whoever used the memory before and on which stream.
// TIDEMARK_STRESS_SECONDS says for how long (3).
#include <atomic>
#include <cstdlib>
#include <thread>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/allocator/spec.h"
#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "core/concurrent/shared_allocator.h"
#include "tests/gpu/graph_work.h"

using namespace tidemark;
using namespace tidemark::gpu;

namespace {

constexpr unsigned kThreads = 8;
constexpr std::size_t kMostHeld = 48;  // allocations of a thread
constexpr StreamId kOthers{100};       // a stream that all use now and then

struct Counts {
    std::uint64_t pairs = 0;
    std::uint64_t refused = 0;
    std::uint64_t wrong_bytes = 0;
    std::uint64_t wrong_answers = 0;
};

class Worker {
  public:
    Worker(SharedAllocator& shared, CudaDevice& device, std::atomic<Address>* mailbox,
           unsigned thread)
        : shared_(shared),
          device_(device),
          mailbox_(mailbox),
          stream_{thread + 1},
          random_(thread + 1),
          word_(thread << 24U) {}

    void run(const std::atomic<bool>& ended) {
        while (!ended) {
            if (held_.size() < kMostHeld && random_.below(100) < 55)
                take();
            else if (!held_.empty())
                drop(random_.below(held_.size()));
            if (random_.below(20'000) == 0)
                shared_.trim(TrimLevel::unused);
        }
        while (!held_.empty())
            drop(held_.size() - 1);
    }

    const Counts& counts() const { return counts_; }

  private:
    struct Held {
        Address address;
        Bytes size;
        std::uint32_t word;
    };

    void expect(bool right) { counts_.wrong_answers += right ? 0U : 1U; }

    void take() {
        const Bytes size = 512 + random_.below(Bytes{1} << (10 + random_.below(13)));
        const auto range = shared_.allocate({.size = size, .stream = stream_});
        if (!range) {
            ++counts_.refused;
            return;
        }
        const Held held{range->begin, size / 4 * 4, ++word_};
        expect(device_.write_pattern(held.address, held.word, held.size, stream_).has_value());
        held_.push_back(held);
    }

    // Most are checked. Some are used on another stream until after the free, and some are freed by
    // whichever thread comes by.
    void drop(std::size_t index) {
        const Held held = held_[index];
        held_[index] = held_.back();
        held_.pop_back();
        ++counts_.pairs;
        const std::uint64_t choice = random_.below(100);
        if (choice < 60) {
            const auto wrong = device_.check_pattern(held.address, held.word, held.size, stream_);
            expect(wrong.has_value());
            counts_.wrong_bytes += wrong ? *wrong : 0;
        }
        if (choice < 5) {
            expect(shared_.record_use(held.address, kOthers).has_value());
            expect(device_.write_pattern(held.address, held.word, held.size, kOthers).has_value());
        }
        Address to_free = held.address;
        if (choice >= 80)
            to_free = mailbox_[random_.below(kThreads)].exchange(held.address);
        expect(shared_.free(to_free).has_value());
    }

    SharedAllocator& shared_;
    CudaDevice& device_;
    std::atomic<Address>* mailbox_;
    StreamId stream_;
    Random random_;
    std::uint32_t word_;
    std::vector<Held> held_;
    Counts counts_;
};

void stress(CudaDevice& device, std::string_view policy, double seconds) {
    INFO(policy);
    std::vector<Worker> workers;
    std::atomic<Address> mailbox[kThreads] = {};
    std::atomic<bool> ended = false;
    SharedAllocator shared(std::move(*parse_policy(policy)->make(device)), device, {},
                           ThreadCaches::for_device(device));
    for (unsigned i = 0; i < kThreads; ++i)
        workers.emplace_back(shared, device, mailbox, i);
    std::vector<std::jthread> threads;
    for (Worker& worker : workers)
        threads.emplace_back([&] { worker.run(ended); });
    std::uint64_t torn = 0;
    for (const Stopwatch watch; static_cast<double>(watch.elapsed()) < seconds * 1e9;) {
        const SharedStatus status = shared.status();
        torn += status.granted - status.freed == status.live &&
                        status.requested <= status.usage.allocated &&
                        status.usage.allocated + status.cached <= status.usage.reserved
                    ? 0U
                    : 1U;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ended = true;
    threads.clear();
    for (std::atomic<Address>& left : mailbox)
        CHECK(shared.free(left));
    Counts all;
    for (const Worker& worker : workers) {
        all.pairs += worker.counts().pairs;
        all.refused += worker.counts().refused;
        all.wrong_bytes += worker.counts().wrong_bytes;
        all.wrong_answers += worker.counts().wrong_answers;
    }
    const SharedStatus status = shared.status();
    seen("threads", fmt::format("{}: {} pairs, {} from caches, {} refused, {} wrong bytes", policy,
                                all.pairs, status.hits, all.refused, all.wrong_bytes));
    CHECK(all.wrong_bytes == 0);
    CHECK(all.wrong_answers == 0);
    CHECK(torn == 0);
    CHECK(status.live == 0);
    CHECK(status.bad_addresses == 0);
    CHECK(status.hits > 0);
    CHECK(shared.close().empty());
}

}  // namespace

TEST_CASE("what threads write stays theirs, whoever frees it", "[gpu][stress]") {
    const std::unique_ptr<CudaDevice> device = open_gpu();
    if (!device)
        return;
    const char* const wanted = std::getenv("TIDEMARK_STRESS_SECONDS");
    const double seconds = wanted == nullptr ? 3 : std::atof(wanted);
    for (const char* policy : {"torch", "extent", "torch:limit=600MiB"})
        stress(*device, policy, seconds / 3);
}
