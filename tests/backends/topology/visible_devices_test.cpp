// Lists of visible devices: what is legal, and what is said of what is not.
#include "backends/topology/visible_devices.h"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

const std::vector<NamedGpu> kGpus{
    {"GPU-5a1b0000-1111-2222-3333-444444444440", {}},
    {"GPU-5a1c0000-1111-2222-3333-444444444441",
     {"MIG-aa000000-0000-0000-0000-000000000001", "MIG-ab000000-0000-0000-0000-000000000002"}},
    {"GPU-77000000-1111-2222-3333-444444444442", {"MIG-ba000000-0000-0000-0000-000000000003"}}};

VisibleDevices seen(std::optional<std::string_view> text) {
    const Result<VisibleDevices> visible = visible_devices(text, kGpus);
    if (!visible)
        FAIL(to_text(visible.error()));
    return *visible;
}

std::string fault(std::string_view text) {
    const Result<VisibleDevices> visible = visible_devices(text, kGpus);
    REQUIRE_FALSE(visible);
    CHECK(visible.error().code == ErrorCode::bad_option);
    return to_text(visible.error());
}

bool says(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Without a list all GPUs are visible, with an empty one none", "[topology]") {
    CHECK(seen(std::nullopt) == VisibleDevices{0, 1, 2});
    CHECK(seen("").empty());
    CHECK(seen("  ").empty());
}

TEST_CASE("Numbers are taken in their order, blanks and duplicates are not", "[topology]") {
    CHECK(seen("2,0") == VisibleDevices{2, 0});
    CHECK(seen(" 2 ,\t0 ") == VisibleDevices{2, 0});
    CHECK(seen("1,1,0,1") == VisibleDevices{1, 0});
    CHECK(seen("002") == VisibleDevices{2});
}

TEST_CASE("-1 ends the list", "[topology]") {
    CHECK(seen("-1").empty());
    CHECK(seen("1,-1,0") == VisibleDevices{1});
    CHECK(seen("1,-1,nonsense") == VisibleDevices{1});
}

TEST_CASE("A GPU is named by its UUID or by a prefix that is its own", "[topology]") {
    CHECK(seen("GPU-77000000-1111-2222-3333-444444444442") == VisibleDevices{2});
    CHECK(seen("GPU-7,GPU-5a1c,0") == VisibleDevices{2, 1, 0});
    CHECK(seen("gpu-5A1B") == VisibleDevices{0});
    CHECK(seen("2,GPU-77") == VisibleDevices{2});
    CHECK(says(fault("GPU-5a1"), "'GPU-5a1' is ambiguous: GPUs 0 and 1"));
    CHECK(
        says(fault("GPU-5a1b0000-1111-2222-3333-4444444444409"), "is not a GPU of this computer"));
    CHECK(says(fault("GPU-"), "is not a GPU of this computer"));
}

TEST_CASE("An instance stands for the GPU that it is cut from", "[topology]") {
    CHECK(seen("MIG-ba000000-0000-0000-0000-000000000003") == VisibleDevices{2});
    CHECK(seen("MIG-aa,MIG-ab,0") == VisibleDevices{1, 0});
    CHECK(seen("MIG-GPU-5a1b0000-1111-2222-3333-444444444440/1/0") == VisibleDevices{0});
    CHECK(says(fault("MIG-cc"), "is not a GPU of this computer"));
    CHECK(says(fault("MIG-GPU-5a/1/0"),
               "is not a GPU of this computer"));  // no prefixes in the old form
}

TEST_CASE("A number that there is not is out of range (A-T11)", "[topology]") {
    CHECK(says(fault("99999999"), "'99999999' is out of range: there are 3 GPUs"));
    CHECK(says(fault("3"), "out of range"));
    CHECK(says(fault("0,3"), "CUDA would ignore it and everything after it, and show 1 GPU"));
}

TEST_CASE("What is no number is an invalid numeric entry (A-T11)", "[topology]") {
    for (const char* entry : {"123456789012345678901234567890", "18446744073709551616", "1x", "+1",
                              "-2", "0x1", "1.5", "1 2", "cuda:0"}) {
        INFO(entry);
        CHECK(says(fault(entry), std::string("invalid numeric entry '") + entry + "'"));
    }
}

TEST_CASE("An empty entry is a fault", "[topology]") {
    CHECK(says(fault("0,,1"), "an empty entry"));
    CHECK(says(fault("0,"), "an empty entry"));
    CHECK(says(fault(","), "show 0 GPUs"));
}
