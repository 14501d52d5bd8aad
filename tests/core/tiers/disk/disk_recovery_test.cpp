// A disk store after its process died: what is found, taken over, removed and left alone.
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/disk/disk_format.h"
#include "core/tiers/disk/disk_store.h"
#include "tests/support/disk_content.h"
#include "tests/support/memory_files.h"

namespace tidemark {
namespace {

using support::content_of;
using support::difference;
using support::FileCall;
using support::kOne;
using support::kTwo;
using support::MemoryFiles;
using support::small_options;
using support::Survival;

std::unique_ptr<DiskStore> open(MemoryFiles& files, const DiskStoreOptions& options) {
    auto store = DiskStore::open(files, options);
    if (!store)
        FAIL(to_text(store.error()));
    return std::move(*store);
}

DiskStoreOptions recovering(std::vector<std::string> directories) {
    DiskStoreOptions options = small_options(directories);
    options.leftovers = Leftovers::recover;
    return options;
}

// The state in which a store that was killed leaves its files.
void die(MemoryFiles& files, std::unique_ptr<DiskStore>& store,
         Survival survival = Survival::everything) {
    files.die_after(0);
    store.reset();
    files.restart(survival);
}

// A file of the store, and the only one.
std::string only_file(const MemoryFiles& files, const std::string& directory) {
    std::string found;
    for (const std::string& name : files.names(directory)) {
        if (parse_spill_name(name))
            found = directory + "/" + name;
    }
    return found;
}

struct Script {
    std::map<BufferId, std::uint64_t> sure;  // by seed; what was reported as written
    std::optional<std::pair<BufferId, std::uint64_t>> unsure;  // under way at the end
    bool erasing = false;                                      // `unsure` was to be erased
};

// Writes, overwrites and erases until the process dies. Every step that was reported counts.
Script run_until_death(DiskStore& store, std::uint64_t seed) {
    Random random(seed);
    Script script;
    for (std::uint64_t step = 1;; ++step) {
        const BufferId id{static_cast<std::uint32_t>(random.below(6))};
        const std::uint64_t content = seed * 1000 + step;
        if (random.below(4) != 0 || !script.sure.contains(id)) {
            const auto bytes = content_of(content, 1 + random.below(40'000));
            if (!support::store(store, id, bytes, content)) {
                script.unsure = {id, content};
                return script;
            }
            script.sure[id] = content;
        } else {
            if (!store.erase(id)) {
                script.unsure = {id, script.sure[id]};
                script.erasing = true;
                return script;
            }
            script.sure.erase(id);
        }
    }
}

// What is stored must be what was reported; for the operation under way, either outcome.
std::string compare(DiskStore& store, const Script& script) {
    for (std::uint32_t i = 0; i < 6; ++i) {
        const BufferId id{i};
        const bool open_end = script.unsure && script.unsure->first == id;
        const auto tag = store.tag(id);
        const auto sure = script.sure.find(id);
        const bool as_sure = sure == script.sure.end() ? !tag : tag == sure->second;
        const bool as_unsure = open_end && (script.erasing ? !tag : tag == script.unsure->second);
        if (!as_sure && !as_unsure)
            return "buffer " + std::to_string(i) + " has tag " + std::to_string(tag.value_or(0));
        if (tag && difference(store, id, content_of(*tag, *store.size(id))) != "")
            return "buffer " + std::to_string(i) + " has other content";
    }
    return {};
}

}  // namespace

TEST_CASE("a process killed at any call leaves what it had reported", "[tiers][disk]") {
    for (std::uint64_t n = 0; n < 160; ++n) {
        const auto directories = n % 2 == 0 ? std::vector<std::string>{"/a"}
                                            : std::vector<std::string>{"/a", "/b", "/c"};
        MemoryFiles files(kFileBlock, n);
        for (const std::string& directory : directories)
            files.add_directory(directory);
        auto store = open(files, small_options(directories));
        files.die_after(n);
        const Script script = run_until_death(*store, n);
        store.reset();
        files.restart(Survival::everything);
        INFO("killed at call " << n);

        auto next = open(files, recovering(directories));
        CHECK(compare(*next, script) == "");
        CHECK(next->usage().buffers == next->report().recovered.size());
        Bytes bytes = 0;
        for (const std::string& directory : directories)
            bytes += files.bytes_in(directory);
        CHECK(bytes == next->usage().used);
        CHECK(support::store(*next, kOne, content_of(1, 20'000)));
        die(files, next);

        auto last = open(files, small_options(directories));  // removes all
        CHECK(last->usage().used == 0);
        for (const std::string& directory : directories)
            CHECK(files.bytes_in(directory) == 0);
    }
}

TEST_CASE("what was synced survives the loss of power", "[tiers][disk]") {
    const Survival survival = GENERATE(Survival::synced, Survival::random);
    for (std::uint64_t n = 0; n < 100; ++n) {
        const std::vector<std::string> directories{"/a", "/b"};
        MemoryFiles files(kFileBlock, n);
        for (const std::string& directory : directories)
            files.add_directory(directory);
        DiskStoreOptions options = recovering(directories);
        options.sync = SyncPolicy::data;
        auto store = open(files, options);
        std::map<BufferId, std::vector<std::byte>> stored;
        files.die_after(n);
        for (std::uint32_t id = 0;; ++id) {  // each once: a removal is not synced
            auto content = content_of(id, 5000 + 3000 * id);
            if (!support::store(*store, BufferId{id}, content))
                break;
            stored[BufferId{id}] = std::move(content);
        }
        store.reset();
        files.restart(survival);
        auto next = open(files, options);
        INFO("power lost at call " << n);
        for (const auto& [id, content] : stored)
            CHECK(difference(*next, id, content) == "");
        CHECK(next->usage().buffers <= stored.size() + 1);  // the last may have got through
    }
}

TEST_CASE("what was not synced is recognised when power was lost", "[tiers][disk]") {
    std::uint64_t torn = 0;
    std::uint64_t whole = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        MemoryFiles files(kFileBlock, seed);
        files.add_directory("/a");
        files.add_directory("/b");
        auto store = open(files, small_options({"/a", "/b"}));
        for (std::uint32_t id = 0; id < 4; ++id)
            REQUIRE(support::store(*store, BufferId{id}, content_of(id, 1000 + 5000 * id)));
        die(files, store, Survival::random);
        auto next = open(files, recovering({"/a", "/b"}));
        for (const RecoveredBuffer& buffer : next->report().recovered) {
            const std::uint64_t id = to_integer(buffer.id);
            CHECK(difference(*next, buffer.id, content_of(id, 1000 + 5000 * id)) == "");
            ++whole;
        }
        for (const DirectoryReport& report : next->report().directories)
            torn += report.faults.size();
        CHECK(files.bytes_in("/a") + files.bytes_in("/b") == next->usage().used);
    }
    CHECK(torn > 50);
    CHECK(whole > 5);
}

TEST_CASE("a file torn or cut anywhere is recognised", "[tiers][disk][one-thread]") {
    MemoryFiles files;
    files.add_directory("/a");
    DiskStoreOptions options = recovering({"/a"});
    options.chunk = kFileBlock;
    options.keep_at_close = true;
    const auto content = content_of(1, 600 * kFileBlock + 100);  // a head of two blocks
    auto store = open(files, options);
    REQUIRE(support::store(*store, kOne, content));
    store.reset();
    const std::string path = only_file(files, "/a");
    const auto whole = files.content(path);
    const Bytes head = 2 * kFileBlock;
    REQUIRE(whole.size() == head + 601 * kFileBlock);

    std::vector<std::size_t> locations;  // the head's fields, and around every kind of border
    for (std::size_t at = 0; at <= 96; ++at)
        locations.push_back(at);
    for (const Bytes at : {Bytes{4095}, Bytes{4096}, Bytes{4097}, Bytes{4888}, head - 1, head,
                           head + 1, head + 4095, head + 4096, head + 4097, head + 300 * kFileBlock,
                           head + 600 * kFileBlock + 50, head + 601 * kFileBlock - 1})
        locations.push_back(at);
    const auto opens_without = [&](std::vector<std::byte> changed) {
        files.put(path, std::move(changed));
        auto next = open(files, options);
        const DirectoryReport& report = next->report().directories[0];
        return !next->contains(kOne) && report.removed_files == 1 && report.faults.size() == 1 &&
               only_file(files, "/a").empty();
    };
    const Bytes padding = head + 600 * kFileBlock + 100;  // from here on zeros
    for (const std::size_t at : locations) {
        INFO("at " << at);
        const auto cut = whole.begin() + static_cast<std::ptrdiff_t>(at);
        CHECK(opens_without({whole.begin(), cut}));
        if (at < padding) {
            std::vector<std::byte> zeros(whole.begin(), cut);  // not written from there on
            zeros.resize(whole.size());
            CHECK(opens_without(zeros));
            std::vector<std::byte> tail(at + 1);  // not written up to there
            tail.insert(tail.end(), cut + 1, whole.end());
            CHECK(opens_without(tail));
        }
    }
    std::vector<std::byte> longer = whole;
    longer.push_back(std::byte{0});
    CHECK(opens_without(longer));
    files.put(path, whole);
    auto last = open(files, options);
    CHECK(difference(*last, kOne, content) == "");
}

TEST_CASE("leftovers are removed unless they are wanted", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    files.add_directory("/b");
    const auto content = content_of(1, 100'000);
    auto store = open(files, small_options({"/a", "/b"}));
    REQUIRE(support::store(*store, kOne, content, 42));
    const Bytes used = store->usage().used;
    die(files, store);
    SECTION("clean") {
        auto next = open(files, small_options({"/a", "/b"}));
        CHECK(next->usage().buffers == 0);
        const auto& reports = next->report().directories;
        CHECK(reports[0].removed_files + reports[1].removed_files == 2);
        CHECK(reports[0].removed_bytes + reports[1].removed_bytes == used);
        CHECK(reports[0].faults.empty());
    }
    SECTION("recover") {
        DiskStoreOptions options = recovering({"/b/", "/a"});  // in another order
        options.chunk = 16 * kFileBlock;                       // and with other chunks
        options.quota = used / 2;                              // and too small a quota
        auto next = open(files, options);
        CHECK(next->report().recovered == std::vector<RecoveredBuffer>{{kOne, content.size(), 42}});
        CHECK(next->usage().used == used);
        CHECK(difference(*next, kOne, content) == "");
        CHECK(support::store(*next, kTwo, content_of(2, 10)).error().code == ErrorCode::no_space);
        REQUIRE(next->erase(kOne));
        CHECK(next->usage().used == 0);
        CHECK(support::store(*next, kTwo, content_of(2, 10)));
    }
}

TEST_CASE("files of others are not touched", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    const std::vector<std::string> others{"core", "tidemark-1-0.spill", "tidemark.spill",
                                          "tidemark-00000000000000000-0000.spill",
                                          "xtidemark-0000000000000000-0000.spill"};
    for (const std::string& other : others)
        files.put("/a/" + other, content_of(1, 100));
    for (const Leftovers leftovers : {Leftovers::clean, Leftovers::recover}) {
        DiskStoreOptions options = small_options({"/a"});
        options.leftovers = leftovers;
        auto store = open(files, options);
        REQUIRE(support::store(*store, kOne, content_of(2, 100)));
        CHECK(store->report().directories[0].removed_files == 0);
        store.reset();
        for (const std::string& other : others)
            CHECK(files.content("/a/" + other) == content_of(1, 100));
    }
}

TEST_CASE("two live stores do not share a directory", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    files.add_directory("/b");
    auto first = open(files, small_options({"/a"}));
    REQUIRE(support::store(*first, kOne, content_of(1, 1000)));
    const auto refused = DiskStore::open(files, small_options({"/a"}));
    REQUIRE_FALSE(refused);
    CHECK_THAT(to_text(refused.error()), Catch::Contains("in use by another store"));
    auto second = open(files, small_options({"/a", "/b"}));
    REQUIRE(second->report().directories[0].error);
    CHECK_FALSE(second->directories()[0].usable);
    REQUIRE(support::store(*second, kOne, content_of(2, 50'000)));
    CHECK(difference(*first, kOne, content_of(1, 1000)) == "");
    CHECK(difference(*second, kOne, content_of(2, 50'000)) == "");
    first.reset();
    CHECK(DiskStore::open(files, small_options({"/a"})));
}

TEST_CASE("a buffer whose other files cannot be looked at is left alone", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    files.add_directory("/b");
    const auto content = content_of(1, 100'000);
    auto store = open(files, small_options({"/a", "/b"}));
    REQUIRE(support::store(*store, kOne, content));
    die(files, store);
    files.set_script([](FileCall call, const std::string& path, std::uint64_t) {
        return call == FileCall::lock && path.starts_with("/b") ? EACCES : 0;
    });
    auto half = open(files, recovering({"/a", "/b"}));
    CHECK(half->report().recovered.empty());
    REQUIRE(half->report().incomplete.size() == 1);
    CHECK(half->report().incomplete[0] == RecoveredBuffer{kOne, content.size(), 0});
    CHECK(half->usage().used == files.bytes_in("/a"));
    CHECK(support::store(*half, kTwo, content_of(2, 1000)));
    half.reset();
    files.set_script(nullptr);
    SECTION("until they can") {
        auto next = open(files, recovering({"/a", "/b"}));
        CHECK(difference(*next, kOne, content) == "");
    }
    SECTION("until every directory is there, and still not they") {
        auto next = open(files, recovering({"/a"}));
        CHECK(next->report().incomplete.empty());
        CHECK(next->report().directories[0].removed_files == 1);
        CHECK(files.bytes_in("/a") == 0);
    }
}

TEST_CASE("a file that cannot be read now, or is of a later version, is left alone",
          "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    const auto content = content_of(1, 30'000);
    auto store = open(files, small_options({"/a"}));
    REQUIRE(support::store(*store, kOne, content));
    die(files, store);
    const std::string path = only_file(files, "/a");
    SECTION("an error of the disk") {
        std::uint64_t reads = 0;
        const std::uint64_t which = GENERATE(1U, 3U, 5U);  // the head, twice; its chunks
        files.set_script([&](FileCall call, const std::string&, std::uint64_t) {
            return call == FileCall::read && ++reads >= which ? EIO : 0;
        });
        auto next = open(files, recovering({"/a"}));
        CHECK(next->report().recovered.empty());
        CHECK(next->report().directories[0].faults.size() == 1);
        CHECK(next->usage().used == files.bytes_in("/a"));
        next.reset();
        files.set_script(nullptr);
        CHECK(difference(*open(files, recovering({"/a"})), kOne, content) == "");
    }
    SECTION("a later version") {
        auto later = files.content(path);
        later[16] = std::byte{2};
        files.put(path, later);
        auto next = open(files, recovering({"/a"}));
        CHECK(next->report().directories[0].faults.at(0).code == ErrorCode::unsupported);
        CHECK(only_file(files, "/a") == path);
    }
}

TEST_CASE("of two writes of a buffer the later one is recovered", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    auto store = open(files, small_options({"/a"}));
    REQUIRE(support::store(*store, kOne, content_of(1, 5000), 1));
    files.set_script([](FileCall call, const std::string&, std::uint64_t) {
        return call == FileCall::remove ? EIO : 0;
    });
    REQUIRE(support::store(*store, kOne, content_of(2, 9000), 2));
    die(files, store);
    auto next = open(files, recovering({"/a"}));
    CHECK(next->report().recovered == std::vector<RecoveredBuffer>{{kOne, 9000, 2}});
    CHECK(next->report().directories[0].removed_files == 1);
    CHECK(files.bytes_in("/a") == next->usage().used);
    REQUIRE(support::store(*next, kOne, content_of(3, 100), 3));  // later again
    die(files, next);
    CHECK(open(files, recovering({"/a"}))->tag(kOne) == 3);
}

}  // namespace tidemark
