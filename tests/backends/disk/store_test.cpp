// The disk store on a real disk: content, descriptors, several threads, and kill -9.
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "core/tiers/disk/disk_format.h"
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

Bytes bytes_in(const std::vector<std::string>& folders) {
    Bytes sum = 0;
    for (const std::string& path : folders) {
        for (const auto& entry : fs::directory_iterator(path))
            sum += entry.file_size();
    }
    return sum;
}

// What the child of the kill test says through its pipe.
struct Said {
    std::uint32_t id = 0;
    std::uint32_t what = 0;  // 0: writes it, 1: erases it, 2: that is done
    std::uint64_t content = 0;
    Bytes size = 0;
};

void say(int pipe, const Said& said) {
    if (::write(pipe, &said, sizeof said) != sizeof said)
        _exit(3);
}

// The child: writes, overwrites and erases until it is killed.
[[noreturn]] void spill_for_ever(std::string_view engine, const DiskStoreOptions& options,
                                 std::uint64_t seed, int pipe) {
    const auto files = open_engine(engine);
    auto store = DiskStore::open(*files, options);
    if (!store)
        _exit(2);
    Random random(seed);
    for (std::uint64_t step = 1;; ++step) {
        Said said{static_cast<std::uint32_t>(random.below(8)), 0, seed * 100'000 + step,
                  1 + random.below(300'000)};
        const BufferId id{said.id};
        if (random.below(4) == 0 && (*store)->contains(id))
            said.what = 1;
        say(pipe, said);
        const bool well =
            said.what == 1
                ? (*store)->erase(id).has_value()
                : support::store(**store, id, content_of(said.content, said.size), said.content)
                      .has_value();
        if (!well)
            _exit(4);
        said.what = 2;
        say(pipe, said);
    }
}

// What a child had said when it was gone.
struct Testament {
    std::map<std::uint32_t, Said> stored;  // by id
    std::optional<Said> under_way;
    std::size_t operations = 0;
};

void take_down(Testament& testament, const Said& said) {
    if (said.what != 2) {
        testament.under_way = said;
        return;
    }
    if (testament.under_way->what == 1)
        testament.stored.erase(said.id);
    else
        testament.stored[said.id] = said;
    testament.under_way.reset();
    ++testament.operations;
}

// Lets a child spill, and kills it after so many reports of its and a moment more.
Testament kill_a_child(std::string_view engine, const DiskStoreOptions& options, Random& random) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const std::uint64_t seed = random.below(1'000'000);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::close(ends[0]);
        spill_for_ever(engine, options, seed, ends[1]);
    }
    ::close(ends[1]);
    Testament testament;
    Said said;
    for (std::uint64_t reports = 1 + random.below(60); reports > 0; --reports) {
        if (::read(ends[0], &said, sizeof said) != sizeof said)
            break;
        take_down(testament, said);
    }
    const Stopwatch moment;
    const auto wait = static_cast<Nanoseconds>(random.below(2'000'000));
    while (moment.elapsed() < wait) {
    }
    REQUIRE(kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));  // else it ended by itself: _exit says why
    while (::read(ends[0], &said, sizeof said) == sizeof said)
        take_down(testament, said);
    ::close(ends[0]);
    return testament;
}

// "" if a store that was opened again has what the child had said.
std::string compare(DiskStore& store, const Testament& testament) {
    for (std::uint32_t i = 0; i < 8; ++i) {
        const auto tag = store.tag(BufferId{i});
        const auto said = testament.stored.find(i);
        const bool as_said = said == testament.stored.end() ? !tag : tag == said->second.content;
        const auto& last = testament.under_way;
        const bool as_begun =
            last && last->id == i && (last->what == 1 ? !tag : tag == last->content);
        if (!as_said && !as_begun)
            return "buffer " + std::to_string(i) + " has tag " + std::to_string(tag.value_or(0));
        if (!tag)
            continue;
        const Bytes size = as_said ? said->second.size : last->size;
        if (std::string what = difference(store, BufferId{i}, content_of(*tag, size));
            !what.empty())
            return "buffer " + std::to_string(i) + ": " + what;
    }
    return {};
}

// Opens what a dead child left: takes it over, then cleans up. The files that were torn.
std::size_t look_after(std::string_view engine, DiskStoreOptions options,
                       const Testament& testament) {
    const std::vector<std::string> folders{options.directories[0].path,
                                           options.directories[1].path};
    const auto files = open_engine(engine);
    options.leftovers = Leftovers::recover;
    options.keep_at_close = true;
    std::size_t torn = 0;
    {
        auto store = open(*files, options);
        CHECK(compare(*store, testament) == "");
        CHECK(bytes_in(folders) == store->usage().used);
        for (const DirectoryReport& report : store->report().directories)
            torn += report.removed_files;
    }
    const Bytes kept = bytes_in(folders);
    options.leftovers = Leftovers::clean;
    auto store = open(*files, options);
    Bytes removed = 0;
    for (const DirectoryReport& report : store->report().directories)
        removed += report.removed_bytes;
    CHECK(removed == kept);
    CHECK(bytes_in(folders) == 0);
    return torn;
}

// Kills a child so often, with each engine; how many operations they did, and files they left torn.
std::pair<std::size_t, std::size_t> kill_children(int rounds) {
    Random random(6);
    std::size_t operations = 0;
    std::size_t torn = 0;
    for (const std::string_view engine : all_engines()) {
        if (!open_engine(engine))
            continue;
        for (int round = 0; round < rounds; ++round) {
            INFO(engine << ", round " << round);
            const DiskFolder folder;
            const auto folders = two_folders(folder);
            DiskStoreOptions options = support::small_options(folders);
            options.chunk = 32_KiB;
            const Testament testament = kill_a_child(engine, options, random);
            operations += testament.operations;
            torn += look_after(engine, options, testament);
        }
    }
    return {operations, torn};
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
        options.sync = engine == "posix" ? SyncPolicy::data : SyncPolicy::none;
        auto store = open(*files, options);
        for (const Bytes size : {Bytes{0}, Bytes{1}, Bytes{4096}, Bytes{4097}, Bytes{1'000'003}}) {
            const BufferId id{static_cast<std::uint32_t>(size)};
            REQUIRE(support::store(*store, id, content_of(size, size)));
            CHECK(difference(*store, id, content_of(size, size)) == "");
        }
        CHECK(bytes_in(folders) == store->usage().used);
        const PageMemory memory(2_MiB);  // moved without a copy
        const auto content = content_of(5, 2_MiB);
        std::copy(content.begin(), content.end(), memory.data());
        const std::array<std::span<const std::byte>, 1> sources{memory.span()};
        const std::array<std::span<std::byte>, 1> targets{memory.span()};
        REQUIRE(store->write(BufferId{9}, sources));
        std::fill(memory.data(), memory.data() + 2_MiB, std::byte{0});
        REQUIRE(store->read(BufferId{9}, targets));
        CHECK(std::equal(content.begin(), content.end(), memory.data()));
        store.reset();
        CHECK(bytes_in(folders) == 0);
    }
}

TEST_CASE("no descriptor stays open whatever fails (defect 18)", "[disk]") {
    for (const std::string_view engine : all_engines()) {
        const auto files = open_engine(engine);
        if (!files)
            continue;
        INFO(engine);
        const DiskFolder folder;
        const auto folders = two_folders(folder);
        const std::size_t before = open_descriptors();
        {
            DiskStoreOptions options = support::small_options(folders);
            auto store = open(*files, options);
            REQUIRE(support::store(*store, BufferId{1}, content_of(1, 100'000)));
            const std::size_t during = open_descriptors();
            fs::path damaged;
            for (const auto& entry : fs::directory_iterator(folders[0])) {
                if (parse_spill_name(entry.path().filename().string()))
                    damaged = entry.path();
            }
            fs::resize_file(damaged, 20'000);
            for (std::uint32_t round = 0; round < 20; ++round) {
                CHECK_FALSE(support::load(*store, BufferId{1}));
                auto writer = store->begin_write(BufferId{2}, 50'000);
                CHECK(writer);  // and dropped
            }
            fs::remove_all(folders[0]);
            for (std::uint32_t round = 0; round < 20; ++round)
                CHECK(support::store(*store, BufferId{3}, content_of(3, 100'000)));
            CHECK(store->directories()[0].failed_writes == 1);
            CHECK(difference(*store, BufferId{3}, content_of(3, 100'000)) == "");
            fs::remove_all(folders[1]);
            for (std::uint32_t round = 0; round < 20; ++round)
                CHECK_FALSE(support::store(*store, BufferId{4}, content_of(3, 100'000)));
            CHECK(open_descriptors() == during);
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

TEST_CASE("a process killed while it spills leaves what it had reported", "[disk]") {
    CHECK(kill_children(3).first > 20);
}

TEST_CASE("a hundred processes killed while they spill leave what they had reported",
          "[.long][disk]") {
    const auto [operations, torn] = kill_children(100);
    WARN(operations << " operations reported, " << torn << " files left torn");
    CHECK(torn > 10);
}

}  // namespace tidemark
