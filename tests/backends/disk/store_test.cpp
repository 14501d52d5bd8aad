// The disk store on a real disk: content, descriptors, and several threads.
#include <array>
#include <filesystem>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/backends/disk/engines.h"
#include "tests/support/disk_content.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;
using support::content_of;
using support::difference;

std::unique_ptr<DiskStore> open(BlockFiles& files, const DiskStoreOptions& options) {
    auto store = DiskStore::open(files, options);
    if (!store)
        FAIL(to_text(store.error()));
    return std::move(*store);
}

std::vector<std::string> two_folders(const DiskFolder& folder) {
    return {folder.make("a"), folder.make("b")};
}

}  // namespace

TEST_CASE("buffers on a real disk come back as they were (A-T29)", "[disk]") {
    for (const std::string_view engine : all_engines()) {
        const auto files = open_engine(engine);
        if (!files)
            continue;
        INFO(engine);
        const DiskFolder folder;
        const auto folders = two_folders(folder);
        DiskStoreOptions options = support::small_options(folders);
        options.chunk = 64_KiB;
        options.workers = 2;
        auto store = open(*files, options);
        for (const Bytes size : {Bytes{0}, Bytes{1}, Bytes{4096}, Bytes{4097}, Bytes{1'000'003}}) {
            const BufferId id{static_cast<std::uint32_t>(size)};
            REQUIRE(support::store(*store, id, content_of(size, size)));
            CHECK(difference(*store, id, content_of(size, size)) == "");
        }
        const PageMemory memory(2_MiB);  // moved without a copy
        const auto content = content_of(5, 2_MiB);
        std::copy(content.begin(), content.end(), memory.data());
        const std::array<std::span<const std::byte>, 1> sources{memory.span()};
        const std::array<std::span<std::byte>, 1> targets{memory.span()};
        REQUIRE(store->write(BufferId{9}, sources));
        std::fill(memory.data(), memory.data() + 2_MiB, std::byte{0});
        REQUIRE(store->read(BufferId{9}, targets));
        CHECK(std::equal(content.begin(), content.end(), memory.data()));
    }
}

TEST_CASE("no descriptor stays open, and no name is there at any time (defect 18)", "[disk]") {
    for (const std::string_view engine : all_engines()) {
        const auto files = open_engine(engine);
        if (!files)
            continue;
        INFO(engine);
        const DiskFolder folder;
        const auto folders = two_folders(folder);
        const std::size_t before = open_descriptors();
        {
            auto store = open(*files, support::small_options(folders));
            const std::size_t during = open_descriptors();
            CHECK(during >= before + 2);
            REQUIRE(support::store(*store, BufferId{1}, content_of(1, 100'000)));
            CHECK(store->begin_write(BufferId{2}, 50'000));  // and dropped
            CHECK(open_descriptors() <= during + 2);         // the worker's ring
            CHECK(fs::is_empty(folders[0]));  // so that a process that is killed leaves nothing
            CHECK(fs::is_empty(folders[1]));
            CHECK(difference(*store, BufferId{1}, content_of(1, 100'000)) == "");
        }
        CHECK(open_descriptors() == before);
    }
}

TEST_CASE("threads store and read at the same time (defect 19)", "[disk]") {
    for (const std::string_view engine : all_engines()) {
        const auto files = open_engine(engine);
        if (!files)
            continue;
        INFO(engine);
        const DiskFolder folder;
        DiskStoreOptions options = support::small_options(two_folders(folder));
        options.workers = 3;
        auto store = open(*files, options);
        std::array<std::string, 4> faults;
        std::vector<std::thread> threads;
        for (std::uint32_t thread = 0; thread < faults.size(); ++thread) {
            threads.emplace_back([&, thread] {
                Random random(thread);
                for (std::uint32_t round = 0; round < 20 && faults[thread].empty(); ++round) {
                    const BufferId id{thread * 100 + round % 3};
                    const auto content = content_of(random.next(), random.below(200'000));
                    if (const auto stored = support::store(*store, id, content); !stored)
                        faults[thread] = to_text(stored.error());
                    else
                        faults[thread] = difference(*store, id, content);
                    if (round % 5 == 4 && !store->erase(id))
                        faults[thread] = "not erased";
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        for (const std::string& fault : faults)
            CHECK(fault == "");
    }
}

}  // namespace tidemark
