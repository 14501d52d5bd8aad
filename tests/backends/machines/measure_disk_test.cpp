// Disks whose speed is known, and a real one.
#include "backends/machines/measure_disk.h"

#include <cerrno>
#include <filesystem>

#include <catch2/catch.hpp>

#include "backends/disk/disk_files.h"
#include "backends/disk/posix_files.h"
#include "tests/backends/machines/slow_disk.h"
#include "tests/support/fake_root.h"

using namespace tidemark;
using support::SlowDisk;
using support::SlowDiskSpec;

namespace {

// Ten seconds, of the disk's own time.
DiskQuestion question_of(SlowDisk& disk) {
    return {.directory = "/scratch",
            .limits = {.runs = 3, .budget = 10'000'000'000},
            .now = [&disk] { return disk.now(); }};
}

DiskFigures measure(SlowDisk& disk) {
    Result<DiskFigures> figures = measure_disk(disk, question_of(disk));
    if (!figures)
        FAIL(to_text(figures.error()));
    CHECK(disk.open_files() == 0);
    return *std::move(figures);
}

Error fault_of(SlowDisk& disk, const DiskQuestion& question) {
    const Result<DiskFigures> figures = measure_disk(disk, question);
    REQUIRE_FALSE(figures);
    CHECK(disk.open_files() == 0);
    return figures.error();
}

}  // namespace

TEST_CASE("A disk's bandwidths and latency are found", "[machine][measure][disk]") {
    SlowDisk disk({.write = 1.5e9, .read = 3e9, .latency = 80'000});

    const DiskFigures figures = measure(disk);

    CHECK(figures.direct);
    CHECK(figures.write.bytes_per_second.median == Approx(1.5e9).epsilon(0.01));
    CHECK(figures.read.bytes_per_second.median == Approx(3e9).epsilon(0.01));
    CHECK(figures.write.latency.median == Approx(80'000).epsilon(0.1));
    CHECK(figures.read.latency.median == Approx(80'000).epsilon(0.1));
    CHECK(figures.read.small.median == Approx(81'365).epsilon(0.01));
    CHECK(figures.read.bytes_per_second.runs == 3);
    CHECK(figures.read.bytes_per_second.spread() < 0.01);
    CHECK(figures.both.median == Approx(4.5e9).epsilon(0.03));
    CHECK(disk.forgotten() == 0);
}

TEST_CASE("A disk whose directions share it gets less for both", "[machine][measure][disk]") {
    SlowDisk disk({.write = 2e9, .read = 2e9, .shared = true});

    const DiskFigures figures = measure(disk);

    CHECK(figures.write.bytes_per_second.median == Approx(2e9).epsilon(0.01));
    CHECK(figures.read.bytes_per_second.median == Approx(2e9).epsilon(0.01));
    CHECK(figures.both.median == Approx(2e9).epsilon(0.03));
}

TEST_CASE("A disk that is quicker for once than for long still has a latency",
          "[machine][measure][disk]") {
    // A sync makes the rate less than what a chunk alone gets.
    SlowDisk disk({.write = 1e9, .latency = 100'000, .sync = 100'000'000});

    const DiskFigures figures = measure(disk);

    REQUIRE(figures.write.bytes_per_second.median < 0.8e9);
    CHECK(figures.write.latency.median == Approx(100'000).epsilon(0.1));  // of 4 KiB
}

TEST_CASE("A sync is a part of writing", "[machine][measure][disk]") {
    SlowDisk quick({.write = 1e9});
    const DiskFigures without = measure(quick);
    SlowDisk disk({.write = 1e9, .sync = 500'000'000});

    const DiskFigures with = measure(disk);

    CHECK(with.write.bytes_per_second.median < 0.8 * without.write.bytes_per_second.median);
    CHECK(with.read.bytes_per_second.median ==
          Approx(without.read.bytes_per_second.median).epsilon(0.01));
}

TEST_CASE("Without direct transfers reads come after the page cache was emptied",
          "[machine][measure][disk]") {
    SlowDisk disk({.alignment = 1});
    const DiskFigures figures = measure(disk);
    CHECK_FALSE(figures.direct);
    CHECK(figures.read.bytes_per_second.runs == 3);
    CHECK(figures.both.runs == 0);
    CHECK(disk.forgotten() >= 6);  // before the file is read as a whole, and before single reads

    SlowDisk keeping({.alignment = 1, .forgets = false});
    const DiskFigures written = measure(keeping);
    CHECK(written.write.bytes_per_second.runs == 3);
    CHECK(written.read.bytes_per_second.runs == 0);
    CHECK(written.obstacle.find("the page cache keeps files") != std::string::npos);
}

TEST_CASE("What is written keeps within the room and the time", "[machine][measure][disk]") {
    SlowDisk small({.space = 1_GiB});
    CHECK(measure(small).size == 128_MiB);  // two files: a quarter of the room
    SlowDisk full({.space = 256_MiB});
    const Error error = fault_of(full, question_of(full));
    CHECK(error.code == ErrorCode::no_space);
    CHECK(error.what == "256 MiB are free; measuring needs 512 MiB");
    CHECK(error.where == "/scratch");

    SlowDisk slow({.write = 20e6, .read = 20e6});
    const DiskFigures figures = measure(slow);
    CHECK(figures.size == 64_MiB);  // the least
    CHECK(figures.write.bytes_per_second.runs == 1);
    CHECK(slow.now() < 20'000'000'000);
}

TEST_CASE("A disk that fails or fills up is told, and nothing stays open",
          "[machine][measure][disk]") {
    SlowDisk disk;
    disk.script = [](std::uint64_t number) { return number == 100 ? EIO : 0; };
    const Error failed = fault_of(disk, question_of(disk));
    CHECK(failed.code == ErrorCode::io);
    CHECK(failed.what.find("errno 5") != std::string::npos);
    CHECK(failed.where == "/scratch");

    SlowDisk filled;
    filled.script = [](std::uint64_t number) { return number == 30 ? ENOSPC : 0; };
    CHECK(fault_of(filled, question_of(filled)).code == ErrorCode::no_space);
}

TEST_CASE("Whoever asks a disk's measurement to stop is obeyed soon", "[machine][measure][disk]") {
    SlowDisk disk;
    DiskQuestion question = question_of(disk);
    question.limits.stop = [&disk] { return disk.transfers() >= 40; };

    CHECK(fault_of(disk, question).code == ErrorCode::cancelled);
    CHECK(disk.transfers() < 60);
}

TEST_CASE("A real directory is measured, and left as it was", "[machine][measure][disk]") {
    const support::FakeRoot folder;
    const auto check = [&folder](BlockFiles& files, bool buffered) {
        const Result<DiskFigures> figures =
            measure_disk(files, {.directory = folder.path(),
                                 .limits = {.runs = 2, .budget = 100'000'000},
                                 .largest = 8_MiB,
                                 .chunk = 64_KiB});
        if (!figures)
            FAIL(to_text(figures.error()));
        CHECK(figures->write.bytes_per_second.median > 0);
        CHECK(figures->size <= 8_MiB);
        if (buffered)
            CHECK_FALSE(figures->direct);
        CHECK((figures->read.bytes_per_second.runs > 0 || !figures->obstacle.empty()));
        CHECK(std::filesystem::is_empty(folder.path()));
    };

    check(*open_disk_files().value().files, false);
    PosixFiles buffered(PageCache::use);
    check(buffered, true);
}

TEST_CASE("A directory that may not be written is told", "[machine][measure][disk]") {
    PosixFiles files;
    const Result<DiskFigures> figures = measure_disk(files, {.directory = "/no/such/folder"});

    REQUIRE_FALSE(figures);
    CHECK(figures.error().code == ErrorCode::io);
    CHECK(figures.error().where == "/no/such/folder");
}
