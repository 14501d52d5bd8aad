// What every BlockFiles on a real disk does.
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "backends/disk/disk_files.h"
#include "tests/backends/disk/engines.h"
#include "tests/support/disk_content.h"
#include "tests/support/system_limits.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

// One transfer, whole.
BlockCompletion move(BlockQueue& queue, BlockTransfer::Kind kind, FileId file, Bytes offset,
                     std::span<const MemoryPiece> pieces) {
    const BlockTransfer transfer{kind, file, offset, pieces, 77};
    queue.submit(std::span(&transfer, 1));
    std::array<BlockCompletion, 4> done;
    REQUIRE(queue.wait(done) == 1);
    CHECK(done[0].tag == 77);
    return done[0];
}

}  // namespace

TEST_CASE("scratch files have no name, and are written and read (A-T29)", "[disk]") {
    for (const std::string_view engine : all_engines()) {
        const auto files = open_engine(engine);
        if (!files)
            continue;
        INFO(engine);
        const DiskFolder folder;
        const std::size_t descriptors = open_descriptors();
        {
            const auto file = files->create_scratch(folder.path());
            REQUIRE(file);
            CHECK(fs::is_empty(folder.path()));
            CHECK(is_power_of_two(file->memory_alignment));
            CHECK(file->memory_alignment <= kFileBlock);
            CHECK((engine != "buffered" || file->memory_alignment == 1));
            REQUIRE(files->allocate(file->id, 0, 5 * kFileBlock));
            const auto queue = files->make_queue(4);
            CHECK(queue->depth() == 4);

            const PageMemory memory(8 * kFileBlock);
            const auto content = support::content_of(1, 2 * kFileBlock);
            std::memcpy(memory.data(), content.data(), content.size());
            const std::array scattered{memory.piece(kFileBlock, kFileBlock),
                                       memory.piece(0, kFileBlock)};
            auto end = move(*queue, BlockTransfer::Kind::write, file->id, kFileBlock, scattered);
            CHECK(end.error == 0);
            CHECK(end.moved == 2 * kFileBlock);
            const std::array whole{memory.piece(0, 8 * kFileBlock)};
            end = move(*queue, BlockTransfer::Kind::read, file->id, 0, whole);
            CHECK(end.moved == 5 * kFileBlock);  // short: it has no more
            CHECK(std::memcmp(memory.data() + kFileBlock, content.data() + kFileBlock,
                              kFileBlock) == 0);
            CHECK(std::memcmp(memory.data() + 2 * kFileBlock, content.data(), kFileBlock) == 0);
            CHECK(memory.data()[3 * kFileBlock] == std::byte{0});  // allocated, never written
            end = move(*queue, BlockTransfer::Kind::read, file->id, 8 * kFileBlock, whole);
            CHECK(end.error == 0);
            CHECK(end.moved == 0);
            CHECK(files->sync(file->id));
            if (files->release(file->id, kFileBlock, kFileBlock)) {
                end = move(*queue, BlockTransfer::Kind::read, file->id, kFileBlock, whole);
                CHECK(end.moved == 4 * kFileBlock);
                CHECK(memory.data()[0] == std::byte{0});
                CHECK(std::memcmp(memory.data() + kFileBlock, content.data(), kFileBlock) == 0);
            }
            REQUIRE(files->close(file->id));
        }
        CHECK(open_descriptors() == descriptors);
        CHECK(files->free_space(folder.path()).value_or(0) > 0);
        CHECK(files->free_space(folder.path() + "/none").error().number == ENOENT);
        CHECK(files->create_scratch(folder.path() + "/none").error().number == ENOENT);
    }
}

TEST_CASE("a file that is forgotten is out of the page cache, or that is told", "[disk]") {
    const auto files = open_engine("buffered");
    const DiskFolder folder;
    const auto file = files->create_scratch(folder.path());
    REQUIRE(file);
    REQUIRE(files->forget(file->id));  // nothing to be forgotten
    REQUIRE(files->allocate(file->id, 0, 512 * kFileBlock));
    const PageMemory memory(512 * kFileBlock);
    const std::array whole{memory.piece(0, 512 * kFileBlock)};
    const auto queue = files->make_queue(1);
    CHECK(move(*queue, BlockTransfer::Kind::write, file->id, 0, whole).moved == 512 * kFileBlock);
    REQUIRE(files->sync(file->id));

    const auto forgotten = files->forget(file->id);

    if (!forgotten)  // a file system in memory: it has the file nowhere else
        CHECK(forgotten.error().number == EBUSY);
    REQUIRE(files->close(file->id));
}

TEST_CASE("many transfers in flight each complete once", "[disk]") {
    for (const std::string_view engine : all_engines()) {
        const auto files = open_engine(engine);
        if (!files)
            continue;
        INFO(engine);
        const DiskFolder folder;
        constexpr unsigned kDepth = 12;
        constexpr unsigned kBlocks = 300;
        const auto file = files->create_scratch(folder.path());
        REQUIRE(file);
        REQUIRE(files->allocate(file->id, 0, kBlocks * kFileBlock));
        const auto queue = files->make_queue(kDepth);
        const PageMemory memory(kBlocks * kFileBlock);
        std::vector<MemoryPiece> pieces;
        for (unsigned block = 0; block < kBlocks; ++block)
            pieces.push_back(memory.piece(block * kFileBlock, kFileBlock));
        const auto content = support::content_of(2, kBlocks * kFileBlock);
        for (const auto kind : {BlockTransfer::Kind::write, BlockTransfer::Kind::read}) {
            if (kind == BlockTransfer::Kind::write)
                std::memcpy(memory.data(), content.data(), content.size());
            else
                std::memset(memory.data(), 0, content.size());
            std::vector<int> ends(kBlocks);
            unsigned next = 0;
            unsigned in_flight = 0;
            while (next < kBlocks || in_flight > 0) {
                std::vector<BlockTransfer> batch;
                for (; next < kBlocks && in_flight < kDepth; ++next, ++in_flight)
                    batch.push_back({kind, file->id, next * kFileBlock,
                                     std::span(pieces).subspan(next, 1), next});
                queue->submit(batch);
                std::array<BlockCompletion, 5> done;
                const std::size_t count = queue->wait(done);
                for (std::size_t i = 0; i < count; ++i) {
                    CHECK(done[i].moved == kFileBlock);
                    ++ends.at(done[i].tag);
                }
                in_flight -= static_cast<unsigned>(count);
            }
            CHECK(ends == std::vector<int>(kBlocks, 1));
            CHECK(std::memcmp(memory.data(), content.data(), content.size()) == 0);
        }
        REQUIRE(files->close(file->id));
    }
}

TEST_CASE("transfers are made without a thread when the system has none", "[disk]") {
    const DiskFolder folder;
    const support::ThreadLimit limit(GENERATE(0, 1));
    const auto files = open_engine("posix");
    const auto queue = files->make_queue(2);
    const auto file = files->create_scratch(folder.path());
    REQUIRE(file);
    const PageMemory memory(kFileBlock);
    std::memset(memory.data(), 7, kFileBlock);
    const std::array pieces{memory.piece(0, kFileBlock)};
    CHECK(move(*queue, BlockTransfer::Kind::write, file->id, 0, pieces).moved == kFileBlock);
    CHECK(move(*queue, BlockTransfer::Kind::read, file->id, 0, pieces).moved == kFileBlock);
    CHECK(files->close(file->id));
}

TEST_CASE("a file system without right says so", "[disk]") {
    const auto files = open_engine("posix");
    CHECK(files->create_scratch("/proc/self").error().number != 0);
    CHECK_THAT(to_text(FileError{ENOSPC}), Catch::Contains("No space left on device (errno 28)"));
}

TEST_CASE("the engine that is taken says why it is not io_uring", "[disk]") {
    const auto automatic = open_disk_files();
    REQUIRE(automatic);
    const bool ring = automatic->files->name() == "io_uring";
    CHECK(automatic->note.empty() == ring);
    CHECK(open_disk_files(DiskEngine::io_uring).has_value() == ring);
    const auto posix = open_disk_files(DiskEngine::posix);
    REQUIRE(posix);
    CHECK(posix->files->name() == "posix");
    CHECK(posix->note.empty());
    CHECK(to_text(DiskEngine::io_uring) == "io_uring");
}

}  // namespace tidemark
