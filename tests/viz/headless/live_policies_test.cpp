// Every policy of the catalogue under an attached viewer: what its events and those of its device
// become in a history, and in pictures of that. Published through the C recorder, and by contexts
// of the C interface, which is what Python has.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/observed_device.h"
#include "core/allocator/observed_allocator.h"
#include "core/base/random.h"
#include "replay/c_api/tidemark.h"
#include "tests/support/live_folder.h"
#include "tests/support/policy.h"
#include "viz/headless/still.h"
#include "viz/live/attach.h"

namespace tidemark {
namespace {

// What a policy and its device do, told by the C recorder.
class ToRecorder final : public MemoryObserver {
  public:
    explicit ToRecorder(const std::string& name) {
        TM_INIT(tm_recorder_options, options);
        options.name = name.c_str();
        REQUIRE(tm_recorder_open(&options, &recorder_) == TM_OK);
    }

    ToRecorder(const ToRecorder&) = delete;
    ToRecorder& operator=(const ToRecorder&) = delete;

    ~ToRecorder() override { tm_recorder_close(recorder_); }

    void on_allocate(const Request& request, const Allocation& allocation) override {
        put(TM_EVENT_ALLOCATE, to_integer(allocation.address), request.size, allocation.size);
    }

    void on_refused(const Request& request, const OutOfMemory& why) override {
        put(TM_EVENT_REFUSED, 0, request.size, static_cast<std::uint64_t>(why.cause));
    }

    void on_deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        put(TM_EVENT_FREE, to_integer(allocation.address), allocation.size, 0);
    }

    void on_trim() override { put(TM_EVENT_TRIM, 0, 0, 0); }

    void on_segment(SegmentChange change, Range range, StreamId /*stream*/, Address home) override {
        put(static_cast<tm_event_record>(TM_EVENT_SEGMENT_ALLOC + static_cast<int>(change)),
            to_integer(range.begin), range.size, to_integer(home));
    }

    void close() {
        CHECK(tm_recorder_close(recorder_) == TM_OK);
        recorder_ = nullptr;
    }

  private:
    void put(tm_event_record kind, std::uint64_t address, std::uint64_t size, std::uint64_t extra) {
        TM_INIT(tm_event, event);
        event.kind = static_cast<std::uint16_t>(kind);
        event.address = address;
        event.size = size;
        event.extra = extra;
        CHECK(tm_recorder_event(recorder_, &event) == TM_OK);
    }

    tm_recorder* recorder_ = nullptr;
};

// A viewer's side: one program, followed.
class Viewer {
  public:
    explicit Viewer(const std::string& program) {
        const auto attached = runs_.attach(program);
        if (!attached)
            FAIL(to_text(attached.error()));
    }

    void look() {
        runs_.wait();
        runs_.poll();
        check();
    }

    // Until the program's end was seen; every view that shows memory is drawn.
    void look_to_the_end() {
        while (!run().history->complete() && run().state.phase != viz::LoadState::Phase::failed) {
            runs_.wait();
            runs_.poll();
            std::this_thread::yield();
        }
        check();
        CHECK(run().history->counts().events > 0);
        viz::StillOptions options;
        options.screen = {360, 240, 1, viz::FontChoice::built_in};
        options.views = {"address-map"};
        CHECK(viz::draw_still(session_, options));
    }

    const viz::ViewedRun& run() const { return session_.runs.front(); }

  private:
    void check() const {
        if (run().state.phase == viz::LoadState::Phase::failed)
            FAIL(to_text(run().state.error));
    }

    viz::Session session_;
    viz::LiveRuns runs_{session_};
};

constexpr int kRounds = 3;
constexpr int kSteps = 150;

// Requests and frees at random; at the end of a round all is freed. `grant` returns 0 where it
// refuses.
template <class Grant, class Free>
void work(Random& random, Grant grant, Free free) {
    const std::vector<Bytes> sizes{1_MiB, 5_MiB, 40_MiB, 200_MiB, 1_GiB};
    std::vector<std::uint64_t> alive;
    for (int step = 0; step < kSteps; ++step) {
        if (!alive.empty() && random.below(2) == 0) {
            std::swap(alive[random.below(alive.size())], alive.back());
            free(alive.back());
            alive.pop_back();
        } else if (const std::uint64_t block = grant(sizes[random.below(sizes.size())])) {
            alive.push_back(block);
        }
    }
    for (const std::uint64_t block : alive)
        free(block);
}

}  // namespace

TEST_CASE("every policy can be watched through the C recorder", "[live][viz][policy]") {
    const support::LiveFolder folder;
    for (const PolicyInfo& policy : all_policies()) {
        const std::string name(policy.name);
        INFO(name);
        ToRecorder recorder(name);
        Viewer viewer(name);
        SimDevice device({.capacity = 64_GiB});
        ObservedDevice observed(device, recorder);
        auto allocator = support::make_policy(policy.name, observed);
        ObservedAllocator watched(*allocator, recorder);
        Random random(3);
        std::vector<Allocation> granted;
        for (int round = 0; round < kRounds; ++round) {
            work(
                random,
                [&](Bytes size) -> std::uint64_t {
                    const auto block = watched.allocate({.size = size});
                    if (block)
                        granted.push_back(*block);
                    return block ? granted.size() : 0;
                },
                [&](std::uint64_t block) {
                    watched.deallocate(granted[block - 1], StreamId::default_stream);
                });
            viewer.look();  // so that what the trim ends is read by itself
            watched.trim(TrimLevel::all);
            viewer.look();
        }
        allocator.reset();  // which gives back what it has
        recorder.close();
        viewer.look_to_the_end();
        CHECK(viewer.run().live->unknown_frees == 0);
    }
}

TEST_CASE("every policy can be watched in a context that is recorded", "[live][viz][policy]") {
    const support::LiveFolder folder;
    for (const PolicyInfo& policy : all_policies()) {
        const std::string name(policy.name);
        INFO(name);
        TM_INIT(tm_context_options, options);
        options.machine = "sim";
        options.policy = name.c_str();
        options.record = "recorded";
        tm_context* context = nullptr;
        REQUIRE(tm_context_open(&options, &context) == TM_OK);
        Viewer viewer("recorded");
        Random random(5);
        for (int round = 0; round < kRounds; ++round) {
            work(
                random,
                [&](Bytes size) -> std::uint64_t {
                    TM_INIT(tm_request, request);
                    request.bytes = size;
                    std::uint64_t address = 0;
                    return tm_alloc(context, &request, &address, nullptr) == TM_OK ? address : 0;
                },
                [&](std::uint64_t address) { CHECK(tm_free(context, address, 0, 0) == TM_OK); });
            viewer.look();
            CHECK(tm_trim(context, 0) == TM_OK);
            viewer.look();
        }
        CHECK(tm_end_recording(context) == TM_OK);
        viewer.look_to_the_end();
        CHECK(tm_context_close(context, nullptr) == TM_OK);
    }
}

}  // namespace tidemark
