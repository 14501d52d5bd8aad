// devices and doctor: on this computer, whatever it has, and with everything around it taken away.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::kBare;
using support::Said;

TEST_CASE("devices lists the host and the simulated devices where there is no GPU", "[cli]") {
    const Said said = support::tidemark({"devices"}, kBare);

    CHECK(said.code == 0);
    CHECK(said.err == "");
    CHECK(said.out.starts_with("no GPU "));
    CHECK(contains(said.out, "\nhost "));
    CHECK(contains(said.out, "\nsim:h200 "));
    CHECK_FALSE(contains(said.out, "/no/such"));
}

TEST_CASE("devices measures how the host copies, if asked", "[cli]") {
    const Said said = support::tidemark({"devices", "--measure"}, kBare);

    CHECK(contains(said.out, "copying on"));
    CHECK(contains(said.out, " GB/s |"));
}

TEST_CASE("devices tells programs of this computer", "[cli]") {
    const json object = support::tidemark_json({"devices"});

    CHECK(object["host"]["processors"].get<unsigned>() > 0);
    CHECK_FALSE(object["host"]["nodes"].empty());
    CHECK(object["simulated"][0]["device"] == "sim:h200");
    CHECK(object["driver"]["problem"].is_null() == object["driver"]["cuda_version"].is_string());
    CHECK(object["bandwidths"].empty());
}

TEST_CASE("the doctor says what is missing and what to do, and that this is no failure", "[cli]") {
    const Said said = support::tidemark({"doctor"}, kBare);

    CHECK(said.code == 0);
    CHECK(said.err == "");
    CHECK(contains(said.out, "yes  simulator "));
    CHECK(contains(said.out, "\nno   cuda "));
    CHECK(contains(said.out, "why: /no/such/libcuda.so"));
    CHECK(contains(said.out, "do:  "));
    CHECK(contains(said.out, "(needs cuda)"));
    CHECK(contains(said.out, "there is no program /no/such/python"));
}

TEST_CASE("the doctor says whether recording will work", "[cli]") {
    support::Surroundings here = kBare;
    here.environment[3].second = TIDEMARK_REPORTED_DRIVER;
    here.environment.emplace_back("CXX", "/bin/true");
    const auto find = [](const support::Surroundings& surroundings, const std::string& name) {
        const json said = support::tidemark_json({"doctor"}, surroundings);
        for (const json& each : said["capabilities"]) {
            if (each["name"] == name)
                return each;
        }
        return json();
    };
    CHECK(contains(find(here, "record")["what"], "/libtidemark-record.so"));
    CHECK(contains(find(here, "cupti")["what"], TIDEMARK_REPORTED_DRIVER));
    CHECK(find(here, "compiler")["what"] == "/bin/true");
    here.environment[3].second = "/no/such/libcupti.so";
    here.environment.emplace_back("CUDA_INJECTION64_PATH", "/other/tool.so");
    CHECK(contains(find(here, "record")["why"], "/other/tool.so"));
    CHECK(contains(find(here, "cupti")["hint"], "TIDEMARK_CUPTI"));
    CHECK(find(here, "torch")["needs"] == "python");
}

TEST_CASE("the doctor's exit code answers what is required", "[cli]") {
    const Said missing =
        support::tidemark({"doctor", "--require", "simulator", "--require", "cuda"}, kBare);
    const Said here = support::tidemark({"doctor", "--require", "simulator"}, kBare);
    const Said unknown = support::tidemark({"doctor", "--require", "cudaa"}, kBare);

    CHECK(missing.code == 1);
    CHECK(contains(missing.out, "\nRequired but missing: cuda\n"));
    CHECK(here.code == 0);
    CHECK_FALSE(contains(here.out, "Required"));
    CHECK(unknown.code == 2);
    CHECK(contains(unknown.err, "did you mean cuda?"));
}

TEST_CASE("the doctor tells programs what was required and is missing", "[cli]") {
    const Said said = support::tidemark({"doctor", "--json", "--require", "cuda"}, kBare);
    const json object = json::parse(said.out);

    CHECK(said.code == 1);
    CHECK(object["missing"] == json::array({"cuda"}));
    CHECK(object["capabilities"][0]["name"] == "simulator");
    CHECK(object["capabilities"][0]["here"] == true);
}

TEST_CASE("devices and doctor show how they are used", "[cli]") {
    for (const std::string command : {"devices", "doctor"}) {
        const Said said = support::tidemark({command, "--help"});
        INFO(command);
        CHECK(said.code == 0);
        CHECK(contains(said.out, "Examples:"));
        CHECK(contains(said.out, "tidemark " + command + " --json"));
    }
}

TEST_CASE("GPUs are listed by the names that --device takes", "[cli]") {
    support::Surroundings surroundings = kBare;
    surroundings.environment[0].second = TIDEMARK_FAKE_CUDA;
    surroundings.environment.emplace_back("TIDEMARK_FAKE_CUDA_CONFIG", "devices=2");

    const Said said = support::tidemark({"devices"}, surroundings);
    const json object = json::parse(support::tidemark({"devices", "--json"}, surroundings).out);

    CHECK(said.code == 0);
    CHECK(said.out.starts_with("cuda:0 "));
    CHECK(contains(said.out, "\ncuda:1 "));
    CHECK(contains(said.out, "reaches cuda:1"));
    CHECK(contains(said.out, "CUDA 13.0"));
    REQUIRE(object["gpus"].size() == 2);
    CHECK(object["gpus"][1]["device"] == "cuda:1");
    CHECK(object["gpus"][1]["memory_bytes"] == 1 << 30);
    CHECK(object["gpus"][1]["features"]["virtual_memory"] == true);
    CHECK(object["driver"]["problem"].is_null());
}

TEST_CASE("the doctor finds GPUs, and what they lack", "[cli]") {
    support::Surroundings surroundings = kBare;
    surroundings.environment[0].second = TIDEMARK_FAKE_CUDA;
    surroundings.environment.emplace_back("TIDEMARK_FAKE_CUDA_CONFIG", "devices=1,vmm=0");

    const Said said = support::tidemark(
        {"doctor", "--require", "cuda", "--require", "virtual-memory"}, surroundings);

    CHECK(said.code == 1);
    CHECK(contains(said.out, "\nyes  cuda "));
    CHECK(contains(said.out, "\nyes  memory-pools "));
    CHECK(contains(said.out, "\nno   virtual-memory "));
    CHECK(contains(said.out, "neither the GPU nor the driver supports it"));
    CHECK(contains(said.out, "there is one GPU"));
    CHECK(contains(said.out, "\nRequired but missing: virtual-memory\n"));
}
