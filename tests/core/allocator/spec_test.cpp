// A policy as text: what parses, what is refused, and that text() reads back.
#include "core/allocator/spec.h"

#include <catch2/catch.hpp>

#include "tests/support/policy.h"

namespace tidemark {
namespace {

TEST_CASE("a policy's name alone means all defaults", "[allocator][spec]") {
    const Result<PolicySpec> spec = parse_policy("bump");

    REQUIRE(spec);
    CHECK(spec->policy->name == "bump");
    CHECK(spec->options.is_default("segment"));
    CHECK(spec->text() == "bump");
}

TEST_CASE("a policy may be spelt with dashes or underscores", "[allocator][spec]") {
    CHECK(parse_policy("cuda-malloc")->text() == "cuda-malloc");
    CHECK(parse_policy("cuda_malloc")->text() == "cuda-malloc");
    CHECK(parse_policy("best_fit")->text() == "best-fit");
}

TEST_CASE("a policy's text names the options that are not at their default", "[allocator][spec]") {
    const Result<PolicySpec> spec =
        parse_policy("bump:release_empty=yes,segment=64MiB,alignment=1KiB");

    REQUIRE(spec);
    CHECK(spec->text() == "bump:segment=64MiB,alignment=1KiB");
}

TEST_CASE("a policy's text reads back as the same policy", "[allocator][spec]") {
    const std::string_view text =
        GENERATE(as<std::string_view>{}, "torch", "cuda_malloc:", "bump:segment:64MiB",
                 "torch:roundup_power2_divisions:[256:1,512:2,>:8],max_split_size_mb:128",
                 "torch: max_split_size_mb = 128 ", "buddy:min_block=1KiB,segment=1GiB");
    CAPTURE(text);
    const Result<PolicySpec> spec = parse_policy(text);
    REQUIRE(spec);

    const Result<PolicySpec> again = parse_policy(spec->text());

    REQUIRE(again);
    CHECK(again->policy == spec->policy);
    CHECK(std::equal(spec->options.all().begin(), spec->options.all().end(),
                     again->options.all().begin(), again->options.all().end()));
    CHECK(again->text() == spec->text());
}

TEST_CASE("an unknown policy is refused with the nearest name", "[allocator][spec]") {
    CHECK(to_text(parse_policy("torhc").error()) ==
          "there is no policy 'torhc'; did you mean 'torch'?");
    CHECK(to_text(parse_policy("").error()).find("one of: cuda-malloc, bump") != std::string::npos);
    CHECK(parse_policy("torhc").error().code == ErrorCode::bad_option);
}

TEST_CASE("an unknown option is refused in the name of its policy", "[allocator][spec]") {
    CHECK(to_text(parse_policy("bump:segmet=2MiB").error()) ==
          "policy bump: there is no option 'segmet'; did you mean 'segment'?");
    CHECK(to_text(parse_policy("cuda-malloc:x=1").error()) ==
          "policy cuda-malloc: there is no option 'x'; it has no options");
}

TEST_CASE("options that a policy cannot live with are refused when it is made",
          "[allocator][spec]") {
    SimDevice device(support::small_device(64_MiB));
    const std::string_view text =
        GENERATE(as<std::string_view>{}, "bump:alignment=600", "buddy:min_block=600",
                 "buddy:segment=3MiB", "torch:max_split_size_mb=10");
    CAPTURE(text);
    const Result<PolicySpec> spec = parse_policy(text);
    REQUIRE(spec);

    const auto allocator = spec->make(device);

    REQUIRE_FALSE(allocator);
    CHECK(allocator.error().code == ErrorCode::bad_option);
}

}  // namespace
}  // namespace tidemark
