// tidemark advise: what it prints, its errors, and that threads change nothing.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::kRing;
using support::kSample;
using support::Said;

namespace {

json answer(std::vector<std::string> arguments) {
    json object = support::tidemark_json(std::move(arguments));
    object.erase("provenance");
    return object;
}

}  // namespace

TEST_CASE("advise prints one screen with a line to paste", "[cli]") {
    const Said said = support::tidemark({"advise", kSample, "--budget", "60"});

    CHECK(said.code == 0);
    CHECK(said.err == "");
    for (const char* part : {"Where it went", "What holds it", "Why it is fragmented",
                             "What was tried", "Floor:", "no call stacks"})
        CHECK(contains(said.out, part));
    CHECK((said.out.starts_with("Set ") && contains(said.out, "\n  export PYTORCH_ALLOC_CONF=")));
}

TEST_CASE("advise predicts what replay then finds", "[cli]") {
    const json advice = answer({"advise", "generate:serving:events=20000", "--budget", "80"});
    const json replay = support::tidemark_json(
        {"replay", "generate:serving:events=20000", "-p", advice["best"]["policy"]});

    CHECK(advice["best"]["peak_reserved_bytes"] == replay["peak_reserved_bytes"]);
    CHECK(advice["best"]["driver_ns"] == replay["driver_ns"]);
    CHECK(advice["best"]["retries"] == replay["retries"]);
}

TEST_CASE("advise says the same on any number of threads", "[cli]") {
    const json one = answer({"advise", kRing, "--budget", "50", "-j", "1"});

    CHECK(answer({"advise", kRing, "--budget", "50", "--jobs", "4"}) == one);
    CHECK(answer({"advise", kRing, "--budget", "50"}) == one);
}

TEST_CASE("advise keeps to its limits", "[cli]") {
    const json few = answer({"advise", kSample, "--budget", "7", "--top", "2"});

    CHECK(few["trials"] <= 7);
    CHECK(few["pins"].size() <= 2);
    CHECK(few["limit_bytes"] == 0);
    CHECK(answer({"advise", kSample, "--budget", "3", "--limit", "100GiB"})["limit_bytes"] ==
          std::uint64_t{100} << 30U);
}

TEST_CASE("advise compares two traces", "[cli]") {
    const Said said = support::tidemark({"advise", kRing, kSample});
    const json object = answer({"advise", kRing, kSample, "--top", "3"});

    CHECK(said.code == 0);
    CHECK(contains(said.out, "What grew, by size"));
    CHECK(contains(said.out, "live at the end"));
    CHECK(object["entries"].size() == 3);
    CHECK(object["more"] > 0);
    CHECK(contains(support::tidemark({"advise", kRing, kRing}).out, "Nothing differs"));
}

TEST_CASE("advise refuses what it cannot do, and says what to do instead", "[cli]") {
    const auto refused = [](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "advise");
        return support::refusal(arguments);
    };
    CHECK(contains(refused({kSample, "--without", "cuda"}), "vmm"));
    CHECK(contains(refused({kSample, "-p", "torch:expandable=1"}), "expandable_segments"));
    CHECK(contains(refused({kSample, kSample, kSample}), "tidemark compare"));
    CHECK(contains(refused({kSample, kSample, "--limit", "1GiB"}), "leave out"));
    refused({kSample, "--memory", "100000TiB"});
    refused({});
    support::refusal({"advise", "/no/such/file"}, 3);
    CHECK(contains(support::tidemark({"advise", "--help"}).out, "before.pickle after.pickle"));
}

TEST_CASE("advise, fit and report have the figure of bound, under its name", "[cli][bound]") {
    const support::Folder folder;
    for (const char* name : {"torch/graphs.pickle.xz", "torch/multistream.pickle.xz"}) {
        INFO(name);
        const std::string trace = support::project_file(std::string("traces/samples/") + name);
        std::uint64_t lower = 0;
        std::uint64_t packed = 0;
        const json bound = support::tidemark_json({"bound", trace});
        for (const json& device : bound["devices"]) {
            lower += device["lower_bytes"].get<std::uint64_t>();
            packed += device["packed_bytes"].get<std::uint64_t>();
        }
        const auto check = [&](const json& quick, const json& searched) {
            CHECK(searched["offline_bound_bytes"] == packed);
            CHECK(searched["offline_lower_bytes"] == lower);
            CHECK(quick["offline_lower_bytes"] == lower);
            CHECK(quick["offline_bound_bytes"].is_null());
        };
        const auto both = [&](std::vector<std::string> line) {
            const json quick = support::tidemark_json(line);
            line.emplace_back("--bound");
            return std::pair(quick, support::tidemark_json(line));
        };
        const auto [advice, advice_searched] = both({"advise", trace, "--budget", "4"});
        check(advice, advice_searched);
        const auto [fit, fit_searched] = both({"fit", trace, "--spread", "0", "-p", "torch"});
        check(fit, fit_searched);
        const auto [page, page_searched] =
            both({"report", trace, "--no-advise", "-o", folder / "page.html"});
        check(page["runs"][0], page_searched["runs"][0]);
        const json advised =
            support::tidemark_json({"report", trace, "--bound", "-o", folder / "page.html"});
        CHECK(advised["runs"] == page_searched["runs"]);
    }
}
