// What versions of PyTorch read: the line to paste works with the version that the recording is of.
#include "replay/analysis/advise/torch_release.h"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

TorchReleases from_file(const char* source) {
    TraceInfo info;
    info.format = "torch-snapshot";
    info.source = source;
    return torch_releases(info);
}

TorchReleases from_recorder(const char* version) {
    TraceInfo info;
    info.format = "live";
    info.settings = {{"allocator", "torch"}, {"torch", version}};
    return torch_releases(info);
}

}  // namespace

TEST_CASE("versions are those of the recorder, else those that the file shows", "[advise]") {
    CHECK(text_of(from_file("torch 2.9 to 2.11")) == "2.9 to 2.11");
    CHECK(text_of(from_file("torch 2.8")) == "2.8");
    CHECK(text_of(from_file("torch 2.12 or newer on ROCm")) == "2.12 or newer");
    CHECK(from_file("torch 2.12 or newer on ROCm").rocm);
    CHECK(text_of(from_recorder("2.11.0+cu128")) == "2.11");
    CHECK(from_recorder("2.9.1+rocm6.4").rocm);
    CHECK(text_of(from_recorder("nightly")).empty());
    CHECK(text_of(from_file("")).empty());
}

TEST_CASE("a line names the variables that each of those versions reads", "[advise]") {
    constexpr const char* kConf = "expandable_segments:True";
    CHECK(export_line(kConf, from_file("torch 2.8")) ==
          "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    // 2.9.1 ignores the new name.
    CHECK(export_line(kConf, from_recorder("2.9.1+cu128")) ==
          "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    CHECK(export_line(kConf, from_recorder("2.11.0")) ==
          "export PYTORCH_ALLOC_CONF=expandable_segments:True");
    CHECK(export_line(kConf, from_file("torch 2.9 to 2.11")) ==
          "export PYTORCH_ALLOC_CONF=expandable_segments:True "
          "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    CHECK(export_line(kConf, TorchReleases{}) ==
          export_line(kConf, from_file("torch 2.9 to 2.11")));
    CHECK(export_line(kConf, from_file("torch 2.8 on ROCm")) ==
          "export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True");
}

TEST_CASE("a line is quoted where a shell would read it otherwise", "[advise]") {
    CHECK(export_line("roundup_power2_divisions:[4:1,>:8]", from_recorder("2.11.0")) ==
          "export PYTORCH_ALLOC_CONF='roundup_power2_divisions:[4:1,>:8]'");
    CHECK(export_line("", TorchReleases{}) == "unset PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF");
}

TEST_CASE("keys are of the version that brought them", "[advise]") {
    CHECK(brought_in("expandable_segments") == 201);
    CHECK(brought_in("max_split_size_mb") == 0);
    CHECK_FALSE(from_file("torch 2.0").may_be(brought_in("expandable_segments")));
    CHECK(from_file("torch 2.9 to 2.11").may_be(brought_in("large_segment_size_mb")));
    CHECK_FALSE(from_file("torch 2.9 to 2.11").all_from(brought_in("large_segment_size_mb")));
    CHECK(TorchReleases{}.may_be(299));
}
