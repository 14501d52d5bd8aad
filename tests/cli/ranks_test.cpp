// What is said of real training jobs of two ranks, in which a difference was planted
// (scripts/ranks_programs.py, two H200s).
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using nlohmann::json;
using tidemark::support::contains;

namespace {

std::string job(const std::string& name) {
    return tidemark::support::project_file("traces/samples/ranks/" + name);
}

json ranks_of(const std::string& name) {
    return tidemark::support::tidemark_json({"info", job(name)})["ranks"];
}

}  // namespace

TEST_CASE("a rank that leaks is named with its growth, beside another one's largest step",
          "[cli][ranks]") {
    const json ranks = ranks_of("leaks");

    CHECK(ranks["sets_limit"] == "rank0.tmk");
    CHECK(ranks["spread"]["step"] == 2);
    CHECK(ranks["spread"]["most"] == "rank0.tmk");
    CHECK(ranks["spread"]["last_most"] == "rank1.tmk");
    CHECK(ranks["spread"]["since_step"] == 3);
    CHECK(ranks["spread"]["growth_per_step_bytes"] == 16 << 20);
    CHECK(ranks["diverge"]["step"] == 1);
    CHECK(contains(tidemark::support::tidemark({"info", job("leaks")}).out,
                   "compared with rank0.tmk, rank1.tmk grows by 16.0 MiB with each step since "
                   "step 3"));
}

TEST_CASE("a rank that gets longer batches is named with the first such step", "[cli][ranks]") {
    const json ranks = ranks_of("longer");

    CHECK(ranks["sets_limit"] == "rank1.tmk");
    CHECK(ranks["spread"]["last_most"] == "rank1.tmk");
    CHECK(ranks["spread"]["since_step"] == 5);
    CHECK(ranks["spread"]["growth_per_step_bytes"].is_null());
    CHECK(ranks["diverge"]["step"] == 5);
    CHECK(ranks["diverge"]["bytes"] == 24576);
}

TEST_CASE("a pipeline's stages are groups of their own", "[cli][ranks]") {
    const json ranks = ranks_of("pipeline_1f1b");

    CHECK(ranks["groups"] == json{{"rank0.tmk"}, {"rank1.tmk"}});
    CHECK(ranks["sets_limit"] == "rank1.tmk");
}

TEST_CASE("four times the batch is predicted within a percent of what it took", "[cli][ranks]") {
    // Program, and the real peak of both ranks with --growth 4.
    for (const auto& [name, real] : {std::pair{"fsdp2", 9692.0}, {"tensor_data", 5978.0}}) {
        INFO(name);
        const json object =
            tidemark::support::tidemark_json({"scale", job(name), "--tokens", "x4"});
        const double predicted = object["rows"][0]["peak_reserved_bytes"].get<double>() / (1 << 20);
        CHECK(predicted > 0.99 * real);
        CHECK(predicted < 1.01 * real);
    }
}
