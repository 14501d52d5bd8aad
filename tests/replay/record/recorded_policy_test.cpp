// recorded_policy: settings as sources write them, as our policies' options.
#include "replay/record/recorded_policy.h"

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"

namespace tidemark {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

RecordedPolicy torch(Settings settings) {
    TraceInfo info;
    info.format = "torch-snapshot";
    info.settings = std::move(settings);
    Result<RecordedPolicy> policy = recorded_policy(info);
    REQUIRE(policy);
    REQUIRE(parse_policy(policy->text));
    return std::move(*policy);
}

TEST_CASE("torch's recorded settings become its options", "[scenario]") {
    constexpr const char* kConf = "PYTORCH_CUDA_ALLOC_CONF";
    constexpr const char* kTable = "roundup_power2_divisions";
    const std::string table = "torch:roundup_power2_divisions=[1:2,2:0,4:4]";

    struct Case {
        const char* what;
        Settings settings;
        std::string policy;
    };

    const std::vector<Case> cases{
        {"nothing recorded", {}, "torch"},
        {"defaults",
         {{kConf, ""},
          {"max_split_size", "-1"},
          {"garbage_collection_threshold", "0.0"},
          {"expandable_segments", "False"},
          {"release_lock_on_cudamalloc", "True"},
          {kTable, "{'1': 0, '2': 0}"}},
         "torch"},
        {"what the snapshot states",
         {{"max_split_size", "134217728"}, {"garbage_collection_threshold", "0.6"}},
         "torch:max_split_size_mb=128,garbage_collection_threshold=0.6"},
        {"a table as Python writes it", {{kTable, "{'1': 2, '2': 0, '4': 4}"}}, table},
        {"a table as JSON", {{kTable, R"({"1":2,"2":0,"4":4})"}}, table},
        {"a table as a list", {{kTable, "1:2,2:0,4:4"}}, table},
        {"a table with equal signs", {{kTable, "1=2, 2=0, 4=4"}}, table},
        {"what only the configuration string names",
         {{kConf,
           "roundup_power2_divisions:[256:1,512:2,>:4], max_non_split_rounding_mb:30,"
           "backend:native,expandable_segments:False"}},
         "torch:max_non_split_rounding_mb=30,roundup_power2_divisions=[256:1,512:2,>:4]"},
        {"the snapshot's statement wins over the configuration string",
         {{kConf, "max_split_size_mb:64"}, {"max_split_size", "-1"}},
         "torch"},
        {"every setting that PyTorch reports is an option or has no effect",
         {{kConf,
           "expandable_segments:True,max_split_size_mb:64,release_lock_on_cudamalloc:True,"
           "pinned_num_register_threads:8,per_process_memory_fraction:0.5,"
           "large_segment_size_mb:32,throw_on_cudamalloc_oom:True,"
           "graph_capture_record_stream_reuse:True"},
          {"max_split_size", "67108864"},
          {"garbage_collection_threshold", "0.0"},
          {"expandable_segments", "True"},
          {"pinned_num_register_threads", "8"},
          {"release_lock_on_cudamalloc", "True"},
          {"pinned_use_cuda_host_register", "False"},
          {"graph_capture_record_stream_reuse", "True"},
          {kTable, "{'1': 0}"}},
         "torch:expandable_segments=true,max_split_size_mb=64,large_segment_size_mb=32,"
         "per_process_memory_fraction=0.5,throw_on_cudamalloc_oom=true"},
        {"the last of a repeated key counts",
         {{kConf, "max_split_size_mb:64, max_split_size_mb:96"}},
         "torch:max_split_size_mb=96"},
        {"expandable segments switched off while the program ran",
         {{kConf, "expandable_segments:True"}, {"expandable_segments", "False"}},
         "torch"},
    };
    for (const Case& each : cases) {
        INFO(each.what);
        const RecordedPolicy policy = torch(each.settings);
        CHECK(policy.text == each.policy);
        CHECK(policy.warnings.empty());
    }
}

TEST_CASE("a setting that no option stands for is ignored with a warning", "[scenario]") {
    const RecordedPolicy policy = torch({{"PYTORCH_CUDA_ALLOC_CONF", "no_such_setting:7"}});
    CHECK(policy.text == "torch");
    REQUIRE(policy.warnings.size() == 1);
    CHECK(policy.warnings[0].find("no_such_setting") != std::string::npos);
}

TEST_CASE("sources that name no allocator ask for a policy", "[scenario]") {
    for (const char* format : {"jsonl", "generated", ""}) {
        TraceInfo info;
        info.format = format;
        const auto policy = recorded_policy(info);
        REQUIRE_FALSE(policy);
        CHECK(policy.error().code == ErrorCode::bad_option);
        CHECK(policy.error().where == "--policy");
    }
}

TEST_CASE("what was asked of the driver is replayed by asking it", "[scenario]") {
    TraceInfo info;
    info.metadata = {{std::string(kRecorderKey), std::string(kDriverCalls)}};
    const auto policy = recorded_policy(info);
    REQUIRE(policy);
    CHECK(policy->text == "cuda-malloc");
}

TEST_CASE("an RMM log is replayed with rmm-pool", "[scenario]") {
    TraceInfo info;
    info.format = "rmm-csv";
    const auto policy = recorded_policy(info);
    REQUIRE(policy);
    CHECK(policy->text == "rmm-pool");
}

TEST_CASE("a log of CuPy's pool is replayed with cupy", "[scenario]") {
    TraceInfo info;
    info.format = "cupy-pool";
    const auto policy = recorded_policy(info);
    REQUIRE(policy);
    CHECK(policy->text == "cupy");
}

TEST_CASE("a log of the driver's pool is replayed with the threshold that its figures show",
          "[scenario]") {
    TraceInfo info;
    info.format = "driver-pool";
    info.settings = {{"release_threshold", "max"}};
    CHECK(recorded_policy(info)->text == "cuda-async:threshold=max");
    info.settings = {{"release_threshold", "0"}};
    CHECK(recorded_policy(info)->text == "cuda-async");
}

TEST_CASE("which resource made a log of RMM's decisions one has to say", "[scenario]") {
    TraceInfo info;
    info.format = "rmm-decisions";
    const auto policy = recorded_policy(info);
    REQUIRE_FALSE(policy);
    CHECK(policy.error().code == ErrorCode::bad_option);
}

}  // namespace
}  // namespace tidemark
