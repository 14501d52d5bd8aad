// tidemark record where its recording cannot be written: the program goes on.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <catch2/catch.hpp>
#include <sys/mount.h>

#include "tests/cli/command_line.h"
#include "tests/support/live_folder.h"
#include "traces/live/publisher.h"

using namespace tidemark;
using support::contains;

namespace {

namespace fs = std::filesystem;

// A program that allocates, and ends with exit code 7.
support::Said record(const std::string& recording) {
    return support::tidemark(
        {"record", "--force", "--json", "-o", recording, "--", TIDEMARK_RECORDED_PROGRAM, "plain",
         "exit=7"},
        {.environment = {{"TIDEMARK_CUDA_DRIVER", TIDEMARK_REPORTED_DRIVER},
                         {"TIDEMARK_CUPTI", TIDEMARK_REPORTED_DRIVER},
                         {"TIDEMARK_FAKE_CUDA_CONFIG", "devices=1,memory=1073741824"}}});
}

}  // namespace

TEST_CASE("record leaves a recording alone that another program writes", "[cli][record]") {
    const support::LiveFolder folder;
    auto options = live::PublishOptions{};
    options.recording = folder.file("run.tml");
    const auto other = live::Publisher::start(options);
    REQUIRE(other);
    const support::Said said = record(folder.file("run.tml"));
    CHECK(said.code == 7);
    CHECK(contains(said.out, "is being written by another program"));
    CHECK(contains(said.out, "a name of its own"));
    REQUIRE((*other)->close());
    CHECK(support::tidemark_json({"info", options.recording})["events"] == 0);
}

TEST_CASE("a program goes on where its recording's disk is full, and what is lost is said",
          "[cli][record]") {
    const support::LiveFolder folder;
    const std::string disk = folder.file("disk");
    fs::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
        WARN("left out: no disk can be mounted here: " << std::strerror(errno));
        return;
    }
    const std::string recording = disk + "/run.tml";
    const support::Said said = record(recording);
    const bool there = fs::exists(recording);
    REQUIRE(::umount2(disk.c_str(), MNT_DETACH) == 0);
    CHECK(said.code == 7);
    CHECK(there);
    CHECK(contains(said.err, "events are not recorded"));
    CHECK(contains(said.err, "No space left"));
    const auto process = nlohmann::json::parse(said.out)["processes"][0];
    CHECK_FALSE(process["kinds"].contains("allocate"));
    const std::string warning = process["warnings"].at(0);
    CHECK(contains(warning, "events are missing"));
    CHECK(contains(warning, "could not be written"));
}
