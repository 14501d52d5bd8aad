// The torch policy against what PyTorch recorded on real hardware: every decision, and PyTorch's
// own statistics. The recordings are those of traces/samples; one that is missing fails.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "replay/record/recorded_policy.h"
#include "replay/record/verify.h"
#include "traces/open.h"

using namespace tidemark;

namespace {

const std::filesystem::path kSamples = TIDEMARK_SOURCE_DIR "/traces/samples";

VerifyReport verified(const std::filesystem::path& file, Bytes limit) {
    const auto trace = open_trace(file.string());
    if (!trace)
        FAIL(to_text(trace.error()));
    const auto policy = recorded_policy((*trace)->info());
    if (!policy)
        FAIL(to_text(policy.error()));
    const auto spec = parse_policy(policy->text);
    if (!spec)
        FAIL(to_text(spec.error()));
    VerifyOptions options;
    options.limit = limit;
    const auto report = verify(**trace, *spec, options);
    if (!report)
        FAIL(to_text(report.error()));
    if (report->first_mismatch) {
        UNSCOPED_INFO("event " << report->first_mismatch->event);
        UNSCOPED_INFO("expected " << report->first_mismatch->expected);
        UNSCOPED_INFO("actual   " << report->first_mismatch->actual);
        for (const std::string& line : report->first_mismatch->neighbourhood)
            UNSCOPED_INFO(line);
    }
    return *report;
}

// A recording of `folder`, its statistics beside it.
struct Recording {
    Recording(const std::string& folder, const std::string& name)
        : file(kSamples / folder / (name + ".pickle.xz")) {
        std::ifstream input(kSamples / folder / (name + ".json"));
        if (!input)
            FAIL("there is no " << name << ".json in " << kSamples / folder);
        facts = nlohmann::json::parse(input);
    }

    Bytes stat(const std::string& key) const { return facts.at("stats").at(key).get<Bytes>(); }

    Bytes limit() const { return facts.value("limit", Bytes{0}); }

    // The programs at the edges took and gave back one segment before they began to record.
    Bytes unrecorded() const { return facts.contains("seed") && facts.contains("allocs") ? 1 : 0; }

    std::filesystem::path file;
    nlohmann::json facts;
};

// Everything that the model and PyTorch both count.
void check_counters(const VerifyReport& report, const Recording& recording) {
    CHECK(report.peak.reserved == recording.stat("reserved_bytes.all.peak"));
    CHECK(report.peak.allocated == recording.stat("allocated_bytes.all.peak"));
    CHECK(report.peak.active == recording.stat("active_bytes.all.peak"));
    CHECK(report.stats.out_of_memory == recording.stat("num_ooms"));
    // Emptying caches that hold nothing leaves no trace.
    CHECK(report.stats.synchronizations <= recording.stat("num_sync_all_streams"));
    const Bytes before = recording.unrecorded();
    CHECK(report.stats.segments_created + report.stats.maps + before ==
          recording.stat("num_device_alloc"));
    CHECK(report.stats.segments_released + report.stats.unmaps + before ==
          recording.stat("num_device_free"));
}

}  // namespace

TEST_CASE("torch decides as PyTorch did, on every recorded workload", "[truth][torch]") {
    const auto* name = GENERATE("gpt2_var", "gpt2_var-exp", "resnet", "resnet-frames", "churn",
                                "churn-gc", "multistream", "multistream-exp", "moe", "graphs");
    CAPTURE(name);
    const Recording recording("torch", name);

    const VerifyReport report = verified(recording.file, recording.limit());

    CHECK(report.mismatches == 0);
    CHECK(report.not_inferable == 0);
    CHECK(report.decisions > 200);
    CHECK(report.stats.retries == recording.stat("num_alloc_retries"));
    CHECK(report.stats.synchronizations == recording.stat("num_sync_all_streams"));
    check_counters(report, recording);
}

TEST_CASE("torch decides as PyTorch did, at the edges of its rules", "[truth][torch]") {
    const std::string name =
        GENERATE("boundaries", "boundaries-exp", "capture", "everything", "gc-exp", "gc-only",
                 "pools", "pools-exp", "round-list", "split-exp", "split21", "split64", "streams",
                 "streams-exp", "toggle", "unlimited", "unlimited-exp");
    CAPTURE(name);
    const Recording recording("torch-edges", name);

    const VerifyReport report = verified(recording.file, recording.limit());

    CHECK(report.mismatches == 0);
    CHECK(report.decisions > 5'000);
    // Without a limit only the size of the card tells a retry from emptied caches; and in gc-exp
    // one of the two looks like the other.
    if (recording.limit() != 0 && name != "gc-exp")
        CHECK(report.stats.retries == recording.stat("num_alloc_retries"));
    check_counters(report, recording);
}

TEST_CASE("each of two devices decides as PyTorch did", "[truth][torch]") {
    const Recording recording("torch-edges", "two-devices");

    const VerifyReport report = verified(recording.file, recording.limit());

    CHECK(report.mismatches == 0);  // the statistics are those of one of the two
    CHECK(report.peak.reserved > recording.stat("reserved_bytes.all.peak"));
}

TEST_CASE("the limit of a recording is found where nobody gives it", "[truth][torch]") {
    const auto* name = GENERATE("everything", "gc-only", "split64", "streams-exp", "boundaries");
    CAPTURE(name);
    const Recording recording("torch-edges", name);

    const VerifyReport report = verified(recording.file, 0);

    CHECK(report.mismatches == 0);
    const auto limit = std::find_if(
        report.facts.begin(), report.facts.end(),
        [](const InferredFact& fact) { return fact.kind == InferredFact::Kind::limit; });
    REQUIRE(limit != report.facts.end());
    CHECK(limit->count == recording.limit());
}

TEST_CASE("torch goes on from the middle of a cut recording", "[truth][torch]") {
    const VerifyReport report = verified(kSamples / "torch/gpt2_var-ring.pickle.xz", 0);

    CHECK(report.mismatches == 0);
    CHECK(report.decisions > 1'500);
}

TEST_CASE("torch decides as PyTorch did, on programs with several streams", "[truth][torch]") {
    const auto* name = GENERATE("fsdp", "fsdp-1.1", "fsdp-1.e1", "ddp-1.1", "ddp-1.e1");
    CAPTURE(name);
    const Recording recording("streams", name);

    const VerifyReport report = verified(recording.file, recording.limit());

    CHECK(report.mismatches == 0);
    CHECK(report.decisions > 500);
    check_counters(report, recording);
}

// So that README's number of recordings stays true.
TEST_CASE("every snapshot among the samples is held against PyTorch here", "[truth][torch]") {
    std::size_t snapshots = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kSamples))
        // Those of `spread` are held against peaks of other runs (tests/replay/analysis).
        if (entry.path().string().ends_with(".pickle.xz") &&
            entry.path().parent_path().filename() != "spread")
            ++snapshots;

    CHECK(snapshots == 34);  // 10 workloads, a ring, 17 at the edges, two devices, 5 with streams
}

TEST_CASE("a wrong model is found out", "[truth][torch]") {
    const auto trace = open_trace((kSamples / "torch/gpt2_var.pickle.xz").string());
    REQUIRE(trace);

    const auto report =
        verify(**trace, *parse_policy("torch:roundup_power2_divisions:4"), VerifyOptions{});

    REQUIRE(report);
    CHECK(report->mismatches > 100);
}
