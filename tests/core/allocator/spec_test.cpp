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
                 "torch: max_split_size_mb = 128 ", "torch:expandable_segments:True",
                 "torch:roundup_power2_divisions:[256:1, 512:2,>:8],version=2.3,limit=1.5 GiB",
                 "export PYTORCH_ALLOC_CONF='garbage_collection_threshold:0.6'",
                 "buddy:min_block=1KiB,segment=1GiB");
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

TEST_CASE("an environment variable's assignment may be pasted as a policy", "[allocator][spec]") {
    const std::string_view text = GENERATE(
        as<std::string_view>{}, "torch:expandable_segments:True,max_split_size_mb:128",
        "torch:PYTORCH_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128",
        "torch:PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128",
        "torch: export PYTORCH_ALLOC_CONF=\"expandable_segments:True, max_split_size_mb:128\" ",
        "torch:export PYTORCH_HIP_ALLOC_CONF='expandable_segments:True',max_split_size_mb:128",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128",
        " export PYTORCH_ALLOC_CONF='expandable_segments : True , max_split_size_mb : 128'");
    CAPTURE(text);

    const Result<PolicySpec> spec = parse_policy(text);

    REQUIRE(spec);
    CHECK(spec->policy->name == "torch");
    CHECK(spec->options.boolean("expandable_segments"));
    CHECK(spec->options.count("max_split_size_mb") == 128);
    CHECK(spec->text() == "torch:expandable_segments=true,max_split_size_mb=128");
}

TEST_CASE("an assignment to a variable that the policy doesn't have is no policy",
          "[allocator][spec]") {
    CHECK_FALSE(parse_policy("torch:PYTORCH_CONF=expandable_segments:True"));
    CHECK_FALSE(parse_policy("bump:PYTORCH_ALLOC_CONF=segment:2MiB"));
    CHECK_FALSE(parse_policy("CUDA_VISIBLE_DEVICES=0"));
    CHECK_FALSE(parse_policy("torch:PYTORCH_ALLOC_CONF='max_split_size_mb:128"));  // an open quote
}

TEST_CASE("a limit joins the options of a policy that keeps one", "[allocator][spec]") {
    const PolicySpec pasted = *parse_policy("torch:PYTORCH_ALLOC_CONF=expandable_segments:True");

    CHECK(pasted.with_limit(1_GiB)->options.bytes("limit") == 1_GiB);
    CHECK(pasted.with_limit(1_GiB)->options.boolean("expandable_segments"));
    CHECK(pasted.with_limit(0)->text() == pasted.text());
    CHECK(parse_policy("torch:limit=1GiB")->with_limit(1_GiB));
    CHECK_FALSE(parse_policy("torch:limit=1GiB")->with_limit(2_GiB));
    CHECK(parse_policy("best-fit")->with_limit(1_GiB)->text() == "best-fit");
}

TEST_CASE("an unknown policy is refused with the nearest name", "[allocator][spec]") {
    CHECK(to_text(parse_policy("torhc").error()) ==
          "there is no policy 'torhc'; did you mean 'torch'?");
    CHECK(to_text(parse_policy("").error()).find("one of: cuda-malloc, ") != std::string::npos);
    CHECK(parse_policy("torhc").error().code == ErrorCode::bad_option);
}

TEST_CASE("an unknown option is refused in the name of its policy", "[allocator][spec]") {
    CHECK(to_text(parse_policy("bump:segmet=2MiB").error()) ==
          "policy bump: unrecognized key 'segmet'; did you mean 'segment'?");
    CHECK(to_text(parse_policy("torch:expandable_segment:True").error()) ==
          "policy torch: unrecognized key 'expandable_segment'; did you mean "
          "'expandable_segments'?");
    CHECK(to_text(parse_policy("cuda-malloc:x=1").error()) ==
          "policy cuda-malloc: unrecognized key 'x'; it has no options");
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
