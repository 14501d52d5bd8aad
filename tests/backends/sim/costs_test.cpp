// Cost curves, the shipped profile against what was measured, and profiles from files.
#include "backends/sim/costs.h"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace tidemark;

namespace {

std::string shipped_text() {
    return std::string{shipped_profiles().front().json};
}

// The shipped profile with `from` replaced by `to`, which must change it.
Result<CostProfile> parse_changed(const std::string& from, const std::string& to) {
    std::string text = shipped_text();
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    return parse_profile(text, "test.json");
}

std::string fault_of(const std::string& from, const std::string& to) {
    const Result<CostProfile> profile = parse_changed(from, to);
    REQUIRE_FALSE(profile.has_value());
    CHECK(profile.error().where == "test.json");
    CHECK_FALSE(profile.error().hint.empty());
    return profile.error().what;
}

// Removes one curve, with the comma after it, by its key.
std::string without_line(const std::string& key) {
    std::istringstream lines(shipped_text());
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("\"" + key + "\":") == std::string::npos)
            result += line + "\n";
    }
    return result;
}

}  // namespace

TEST_CASE("a curve is linear between points and constant below the first") {
    const CostPoint points[] = {{100, 10}, {200, 30}, {400, 10}};
    const CostCurve curve{points};
    CHECK(curve.at(0) == 10);
    CHECK(curve.at(99) == 10);
    CHECK(curve.at(100) == 10);
    CHECK(curve.at(150) == 20);
    CHECK(curve.at(200) == 30);
    CHECK(curve.at(300) == 20);
    CHECK(curve.at(400) == 10);
}

TEST_CASE("a curve goes on along its last slope, but never downwards") {
    const CostPoint rising[] = {{0, 0}, {1000, 500}};
    CHECK(CostCurve{rising}.at(10'000) == 5000);
    const CostPoint falling[] = {{0, 500}, {1000, 100}};
    CHECK(CostCurve{falling}.at(10'000) == 100);
    const CostPoint single[] = {{512, 7}};
    CHECK(CostCurve{single}.at(1_GiB) == 7);
    CHECK(CostCurve{single}.at(~Bytes{0}) == 7);
}

TEST_CASE("a curve without points costs nothing") {
    CHECK(CostCurve{}.at(0) == 0);
    CHECK(CostCurve{}.at(1_GiB) == 0);
}

TEST_CASE("a curve is exact at many points within one power of two") {
    std::vector<CostPoint> points;
    for (Bytes i = 0; i < 500; ++i)
        points.push_back({1024 + 2 * i, static_cast<Nanoseconds>(i * i)});
    const CostCurve curve{points};
    for (const CostPoint& point : points)
        CHECK(curve.at(point.bytes) == point.cost);
    CHECK(curve.at(1027) == 3);  // 2.5, between 1 and 4
    CHECK(curve.at(1029) == 7);  // 6.5, between 4 and 9
}

TEST_CASE("the shipped profile is the H200's") {
    CHECK(profile_names() == std::vector<std::string_view>{"h200"});
    const Result<CostProfile> profile = load_profile("h200");
    REQUIRE(profile);
    CHECK(profile->name == "h200");
    CHECK(profile->memory == 150109880320);
    CHECK(profile->granularity == 2_MiB);
    CHECK(profile->cost(DeviceCall::malloc, 512) == 1071);
    CHECK(profile->cost(DeviceCall::malloc, 1_MiB) == 1059);
    CHECK(profile->cost(DeviceCall::malloc, 2_MiB - 1) == 1059);
    CHECK(profile->cost(DeviceCall::malloc, 2_MiB) == 28024);
    CHECK(profile->cost(DeviceCall::malloc, 20_MiB) == 30470);
    CHECK(profile->cost(DeviceCall::free, 4_GiB) == 977428);
    CHECK(profile->cost(DeviceCall::malloc_async, 1_GiB) == 235);
    CHECK(profile->pool_creation + profile->cost(DeviceCall::malloc_async, 512) == 7348591);
    CHECK(profile->duration(Transfer::on_device, 1_GiB) == 509765);
    // Beyond 1 GiB, H2D goes on at the bandwidth between the last two points.
    CHECK(profile->duration(Transfer::to_device, 2_GiB) == Approx(38'700'000).epsilon(0.01));
}

TEST_CASE("the shipped profile costs what was measured, at every measured size") {
    std::ifstream file(TIDEMARK_SOURCE_DIR "/tests/backends/sim/h200-memory-operations.jsonl");
    REQUIRE(file);
    const std::map<std::string, DeviceCall> calls = {
        {"cudaMalloc", DeviceCall::malloc},
        {"cudaFree", DeviceCall::free},
        {"cudaMallocAsync", DeviceCall::malloc_async},
        {"cudaFreeAsync", DeviceCall::free_async},
        {"cuMemAddressReserve", DeviceCall::reserve},
        {"cuMemAddressFree", DeviceCall::unreserve},
        {"cuMemCreate", DeviceCall::create},
        {"cuMemRelease", DeviceCall::release},
        {"cuMemMap", DeviceCall::map},
        {"cuMemUnmap", DeviceCall::unmap},
        {"cuMemSetAccess", DeviceCall::set_access},
        {"cudaEventRecord", DeviceCall::record},
        {"cudaEventQuery", DeviceCall::complete},
        {"cudaStreamWaitEvent", DeviceCall::wait},
        {"cudaHostAlloc", DeviceCall::host_malloc},
        {"cudaFreeHost", DeviceCall::host_free},
    };
    const std::map<std::string, Transfer> transfers = {{"D2H.pinned", Transfer::to_host},
                                                       {"H2D.pinned", Transfer::to_device},
                                                       {"D2D", Transfer::on_device}};
    const CostProfile profile = load_profile("h200").value();
    int compared = 0;
    for (std::string line; std::getline(file, line);) {
        const auto row = nlohmann::json::parse(line);
        if (!row.contains("op"))
            continue;
        const std::string op = row["op"];
        const Bytes bytes = row["bytes"];
        const auto median = std::llround(row["median_us"].get<double>() * 1000);
        CAPTURE(op, bytes);
        if (const auto call = calls.find(op); call != calls.end()) {
            CHECK(profile.cost(call->second, bytes) == median);
            ++compared;
        } else if (const auto transfer = transfers.find(op); transfer != transfers.end()) {
            CHECK(profile.duration(transfer->second, bytes) == median);
            ++compared;
        } else if (op == "cudaMallocAsync.cold" && bytes > 32_MiB) {
            CHECK(profile.cost(DeviceCall::malloc_async, bytes) + profile.pool_growth.at(bytes) ==
                  median);
            ++compared;
        }
    }
    CHECK(compared >= 60);
}

TEST_CASE("a profile's hash depends on every number in it, not on the layout of the file") {
    const CostProfile profile = load_profile("h200").value();
    std::string text = shipped_text();
    std::erase(text, '\n');
    CHECK(parse_profile(text, "")->hash() == profile.hash());
    CHECK(parse_changed("NVIDIA H200", "another card")->hash() == profile.hash());
    CHECK(parse_changed("1071", "1072")->hash() != profile.hash());
    CHECK(parse_changed("150109880320", "150109880321")->hash() != profile.hash());
    CHECK(parse_changed("7348385", "7348386")->hash() != profile.hash());
    CHECK(parse_changed("257946", "257947")->hash() != profile.hash());
    CHECK(parse_changed("\"name\": \"h200\"", "\"name\": \"mine\"")->hash() != profile.hash());
}

TEST_CASE("an unknown profile's error names the nearest one, or all") {
    const Result<CostProfile> near = load_profile("h20");
    REQUIRE_FALSE(near);
    CHECK(near.error().code == ErrorCode::not_found);
    CHECK(near.error().hint == "did you mean h200");
    const Result<CostProfile> far = load_profile("/no/such/file.json");
    REQUIRE_FALSE(far);
    CHECK(far.error().hint == "known profiles: h200");
    CHECK_FALSE(load_profile(""));
}

TEST_CASE("a profile is loaded from a file as well") {
    const std::string path = "costs_test_profile.json";
    std::ofstream(path) << shipped_text();
    const Result<CostProfile> profile = load_profile(path);
    std::ofstream(path) << std::string(2_MiB, ' ');
    const Result<CostProfile> huge = load_profile(path);
    std::remove(path.c_str());
    REQUIRE(profile);
    CHECK(profile->hash() == load_profile("h200")->hash());
    REQUIRE_FALSE(huge);
    CHECK(huge.error().what == "larger than 1 MiB: not a device profile");
    CHECK_FALSE(load_profile("/").has_value());
}

TEST_CASE("a faulty profile is refused with the name of the field") {
    CHECK(fault_of("tidemark-device-profile", "other") ==
          "format: expected \"tidemark-device-profile\"");
    CHECK(fault_of("\"version\": 1", "\"version\": 2") ==
          "version: expected a whole number from 0 to 1");
    CHECK(fault_of("\"version\": 1", "\"version\": 0") == "version: expected 1");
    CHECK(fault_of("\"memory\": 150109880320", "\"memory\": 0") ==
          "memory: expected more than 0 bytes");
    CHECK(fault_of("\"memory\": 150109880320", "\"memory\": -1").substr(0, 16) ==
          "memory: expected");
    CHECK(fault_of("\"granularity\": 2097152", "\"granularity\": 2097153") ==
          "granularity: expected a power of two from 512 to 32 MiB");
    CHECK(fault_of("\"name\": \"h200\"", "\"name\": 7") == "name: expected a string");
    CHECK(fault_of("\"record\": [[0, 184]]", "\"record\": 184").substr(0, 30) ==
          "calls.record: expected a list ");
    CHECK(fault_of("\"record\": [[0, 184]]", "\"record\": []").substr(0, 22) ==
          "calls.record: expected");
    CHECK(fault_of("\"record\": [[0, 184]]", "\"record\": [[0]]") ==
          "calls.record[0]: expected a point [bytes, nanoseconds]");
    CHECK(fault_of("[[0, 184]]", "[[0, -1]]").substr(0, 28) == "calls.record[0][1]: expected");
    CHECK(fault_of("[[0, 184]]", "[[0, 184.5]]").substr(0, 28) == "calls.record[0][1]: expected");
    CHECK(fault_of("[[0, 184]]", "[[5, 1], [5, 2]]") ==
          "calls.record[1]: expected more bytes than in the point before");
    CHECK(fault_of("[[0, 184]]", "[[0, 1], [1, 2000]]") ==
          "calls.record: rises by more than 1000 ns per byte at its end");
    CHECK(fault_of("\"record\":", "\"recrod\":") == "calls.recrod: unknown; did you mean record");
    CHECK(fault_of("\"create\": 7348385", "\"create\": \"x\"").substr(0, 21) ==
          "pool.create: expected");
}

TEST_CASE("a profile that lacks a field is refused with the name of the field") {
    for (const auto& [key, what] : std::map<std::string, std::string>{
             {"memory", "memory: missing"},
             {"wait", "calls.wait: missing"},
             {"to_host", "transfers.to_host: missing"},
         }) {
        std::string text = without_line(key);
        if (key == "wait") {  // it was the last of its section
            const std::size_t at = text.find("1885]],");
            REQUIRE(at != std::string::npos);
            text.erase(at + 6, 1);
        }
        const Result<CostProfile> profile = parse_profile(text, "test.json");
        REQUIRE_FALSE(profile);
        CHECK(profile.error().what == what);
    }
}

TEST_CASE("what is no JSON object is refused") {
    CHECK(parse_profile("", "x").error().what.substr(0, 8) == "not JSON");
    CHECK(parse_profile("{\"memory\": 1e999}", "x").error().what.substr(0, 8) == "not JSON");
    CHECK(parse_profile("{\"format\": ", "x").error().what.substr(0, 8) == "not JSON");
    CHECK(parse_profile("[1]", "x").error().what == "profile: expected an object");
    const std::string deep(100'000, '[');
    CHECK(parse_profile(deep, "x").error().code == ErrorCode::bad_input);
}
