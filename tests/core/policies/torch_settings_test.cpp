// TorchSettings: the keys of PYTORCH_ALLOC_CONF, their ranges, and what they come to in bytes.
#include "core/policies/torch_settings.h"

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"

namespace tidemark::policies {
namespace {

Result<TorchSettings> settings(std::string_view text) {
    TM_ASSIGN(const Options options, Options::parse(torch_options(), text, "policy torch"));
    return TorchSettings::from(options);
}

std::string error_of(std::string_view text) {
    const Result<TorchSettings> result = settings(text);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::bad_option);
    return to_text(result.error());
}

TEST_CASE("torch's defaults are PyTorch's", "[policy][torch]") {
    const TorchSettings defaults = *settings("");

    CHECK(defaults.max_split == TorchSettings::kUnlimited);
    CHECK(defaults.max_non_split_rounding == 20_MiB);
    CHECK(defaults.large_segment == 20_MiB);
    CHECK(defaults.gc_threshold == 0);
    CHECK_FALSE(defaults.has_divisions);
    CHECK_FALSE(defaults.expandable);
    CHECK(defaults.limit_on(80_GiB) == 0);
    CHECK(defaults.version == 211);
}

TEST_CASE("torch takes every key of PYTORCH_ALLOC_CONF", "[policy][torch]") {
    const Result<TorchSettings> all = settings(
        "backend:native,max_split_size_mb:200,max_non_split_rounding_mb:40,"
        "garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,512:2,1024:4,>:8],"
        "expandable_segments:True,release_lock_on_cudamalloc:True,"
        "graph_capture_record_stream_reuse:True,per_process_memory_fraction:0.5,"
        "large_segment_size_mb:30,throw_on_cudamalloc_oom:True,expandable_segments_reserve:1,"
        "expandable_segments_reserve_by_class:[1:2,>:4],pinned_use_cuda_host_register:True,"
        "pinned_num_register_threads:8,pinned_use_background_threads:True,"
        "pinned_reserve_segment_size_mb:512,pinned_max_power2_size_mb:64");

    REQUIRE(all);
    CHECK(all->max_split == 200_MiB);
    CHECK(all->max_non_split_rounding == 40_MiB);
    CHECK(all->gc_threshold == 0.8);
    CHECK(all->expandable);
    CHECK(all->fraction == 0.5);
    CHECK(all->large_segment == 30_MiB);
    CHECK(all->divisions == std::array<Bytes, 16>{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8});
}

TEST_CASE("torch ignores blanks, also inside lists", "[policy][torch]") {
    const Result<TorchSettings> spaced =
        settings(" expandable_segments : True , roundup_power2_divisions : [ 1 : 2, > : 4 ] ");

    REQUIRE(spaced);
    CHECK(spaced->expandable);
    CHECK(spaced->divisions[0] == 2);
    CHECK(spaced->divisions[15] == 4);
}

TEST_CASE("keys that change no decision are told from those that do", "[policy][torch]") {
    CHECK(torch_ignores("release_lock_on_cudamalloc"));
    CHECK(torch_ignores("pinned_num_register_threads"));
    CHECK(torch_ignores("pinned_free_catch_all"));
    CHECK_FALSE(torch_ignores("throw_on_cudamalloc_oom"));
    CHECK(torch_ignores("graph_capture_record_stream_reuse"));
    CHECK_FALSE(torch_ignores("expandable_segments"));
    CHECK_FALSE(torch_ignores("backend"));
    CHECK_FALSE(torch_ignores("limit"));
    CHECK_FALSE(torch_ignores("no_such_key"));
    for (const OptionInfo& option : torch_options())
        CHECK(torch_ignores(option.name) == option.summary.starts_with("no effect here"));
}

TEST_CASE("torch refuses what PyTorch refuses", "[policy][torch]") {
    CHECK(error_of("max_split_size_mb:19").find("below the size of a large segment, 20") !=
          std::string::npos);
    CHECK(error_of("max_split_size_mb:20,large_segment_size_mb:24").find("segment, 24") !=
          std::string::npos);
    CHECK_FALSE(settings("max_non_split_rounding_mb:19"));
    CHECK_FALSE(settings("garbage_collection_threshold:-0.1"));
    CHECK_FALSE(settings("garbage_collection_threshold:1"));
    CHECK_FALSE(settings("garbage_collection_threshold:1.5"));
    CHECK_FALSE(settings("large_segment_size_mb:10"));
    CHECK_FALSE(settings("per_process_memory_fraction:1.01"));
    CHECK_FALSE(settings("expandable_segments:maybe"));
    CHECK_FALSE(settings("backend:other"));
    CHECK(error_of("expandable_segment:True").find("unrecognized key 'expandable_segment'") !=
          std::string::npos);
    CHECK(settings("max_split_size_mb:20,max_non_split_rounding_mb:20"));
    CHECK(settings("per_process_memory_fraction:1.0,garbage_collection_threshold:0.999"));
}

TEST_CASE("torch says why the driver's backend cannot be replayed", "[policy][torch]") {
    CHECK(error_of("backend:cudaMallocAsync").find("driver's pool") != std::string::npos);
}

TEST_CASE("divisions and their intervals are powers of two", "[policy][torch]") {
    CHECK(error_of("roundup_power2_divisions:3").find("3 divisions") != std::string::npos);
    CHECK(error_of("roundup_power2_divisions:[256:1,300:2]").find("300 MiB") != std::string::npos);
    CHECK(error_of("roundup_power2_divisions:[0:2]").find("0 MiB") != std::string::npos);
    CHECK(error_of("roundup_power2_divisions:[256]").find("has no ':'") != std::string::npos);
    CHECK(error_of("roundup_power2_divisions:[256:x]").find("'x' is not a whole number") !=
          std::string::npos);
    CHECK(settings("roundup_power2_divisions:0"));
    CHECK(settings("roundup_power2_divisions:[256:0,>:1]"));
}

TEST_CASE("a list of divisions fills what PyTorch fills", "[policy][torch]") {
    CHECK(settings("roundup_power2_divisions:[1:2,4:4,16:8,64:1,256:2,>:4]")->divisions ==
          std::array<Bytes, 16>{2, 0, 4, 0, 8, 0, 1, 0, 2, 4, 4, 4, 4, 4, 4, 4});
    CHECK(settings("roundup_power2_divisions:8")->divisions[7] == 8);
    CHECK(settings("roundup_power2_divisions:[1048576:2]")->divisions[15] == 2);  // the last one
}

TEST_CASE("sizes that no memory has are no limit", "[policy][torch]") {
    const TorchSettings huge = *settings("max_split_size_mb:18446744073709551615");

    CHECK(huge.max_split >= kLargestRequest);
}

TEST_CASE("a memory fraction is a limit, rounded down", "[policy][torch]") {
    const Bytes total = 150109880320;  // of an H200

    CHECK(settings("per_process_memory_fraction:0.1")->limit_on(total) == 15010988032);
    CHECK(settings("per_process_memory_fraction:0.3")->limit_on(total) ==
          static_cast<Bytes>(0.3 * 150109880320.0));
    CHECK(settings("per_process_memory_fraction:0.5,limit=1GiB")->limit_on(total) == 1_GiB);
    CHECK(settings("per_process_memory_fraction:0.5,limit=1TiB")->limit_on(total) == total / 2);
    CHECK(settings("per_process_memory_fraction:1e-15")->limit_on(total) == 1);  // not "no limit"
    CHECK(settings("limit=1GiB")->limit_on(total) == 1_GiB);
}

TEST_CASE("a fraction of one was a limit before 2.9", "[policy][torch]") {
    CHECK(settings("per_process_memory_fraction:1")->limit_on(80_GiB) == 0);
    CHECK(settings("per_process_memory_fraction:1,version=2.9")->limit_on(80_GiB) == 0);
    CHECK(settings("per_process_memory_fraction:1,version=2.8")->limit_on(80_GiB) == 80_GiB);
    CHECK(settings("version=2.8")->limit_on(80_GiB) == 0);  // nobody set one
}

TEST_CASE("older versions round unsplit blocks by 20 MiB, whatever is asked", "[policy][torch]") {
    CHECK(settings("max_non_split_rounding_mb:64")->max_non_split_rounding == 64_MiB);
    CHECK(settings("max_non_split_rounding_mb:64,version=2.6")->max_non_split_rounding == 64_MiB);
    CHECK(settings("max_non_split_rounding_mb:64,version=2.5")->max_non_split_rounding == 20_MiB);
}

TEST_CASE("versions are those that exist", "[policy][torch]") {
    CHECK(settings("version=1.13")->version == 113);
    CHECK(settings("version=2.0")->version == 200);
    CHECK(settings("version=2.10")->version == 210);
    CHECK_FALSE(settings("version=2.1.0"));
    CHECK_FALSE(settings("version=2"));
    CHECK_FALSE(settings("version=3.0"));
    CHECK(settings("version=2.15")->version == 215);
    CHECK_FALSE(settings("version=2.12")->looks_after_wait());
    CHECK(settings("version=2.13")->looks_after_wait());
    CHECK(error_of("version=2.16").find("2.1") != std::string::npos);
}

TEST_CASE("what an expandable segment reserves is a part of the device, or GiB",
          "[policy][torch]") {
    CHECK(settings("expandable_segments=true")->reservation_on(80_GiB) == 90_GiB);
    CHECK(settings("expandable_segments_reserve=0.5")->reservation_on(80_GiB) == 40_GiB);
    CHECK(settings("expandable_segments_reserve=40G")->reservation_on(80_GiB) == 40_GiB);
    CHECK(settings("expandable_segments_reserve=200G")->reservation_on(80_GiB) == 90_GiB);
    CHECK_FALSE(settings("expandable_segments_reserve=0"));
    CHECK_FALSE(settings("expandable_segments_reserve=nan"));
    CHECK_FALSE(settings("expandable_segments_reserve=x"));
}

TEST_CASE("rounding to divisions follows PyTorch's examples", "[policy][torch]") {
    const TorchSettings eight = *settings("roundup_power2_divisions:8");

    CHECK(eight.round_size(1200000) == 1310720);
    CHECK(eight.round_size(1048577) == 1179648);
    CHECK(eight.round_size(3000) == 3072);
    CHECK(eight.round_size(5000) == 5120);
    CHECK(eight.round_size(64_MiB) == 64_MiB);
    CHECK(settings("")->round_size(1) == 512);
}

}  // namespace
}  // namespace tidemark::policies
