// The torch policy against what PyTorch recorded on real hardware: every decision, and PyTorch's
// own statistics. The recordings lie beside the project; where they are missing the samples that
// ship with it are used, and the rest is skipped by name.
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "replay/analysis/verify.h"
#include "replay/scenario/recorded_policy.h"
#include "traces/open.h"

using namespace tidemark;

namespace {

const std::filesystem::path kShared = TIDEMARK_SOURCE_DIR "/../shared/traces";
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
        : file(kShared / folder / (name + ".pickle.xz")) {
        std::ifstream input(kShared / folder / (name + ".json"));
        if (input)
            facts = nlohmann::json::parse(input);
    }

    bool present() const { return std::filesystem::exists(file) && !facts.is_null(); }

    Bytes stat(const std::string& key) const { return facts.at("stats").at(key).get<Bytes>(); }

    Bytes limit() const { return facts.value("limit", Bytes{0}); }

    std::filesystem::path file;
    nlohmann::json facts;
};

}  // namespace

TEST_CASE("torch decides as PyTorch did, on every recording without expandable segments",
          "[truth][torch]") {
    const auto* name = GENERATE("gpt2_var", "resnet", "churn", "churn-gc", "multistream", "moe",
                                "graphs", "resnet-frames");
    CAPTURE(name);
    const Recording recording("torch", name);
    if (!recording.present()) {
        WARN("skipped: no recording " << recording.file);
        return;
    }

    const VerifyReport report = verified(recording.file, recording.limit());

    CHECK(report.mismatches == 0);
    CHECK(report.not_inferable == 0);
    CHECK(report.decisions > 200);
    CHECK(report.peak.reserved == recording.stat("reserved_bytes.all.peak"));
    CHECK(report.peak.allocated == recording.stat("allocated_bytes.all.peak"));
    CHECK(report.peak.active == recording.stat("active_bytes.all.peak"));
    CHECK(report.stats.retries == recording.stat("num_alloc_retries"));
    CHECK(report.stats.out_of_memory == recording.stat("num_ooms"));
    CHECK(report.stats.segments_created == recording.stat("num_device_alloc"));
    CHECK(report.stats.segments_released == recording.stat("num_device_free"));
}

TEST_CASE("torch goes on from the middle of a cut recording", "[truth][torch]") {
    const std::filesystem::path file = kSamples / "gpt2_var-ring.pickle.xz";

    const VerifyReport report = verified(file, 0);

    CHECK(report.mismatches == 0);
    CHECK(report.decisions > 1'500);
}

TEST_CASE("torch decides as PyTorch did on the samples that ship", "[truth][torch]") {
    const auto* name = GENERATE("gpt2_var", "multistream", "graphs");
    CAPTURE(name);

    const VerifyReport report = verified(kSamples / (std::string(name) + ".pickle.xz"), 0);

    CHECK(report.mismatches == 0);
    CHECK(report.decisions > 200);
}

TEST_CASE("a wrong model is found out", "[truth][torch]") {
    const auto trace = open_trace((kSamples / "gpt2_var.pickle.xz").string());
    REQUIRE(trace);

    const auto report =
        verify(**trace, *parse_policy("torch:roundup_power2_divisions:4"), VerifyOptions{});

    REQUIRE(report);
    CHECK(report->mismatches > 100);
}
