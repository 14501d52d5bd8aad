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
    CHECK(said.err.empty());
    for (const char* part : {"Where it went", "What holds it", "Why it is fragmented", "What to do",
                             "Floor:", "no call stacks"})
        CHECK(contains(said.out, part));
    CHECK(
        (contains(said.out, "export PYTORCH_ALLOC_CONF=") || contains(said.out, "Nothing helps")));
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
    CHECK(contains(refused({kSample, "-p", "best-fit"}), "PYTORCH_ALLOC_CONF"));
    CHECK(contains(refused({kSample, "-p", "torch:expandable=1"}), "expandable_segments"));
    CHECK(contains(refused({kSample, kSample, kSample}), "tidemark compare"));
    CHECK(contains(refused({kSample, kSample, "--limit", "1GiB"}), "leave out"));
    refused({kSample, "--memory", "100000TiB"});
    refused({});
    support::refusal({"advise", "/no/such/file"}, 3);
    CHECK(contains(support::tidemark({"advise", "--help"}).out, "before.pickle after.pickle"));
}
