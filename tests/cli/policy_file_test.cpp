// Policies from shared libraries: they go wherever a policy goes, and what is none is refused.
#include "core/allocator/policy_file.h"

#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/allocator/spec.h"
#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Folder;
using support::kSteps;
using support::Said;
using support::tidemark_json;

namespace {

const std::string kOwn = TIDEMARK_OWN_POLICY;  // examples/own_policy.cpp

std::string library(const std::string& name) {
    return std::filesystem::path(TIDEMARK_POLICY_FILES) / ("lib" + name + ".so");
}

void refuses(const std::string& path, const std::string& why) {
    const std::string said = support::refusal({"replay", kSteps, "-p", path}, 3);
    CHECK(contains(said, path));
    CHECK(contains(said, why));
}

}  // namespace

TEST_CASE("a policy of a library is replayed, with its options", "[cli][policy-file]") {
    const json plain = tidemark_json({"replay", kSteps, "-p", kOwn});
    const json small = tidemark_json({"replay", kSteps, "-p", kOwn + ":largest=512"});

    CHECK(plain["policy"] == kOwn);
    CHECK(plain["options"]["largest"] == "1GiB");
    CHECK(small["options"]["largest"] == "512");
    CHECK(small["device_calls"] > plain["device_calls"]);
    CHECK(small["peak_requested_bytes"] == plain["peak_requested_bytes"]);
}

TEST_CASE("it is correct under the checker", "[cli][policy-file]") {
    const json run =
        tidemark_json({"replay", "generate:adversarial", "-p", kOwn, "--check", "--touch"});

    CHECK(run["hazard_count"] == 0);
}

TEST_CASE("it stands beside others in a comparison, and is explained", "[cli][policy-file]") {
    const json both = tidemark_json({"compare", kSteps, "-p", "torch", "-p", kOwn});
    const Said explained = support::tidemark({"policies", kOwn});

    CHECK(both["runs"][1]["policy"] == kOwn);
    CHECK(explained.code == 0);
    CHECK(contains(explained.out, "larger pieces are not kept"));
}

TEST_CASE("a library in the working directory needs no slash", "[cli][policy-file]") {
    CHECK(policy_file_of("libmine.so") == "libmine.so");
    CHECK(policy_file_of("./a.so.d/libmine.so:page=2MiB") == "./a.so.d/libmine.so");
    CHECK(policy_file_of("torch:max_split_size_mb=128").empty());
    CHECK(policy_file_of("libmine.sod").empty());
}

TEST_CASE("wrong options of a library are told as any policy's", "[cli][policy-file]") {
    const Said said = support::tidemark({"replay", kSteps, "-p", kOwn + ":largst=1MiB"});

    CHECK(said.code == 2);
    CHECK(contains(said.err, "largest"));
}

TEST_CASE("what is no library of a policy is refused", "[cli][policy-file]") {
    const Folder folder;
    support::write_file(folder / "text.so", "no library");

    refuses(folder / "none.so", "there is no such file");
    refuses(folder / "text.so", "cannot be loaded");
    refuses(TIDEMARK_FAKE_CUDA, "without a policy for Tidemark");
    refuses(library("other_interface"), "build it with the headers of this version");
    refuses(library("other_layout"), "lays out");
    refuses(library("no_allocator"), "no function that makes an allocator");
    refuses(library("unlinked"), "tidemark::core");
}

TEST_CASE("a policy that doesn't count what it takes is found by every question",
          "[cli][policy-file]") {
    for (const char* question : {"replay", "compare", "fit"})
        CHECK(contains(support::refusal({question, kSteps, "-p", library("counts_nothing")}, 2),
                       "counts 0 B as reserved at most"));
}

TEST_CASE("what a library's policy throws is said, and ends the program in order",
          "[cli][policy-file]") {
    CHECK(contains(support::refusal({"replay", kSteps, "-p", library("throws")}, 5),
                   "no idea for a request of"));
}

TEST_CASE("only load_policy_file loads: a text by itself does not", "[cli][policy-file]") {
    REQUIRE_FALSE(parse_policy(kOwn));
    CHECK(loaded_policy(kOwn) == nullptr);

    const Result<const PolicyInfo*> policy = load_policy_file(kOwn);

    REQUIRE(policy);
    CHECK((*policy)->name == kOwn);
    CHECK(*load_policy_file(kOwn) == *policy);
    CHECK(parse_policy(kOwn + ":largest=2MiB")->text() == kOwn + ":largest=2MiB");
}
