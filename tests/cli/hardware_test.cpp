// replay and calibrate on a real device: on the fake driver, which is loaded as the real one is,
// and where there is none.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Folder;
using support::kSample;
using support::Said;
using support::Surroundings;
using support::tidemark_json;

namespace {

// `config` as the fake driver reads it.
Surroundings fake(const std::string& config = "memory=150109880320") {
    return {.environment = {{"TIDEMARK_CUDA_DRIVER", TIDEMARK_FAKE_CUDA},
                            {"TIDEMARK_FAKE_CUDA_CONFIG", config}}};
}

Surroundings no_driver() {
    return {.environment = {{"TIDEMARK_CUDA_DRIVER", "/nowhere/libcuda.so.1"}}};
}

}  // namespace

TEST_CASE("without a driver --device cuda:0 says why, and where to look", "[cli][cuda]") {
    const Folder folder;
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"replay", kSample, "--device", "cuda:0"},
          {"compare", kSample, "--device", "cuda", "-p", "torch"},
          {"calibrate", "-o", folder / "card.json"}}) {
        const Said said = support::tidemark(arguments, no_driver());
        INFO(said.err);
        CHECK(said.code == 5);
        CHECK(said.out.empty());
        CHECK(contains(said.err, "no CUDA driver"));
        CHECK(contains(said.err, "/nowhere/libcuda.so.1"));
        CHECK(contains(said.err, "tidemark doctor"));
    }
    CHECK(folder.names().empty());
}

TEST_CASE("a device that nobody knows meets the nearest word", "[cli][cuda]") {
    for (const auto& [word, hint] : {std::pair<std::string, std::string>{"cuda0", "cuda"},
                                     {"cuda:x", "cuda:0"},
                                     {"cuda:", "cuda:0"},
                                     {"cuda:-1", "cuda:0"},
                                     {"gpu", "sim:h200"}}) {
        const Said said = support::tidemark({"replay", kSample, "--device", word});
        INFO(said.err);
        CHECK(said.code == 2);
        CHECK(contains(said.err, "'" + word + "' is not a device"));
        CHECK(contains(said.err, hint));
    }
    const Said profile = support::tidemark({"replay", kSample, "--device", "sim:h20"});
    CHECK(profile.code == 3);
    CHECK(contains(profile.err, "did you mean h200"));
    const Said absent = support::tidemark({"replay", kSample, "--device", "cuda:3"}, fake());
    CHECK(absent.code == 5);
    CHECK(contains(absent.err, "cuda:3"));
}

TEST_CASE("what a real device cannot be told is wrong usage", "[cli][cuda]") {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"--memory", "1GiB"}, "--memory"},
        {{"--profile", "h200"}, "--profile"},
        {{"--limit", "1GiB", "-p", "best-fit"}, "--limit"},
        {{"--scale", "0"}, "--scale"},
        {{"--scale", "many"}, "--scale"}};
    for (const auto& [options, named] : cases) {
        std::vector<std::string> arguments{"replay", kSample, "--device", "cuda:0"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const Said said = support::tidemark(arguments, fake());
        INFO(said.err);
        CHECK(said.code == 2);
        CHECK(contains(said.err, named));
    }
    const Said twice =
        support::tidemark({"replay", kSample, "--device", "sim:h200", "--profile", "h200"});
    CHECK(twice.code == 2);
    CHECK(contains(twice.err, "contradicts --device sim:h200"));
}

TEST_CASE("--device sim:h200 is the simulator as ever", "[cli]") {
    json named = support::tidemark_json({"replay", kSample, "--device", "sim:h200"});
    json plain = support::tidemark_json({"replay", kSample});
    for (const char* key : {"elapsed_ns", "elapsed_total_ns", "provenance"}) {
        named.erase(key);
        plain.erase(key);
    }
    CHECK(named == plain);
    CHECK(plain["device"] == "sim");
    CHECK(plain["device_name"] == "sim:h200");
    CHECK(plain["device_peak_bytes"].is_null());
}

TEST_CASE("the simulator and a device decide the same, line by line", "[cli][cuda]") {
    const Folder folder;
    // Policies for which it does not matter where a driver puts plain memory.
    for (const std::string policy :
         {"cuda-malloc", "bump", "torch:expandable_segments=true", "vpmm"}) {
        INFO(policy);
        const std::vector<std::string> arguments{"replay", kSample, "-p", policy, "--scale", "0.3"};
        std::vector<std::string> on_device = arguments;
        on_device.insert(on_device.end(),
                         {"--device", "cuda:0", "--decisions", folder / "device.txt"});
        std::vector<std::string> simulated = arguments;
        simulated.insert(simulated.end(),
                         {"--memory", "150109880320", "--decisions", folder / "sim.txt"});
        const json real = tidemark_json(on_device, fake());
        const json sim = tidemark_json(simulated, {});
        CHECK(real["decisions"] == sim["decisions"]);
        CHECK(real["decisions"] > 1000);
        CHECK(real["decisions_hash"] == sim["decisions_hash"]);
        CHECK(support::read_file(folder / "device.txt") == support::read_file(folder / "sim.txt"));
        for (const char* key : {"peak_allocated_bytes", "peak_active_bytes", "device_calls",
                                "calls_malloc", "calls_create", "out_of_memory"})
            CHECK(real[key] == sim[key]);

        CHECK(real["device"] == "cuda:0");
        CHECK(real["profile"] == "");
        CHECK(real["memory_bytes"] == 150109880320);
        CHECK(real["driver_ns"] > 0);
        CHECK(real["device_peak_bytes"] >= real["peak_reserved_bytes"].get<std::uint64_t>() / 2);
        CHECK(real["device_leak_bytes"] == 0);
    }
}

TEST_CASE("the time of each kind of call adds up to the driver's", "[cli][cuda]") {
    for (const Surroundings& surroundings : {Surroundings{}, fake()}) {
        std::vector<std::string> arguments{"replay", kSample, "-p", "vpmm", "--scale", "0.1"};
        if (!surroundings.environment.empty())
            arguments.insert(arguments.end(), {"--device", "cuda:0"});
        const json run = tidemark_json(arguments, surroundings);
        std::uint64_t sum = 0;
        std::uint64_t calls = 0;
        for (const auto& [key, value] : run.items()) {
            if (key.starts_with("calls_") && key.ends_with("_ns"))
                sum += value.get<std::uint64_t>();
            else if (key.starts_with("calls_"))
                calls += value.get<std::uint64_t>();
        }
        CHECK(sum == run["driver_ns"]);
        CHECK(sum > 0);
        CHECK(calls == run["device_calls"]);
    }
}

TEST_CASE("touched memory is whole on a device, and full devices are an ordinary end",
          "[cli][cuda]") {
    const json touched = tidemark_json(
        {"replay", kSample, "-p", "torch", "--scale", "0.005", "--touch", "--device", "cuda:0"},
        fake("memory=1073741824"));
    CHECK(touched["touch"]["damaged"] == 0);
    CHECK(touched["touch"]["failures"] == 0);
    CHECK(touched["touch"]["allocations"] > 1000);
    CHECK(touched["device_leak_bytes"] == 0);

    const json full = tidemark_json({"replay", kSample, "-p", "torch", "--device", "cuda:0"},
                                    fake("memory=1073741824"), 4);
    CHECK(full["out_of_memory"] > 0);
    CHECK(full["out_of_memory_events"][0]["cause"] == "device full");
    CHECK(full["device_leak_bytes"] == 0);
}

TEST_CASE("a device that is lost on the way ends in words, not in a crash", "[cli][cuda]") {
    const Said said = support::tidemark({"replay", kSample, "-p", "cuda-malloc", "--device",
                                         "cuda:0", "--scale", "0.1", "--picture", "none"},
                                        fake("memory=150109880320,fail=cuMemAlloc_v2:50:719:lost"));
    INFO(said.out);
    INFO(said.err);
    CHECK(said.code == 5);
    CHECK(contains(said.err, "lost"));
}

TEST_CASE("device i of a trace is cuda:N+i", "[cli][cuda]") {
    const Folder folder;
    support::write_file(folder / "two.jsonl",
                        R"({"type":"header","version":1,"unit":"us","devices":[{},{}]}
{"t":0,"op":"alloc","id":1,"bytes":3000000,"device":0}
{"t":1,"op":"alloc","id":2,"bytes":4000000,"device":1}
{"t":2,"op":"free","id":1,"device":0}
{"t":3,"op":"free","id":2,"device":1}
)");
    const std::vector<std::string> arguments{"replay",      folder / "two.jsonl", "-p",
                                             "cuda-malloc", "--device",           "cuda:0"};
    const Said one = support::tidemark(arguments, fake("devices=1"));
    INFO(one.err);
    CHECK(one.code == 5);
    CHECK(contains(one.err, "the trace has 2 devices, and there is no cuda:1"));
    const json two = tidemark_json(arguments, fake("devices=2"));
    CHECK(two["calls_malloc"] == 2);
    CHECK(two["device_peak_bytes"] >= 7'000'000);
}

TEST_CASE("compare runs on a device, one policy after the other", "[cli][cuda]") {
    const json all = tidemark_json({"compare", kSample, "-p", "cuda-malloc", "-p", "vpmm",
                                    "--scale", "0.05", "--device", "cuda:0"},
                                   fake("memory=2147483648"));
    REQUIRE(all["runs"].size() == 2);
    for (const json& run : all["runs"]) {
        CHECK(run["device"] == "cuda:0");
        CHECK(run["out_of_memory"] == 0);
        CHECK(run["device_leak_bytes"] == 0);
    }
    const Said table = support::tidemark(
        {"compare", kSample, "-p", "cuda-malloc", "--scale", "0.05", "--device", "cuda:0"},
        fake("memory=2147483648"));
    CHECK(table.code == 0);
    CHECK(contains(table.out, "(cuda:0) with 2.00 GiB, all sizes times 0.05"));
}

TEST_CASE("a calibrated device becomes a simulated one", "[cli][cuda]") {
    const Folder folder;
    const std::string card = folder / "my-card.json";
    const json calibration =
        tidemark_json({"calibrate", "-o", card, "--quick"}, fake("memory=268435456"));
    CHECK(calibration["name"] == "my-card");
    CHECK(calibration["memory_bytes"] == 268435456);
    CHECK(calibration["measured"].size() > 20);
    CHECK(folder.names() == std::vector<std::string>{"my-card.json"});

    const json run = tidemark_json({"replay", kSample, "--profile", card, "--scale", "0.01"});
    CHECK(run["profile"] == card);
    CHECK(run["device_name"] == "sim:my-card");
    CHECK(run["driver_ns"] > 0);
    CHECK(run["provenance"]["profile_hash"] == calibration["provenance"]["profile_hash"]);
}

TEST_CASE("a calibration can be printed, and shows its spreads as a table", "[cli]") {
    const Said printed =
        support::tidemark({"calibrate", "-o", "-", "--device", "sim:h200", "--quick"});
    CHECK(printed.code == 0);
    CHECK(json::parse(printed.out)["format"] == "tidemark-device-profile");
    const Folder folder;
    const Said table = support::tidemark(
        {"calibrate", "-o", folder / "a.json", "--device", "sim:h200", "--quick"});
    CHECK(table.code == 0);
    CHECK(contains(table.out, "set_access of a range"));
    CHECK(contains(table.out, "wrote "));
}

TEST_CASE("a replay over tiers runs on a device, beside its prediction", "[cli][cuda][tiers]") {
    const std::string trace =
        "generate:training:events=600,layers=4,hidden=128,batch=1,sequence=128,vocabulary=1024";
    const json run = tidemark_json(
        {"replay", trace, "--gpu-memory", "60%", "--spill", "lru", "--device", "cuda:0"},
        fake("memory=1073741824"));
    CHECK(run.at("device").is_string());
    CHECK(run.at("wrong_bytes") == 0);
    CHECK(run.at("out_of_memory") == 0);
    CHECK(run.at("spilled_bytes") > 0);
    CHECK(run.at("predicted_moved_bytes") > 0);
    CHECK(run.at("predicted_slowdown") >= 1);

    const Said text = support::tidemark(
        {"replay", trace, "--gpu-memory", "60%", "--device", "cuda:0"}, fake("memory=1073741824"));
    CHECK(text.code == 0);
    CHECK(contains(text.out, "predicted"));
    CHECK(contains(text.out, "every byte that was compared is correct"));

    const Said broken =
        support::tidemark({"replay", trace, "--gpu-memory", "60%", "--device", "cuda:0"},
                          fake("memory=1073741824,fail=cuMemcpyAsync:24:1:one"));
    CHECK(broken.code == 1);
    CHECK(contains(broken.out, "failed"));
    CHECK(contains(broken.out, "cuMemcpyAsync"));

    const Said small = support::tidemark(
        {"replay", trace, "--gpu-memory", "2GiB", "--device", "cuda:0"}, fake("memory=1073741824"));
    CHECK(small.code == 3);
    CHECK(contains(small.err, "choose a smaller --gpu-memory"));
    const Said simulated =
        support::tidemark({"replay", trace, "--gpu-memory", "60%", "--device", "sim:h200"});
    CHECK(simulated.code == 2);
    CHECK(contains(simulated.err, "--machine names what to simulate"));
}
