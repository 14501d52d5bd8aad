// Hazards: each planted clash is named, and no other; a clean recording is warned of nothing.
#include "replay/analysis/advise/setting_hazards.h"

#include <catch2/catch.hpp>

#include "core/base/text.h"

using namespace tidemark;

namespace {

TraceInfo with_string(const char* text) {
    TraceInfo info;
    info.format = "torch-snapshot";
    info.source = "torch 2.9 to 2.11";
    info.strings.intern("/app/train.py");
    info.strings.intern(text);
    return info;
}

void check_only(const TraceInfo& info, const char* what) {
    const SettingHazards found = expandable_hazards(info, torch_releases(info));
    INFO(what);
    REQUIRE(found.shown.size() == 1);
    CHECK(found.shown.front().find(what) != std::string::npos);
    CHECK(found.conditions.find(what) == std::string::npos);
}

}  // namespace

TEST_CASE("each of eight planted clashes is named, and no other", "[hazards]") {
    check_only(with_string("C:\\Users\\me\\train.py"), "Windows");
    TraceInfo rocm = with_string("forward");
    rocm.settings = {{"allocator", "torch"}, {"torch", "2.9.1+rocm6.4"}};
    check_only(rocm, "ROCm before 7");
    check_only(with_string("torch/multiprocessing/reductions.py rebuild_cuda_tensor"), "CUDA IPC");
    check_only(with_string("/site-packages/nixl/_api.py"), "NIXL");
    check_only(with_string("ncclCommRegister"), "NCCL");
    check_only(with_string("/site-packages/vllm/device_allocator/cumem.py"), "vLLM's sleep mode");
    check_only(with_string("/site-packages/torch_memory_saver/entrypoint.py"),
               "torch_memory_saver");
    TraceInfo pool = with_string("forward");
    pool.pools = {"default", "(0, 1)"};
    check_only(pool, "MemPool");
}

TEST_CASE("what the drop-in refuses is named, and it isn't offered where it can't be",
          "[hazards]") {
    const auto shown = [](const char* text) {
        const TraceInfo info = with_string(text);
        return drop_in_hazards(info, torch_releases(info)).shown;
    };
    CHECK(shown("torch/_inductor/cudagraph_trees.py").empty());
    REQUIRE(shown("rebuild_cuda_tensor").size() == 1);
    CHECK(shown("forward").empty());
    const auto has = [](const TraceInfo& info) { return has_drop_in(info, torch_releases(info)); };
    CHECK(has(with_string("forward")));
    CHECK_FALSE(has(with_string("C:\\Users\\me\\train.py")));
    TraceInfo rocm = with_string("forward");
    rocm.settings = {{"allocator", "torch"}, {"torch", "2.11.0+rocm7.0"}};
    CHECK_FALSE(has(rocm));
}

TEST_CASE("a clean recording is warned of nothing, and told the conditions", "[hazards]") {
    TraceInfo info = with_string("forward");
    info.pools = {"default", "(3, 0)"};  // of a captured graph
    info.settings = {{"allocator", "torch"}, {"torch", "2.11.0+rocm7.0"}};
    const SettingHazards found = expandable_hazards(info, torch_releases(info));
    CHECK(found.shown.empty());
    CHECK(found.conditions.find("Windows") != std::string::npos);
    CHECK(found.conditions.find("--without vmm") != std::string::npos);
}
