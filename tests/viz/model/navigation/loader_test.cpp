// The loader: files become runs with histories; what is wrong becomes the error of its run.
#include "viz/model/navigation/loader.h"

#include <fstream>

#include <catch2/catch.hpp>

#include "tests/support/system_limits.h"
#include "viz/model/navigation/findings.h"

using namespace tidemark;
using namespace tidemark::viz;

namespace {

std::string sample(const std::string& name) {
    return std::string(TIDEMARK_SOURCE_DIR "/traces/samples/torch/") + name;
}

LoadRequest request_of(std::vector<std::string> files, std::vector<std::string> policies = {}) {
    LoadRequest request;
    request.files = std::move(files);
    request.policies = std::move(policies);
    request.keep = false;
    request.advises = false;
    return request;
}

std::vector<std::string> labels(const LoadRequest& request) {
    std::vector<std::string> all;
    for (const ViewedRun& run : planned_runs(request))
        all.push_back(run.label);
    return all;
}

using Labels = std::vector<std::string>;

// A session with a loader that waits for each request.
struct Loaded {
    explicit Loaded(LoadRequest request) { add(std::move(request)); }

    void add(LoadRequest request) {
        loader.add(std::move(request));
        loader.wait();
    }

    const ViewedRun& run(std::size_t index = 0) const { return session.runs[index]; }

    Session session;
    Loader loader{session};
};

}  // namespace

TEST_CASE("a run's trace is replayed under another policy, once", "[viz][loader]") {
    Loaded loaded(request_of({sample("graphs.pickle.xz")}));
    const auto made = loaded.loader.replay(0, "best-fit");
    REQUIRE(made);
    CHECK(*made == 1);
    loaded.loader.wait();
    CHECK(loaded.run(1).state.phase == LoadState::Phase::ready);
    CHECK(loaded.run(1).label == "best-fit");
    CHECK(loaded.run(1).trace_name == loaded.run(0).trace_name);
    CHECK(loaded.run(1).run->trace_hash == loaded.run(0).run->trace_hash);
    CHECK(loaded.loader.replay(0, "best-fit") == 1U);  // it is there already
    CHECK(loaded.session.runs.size() == 2);
    CHECK(loaded.loader.replay(0, "bets-fit").error().code == ErrorCode::bad_option);
    CHECK(loaded.session.runs.size() == 2);
    LoadRequest tiers = request_of({sample("graphs.pickle.xz")});
    tiers.tiers.gpu_memory = {"60%"};
    Loaded tiered(std::move(tiers));
    CHECK(tiered.loader.replay(0, "best-fit").error().code == ErrorCode::bad_option);
}

TEST_CASE("labels say in what runs differ, and no more", "[viz][loader]") {
    CHECK(labels(request_of({"/a/run.tmk"})) == Labels{"run.tmk"});
    CHECK(labels(request_of({"/a/run.tmk"}, {"torch", "buddy"})) == Labels{"torch", "buddy"});
    CHECK(labels(request_of({"/a/x.tmk", "/b/y.tmk"}, {"torch"})) == Labels{"x.tmk", "y.tmk"});
    CHECK(labels(request_of({"/a/run.tmk", "/b/run.tmk"})) == Labels{"a/run.tmk", "b/run.tmk"});
    CHECK(labels(request_of({"x", "y"}, {"torch", "buddy"})) ==
          Labels{"x, torch", "x, buddy", "y, torch", "y, buddy"});
    LoadRequest tiers = request_of({"x"});
    tiers.tiers.gpu_memory = {"60%", "40%"};
    tiers.tiers.spill = {"lru", "s3fifo"};
    CHECK(labels(tiers) == Labels{"lru, 60%", "lru, 40%", "s3fifo, 60%", "s3fifo, 40%"});
}

TEST_CASE("files that are opened one after the other have names of their own", "[viz][loader]") {
    Loaded loaded(request_of({sample("graphs.pickle.xz")}));
    loaded.add(request_of({sample("graphs.pickle.xz")}));
    CHECK(loaded.run(0).label == "graphs.pickle.xz");
    CHECK(loaded.run(1).label == "graphs.pickle.xz (2)");
    CHECK(loaded.run(1).trace_name == loaded.run(0).trace_name);
    REQUIRE(loaded.loader.replay(0, "buddy"));
    REQUIRE(loaded.loader.replay(1, "buddy"));  // of the same file: once
    loaded.loader.wait();
    CHECK(loaded.session.runs.size() == 3);
}

TEST_CASE("a file under two policies becomes two runs of the same trace", "[viz][loader]") {
    const support::ThreadLimit limit(GENERATE(0, 1, 1000));
    Session session;
    Loader loader(session);
    loader.add(request_of({sample("gpt2_var.pickle.xz")}, {"", "best-fit"}));
    REQUIRE(session.runs.size() == 2);
    CHECK(session.runs[0].state.phase == LoadState::Phase::waiting);
    loader.wait();
    CHECK_FALSE(loader.running());
    for (const ViewedRun& run : session.runs) {
        INFO(to_text(run.state.error));
        REQUIRE(run.state.phase == LoadState::Phase::ready);
        CHECK(run.state.share == 1);
        REQUIRE(run.history);
        CHECK(run.history->complete());
        REQUIRE(run.run);
    }
    CHECK(session.runs[0].history->counts().events == session.runs[1].history->counts().events);
    CHECK(session.runs[1].run->policy_name == "best-fit");
}

TEST_CASE("wrong names and files are errors of their runs alone", "[viz][loader]") {
    Loaded loaded(request_of({sample("graphs.pickle.xz")}, {"torch", "bets-fit"}));
    loaded.add(request_of({"/nonexistent/run.tmk"}));
    REQUIRE(loaded.session.runs.size() == 3);
    CHECK(loaded.run(0).state.phase == LoadState::Phase::ready);
    CHECK(loaded.run(1).state.phase == LoadState::Phase::failed);
    CHECK(loaded.run(1).state.error.code == ErrorCode::bad_option);
    CHECK(to_text(loaded.run(1).state.error).find("best-fit") != std::string::npos);
    CHECK(loaded.run(2).state.phase == LoadState::Phase::failed);
    CHECK(to_text(loaded.run(2).state.error).find("/nonexistent/run.tmk") != std::string::npos);
}

TEST_CASE("a trace that names no allocator is shown under torch, with a note", "[viz][loader]") {
    const Loaded loaded(request_of({"generate:training"}));
    REQUIRE(loaded.run().state.phase == LoadState::Phase::ready);
    CHECK(loaded.run().run->policy_name == "torch");
    REQUIRE_FALSE(loaded.run().warnings.empty());
    CHECK(loaded.run().warnings.back().find("--policy") != std::string::npos);
}

TEST_CASE("tiers' options make runs over tiers", "[viz][loader]") {
    LoadRequest request = request_of({"generate:training"});
    request.tiers.gpu_memory = {"70%", "lots"};
    const Loaded loaded(request);
    REQUIRE(loaded.session.runs.size() == 2);
    INFO(to_text(loaded.run(0).state.error));
    REQUIRE(loaded.run(0).tiers);
    CHECK(loaded.run(0).tiers->makespan > 0);
    CHECK_FALSE(loaded.run(0).history);
    CHECK(loaded.run(1).state.phase == LoadState::Phase::failed);
}

TEST_CASE("findings come after the runs, unless nobody wants them", "[viz][loader]") {
    LoadRequest request = request_of({sample("graphs.pickle.xz")});
    CHECK(Loaded(request).run().findings_state.phase == LoadState::Phase::waiting);
    request.advises = true;
    const Loaded loaded(request);
    CHECK(loaded.run().findings_state.phase == LoadState::Phase::ready);
    CHECK(loaded.run().unadvised_events == 0);
}

TEST_CASE("each run has findings of its own, the first one those of advise too", "[viz][loader]") {
    LoadRequest request = request_of({sample("gpt2_var.pickle.xz")}, {"torch", "buddy"});
    request.advises = true;
    const Loaded loaded(request);
    const Cancelled never = false;
    std::vector<std::size_t> own;
    for (const ViewedRun& run : loaded.session.runs) {
        CHECK(run.findings_state.phase == LoadState::Phase::ready);
        CHECK_FALSE(run.findings.empty());
        own.push_back(findings_of_history(*run.history, never).size());
    }
    CHECK(loaded.run(0).findings.size() > own.at(0));
    CHECK(loaded.run(1).findings.size() == own.at(1));
}

TEST_CASE("a capacity is shown where somebody said it", "[viz][loader]") {
    LoadRequest request = request_of({sample("graphs.pickle.xz")});  // which doesn't
    CHECK(Loaded(request).run().history->capacity() == 0);
    request.scenario.memory = 80_GiB;
    CHECK(Loaded(request).run().history->capacity() == 80_GiB);
}

TEST_CASE("advise is asked about each file, and who shows another policy is told where it is",
          "[viz][loader]") {
    LoadRequest request = request_of({sample("graphs.pickle.xz"), sample("multistream.pickle.xz")});
    request.advises = true;
    const Loaded both(request);
    request.files = {sample("multistream.pickle.xz")};
    const Loaded alone(request);
    CHECK(both.run(1).findings.size() == alone.run(0).findings.size());
    CHECK(both.run(1).advised_with.empty());

    const Loaded policies(request_of({sample("graphs.pickle.xz")}, {"torch", "buddy"}));
    CHECK(policies.run(1).advised_with.empty());  // nobody asks
    request = request_of({"x"}, {"torch", "buddy"});
    request.advises = true;
    const std::vector<ViewedRun> planned = planned_runs(request);
    CHECK(planned[0].advised_with.empty());
    CHECK(planned[1].advised_with == "torch");
}

TEST_CASE("advise is not run for a long trace, until somebody wants it", "[viz][loader]") {
    LoadRequest request = request_of({sample("gpt2_var.pickle.xz")});
    request.advises = true;
    request.most_advised_events = 1000;
    Loaded loaded(request);
    Loader& loader = loaded.loader;
    const ViewedRun& run = loaded.run();
    CHECK(run.findings_state.phase == LoadState::Phase::ready);
    CHECK(run.unadvised_events > 1000);
    const std::size_t seen = run.findings.size();
    CHECK(seen > 0);

    // Cancelled, it can be asked again.
    loader.advise(0);
    CHECK(loader.running());
    CHECK(run.unadvised_events == 0);
    loader.cancel();
    loader.wait();
    CHECK(run.findings_state.phase == LoadState::Phase::failed);
    CHECK(run.findings_state.error.code == ErrorCode::cancelled);
    CHECK(run.unadvised_events > 0);
    CHECK(run.findings.size() == seen);

    loader.advise(0);
    loader.wait();
    CHECK(run.findings_state.phase == LoadState::Phase::ready);
    CHECK(run.unadvised_events == 0);
    CHECK(run.findings.size() > seen);
    loader.advise(0);
    CHECK_FALSE(loader.running());
}

TEST_CASE("what is cancelled ends as cancelled or complete, and the next request is done",
          "[viz][loader]") {
    Session session;
    Loader loader(session);
    loader.add(request_of({"generate:training", "generate:serving"}, {"torch", "buddy"}));
    loader.cancel();
    loader.wait();
    for (const ViewedRun& run : session.runs) {
        const bool is_cancelled = run.state.phase == LoadState::Phase::failed &&
                                  run.state.error.code == ErrorCode::cancelled;
        CHECK((is_cancelled || run.state.phase == LoadState::Phase::ready));
    }
    loader.add(request_of({sample("graphs.pickle.xz")}));
    loader.wait();
    CHECK(session.runs.back().state.phase == LoadState::Phase::ready);
}

TEST_CASE("a loader may go while it works", "[viz][loader]") {
    Session session;
    Loader loader(session);
    loader.add(request_of({"generate:training", "generate:serving"}));
    loader.poll();
    SUCCEED();
}
