// TorchChoice: its text means what it says, to PyTorch's grammar and back.
#include "replay/analysis/advise/settings.h"

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

TorchChoice random_choice(Random& random) {
    TorchChoice choice;
    choice.expandable = random.below(2) == 1;
    if (random.below(2) == 1)
        choice.max_split_mb = 21 + random.below(500);
    if (random.below(2) == 1)
        choice.non_split_rounding_mb = 20 + random.below(500);
    if (random.below(3) == 0)
        choice.gc_percent = 1 + static_cast<unsigned>(random.below(99));
    const bool list = random.below(2) == 1;
    for (std::uint32_t& divisions : choice.divisions)
        if (list)
            divisions = random.below(2) == 0 ? 0 : 2U << random.below(5);
    return choice;
}

PolicySpec torch_policy() {
    return parse_policy("torch").value();
}

}  // namespace

TEST_CASE("the defaults have no text", "[advise]") {
    CHECK(TorchChoice{}.text().empty());
    CHECK(TorchChoice{}.complexity() == 0);
    CHECK(TorchChoice{}.family() == 0);
    CHECK(torch_conf(torch_policy()).empty());
}

TEST_CASE("a choice reads as a configuration of PyTorch", "[advise]") {
    TorchChoice choice;
    choice.expandable = true;
    choice.max_split_mb = 128;
    choice.gc_percent = 5;
    CHECK(choice.text() ==
          "expandable_segments:True,max_split_size_mb:128,garbage_collection_threshold:0.05");
    CHECK(choice.complexity() == 3);

    TorchChoice same;
    same.divisions.fill(8);
    CHECK(same.text() == "roundup_power2_divisions:8");

    TorchChoice list;
    list.divisions[3] = 4;
    for (std::size_t i = 5; i < kTorchOctaves; ++i)
        list.divisions[i] = 16;
    CHECK(list.text() == "roundup_power2_divisions:[4:1,8:4,16:1,32:16,>:16]");
}

TEST_CASE("any choice is read back as it was", "[advise]") {
    Random random(7);
    const PolicySpec base = torch_policy();
    for (int i = 0; i < 500; ++i) {
        const TorchChoice choice = random_choice(random);
        INFO(choice.text());
        const Result<PolicySpec> spec = with_choice(base, choice);
        REQUIRE(spec);
        CHECK(choice_of(*spec).value() == choice);

        // What PyTorch is given means the same again.
        const std::string conf = torch_conf(*spec);
        const Result<PolicySpec> pasted = parse_policy(conf.empty() ? "torch" : "torch:" + conf);
        REQUIRE(pasted);
        CHECK(choice_of(*pasted).value() == choice);
    }
}

TEST_CASE("what the recorded settings say beside the searched keys stays", "[advise]") {
    const PolicySpec base =
        parse_policy("torch:per_process_memory_fraction=0.5,max_split_size_mb=64,limit=1GiB")
            .value();
    TorchChoice choice;
    choice.expandable = true;
    const PolicySpec spec = with_choice(base, choice).value();

    CHECK(spec.options.real("per_process_memory_fraction") == 0.5);
    CHECK(spec.options.bytes("limit") == 1_GiB);
    CHECK(spec.options.count("max_split_size_mb") == 0);
    CHECK(torch_conf(spec) == "expandable_segments:True,per_process_memory_fraction:0.5");
}
