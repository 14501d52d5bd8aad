// A kept history of which anything was changed is refused, or is what it was. And one whose
// checksums are right, but not its numbers, reads nothing that isn't there.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/random.h"
#include "replay/scenario/cache_folder.h"
#include "replay/scenario/history_store.h"
#include "replay/scenario/kept_file.h"
#include "replay/scenario/kept_fragmentation.h"
#include "replay/scenario/record_history.h"
#include "replay/timeline/history_columns.h"
#include "tests/support/history_digest.h"
#include "tests/support/own_cache.h"
#include "tests/support/test_folder.h"
#include "traces/open.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

using support::OwnCache;
using support::TestFolder;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeadSums = 20;  // bytes before the key: magic, checksum, format
const std::atomic<bool> kUncancelled = false;

// A history with its fragmentation in a cache of its own.
class Kept {
  public:
    explicit Kept(const std::string& source) {
        const std::string path = folder_.file("run.tmk");
        REQUIRE(import_trace(source, path));
        const auto trace = open_trace(path);
        REQUIRE(trace);
        const auto recorded = record_history(**trace, {.trace = path, .policy = "torch"});
        REQUIRE(recorded);
        const auto curve = FragmentationCurve::create(recorded->history);
        REQUIRE(curve);
        REQUIRE((*curve)->extend(kUncancelled));
        REQUIRE(keep_fragmentation(**curve, *recorded->history, kUncancelled));
        REQUIRE(cache_.entries().size() == 1);
        entry_ = cache_.entries().front();
        for (const auto& file : fs::directory_iterator(entry_))
            files_[file.path().filename().string()] = read(file.path());
        key_ = key_of(files_.at(kHeadFile));
    }

    static std::string read(const fs::path& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    static HistoryKey key_of(const std::string& head) {
        tmk::ByteReader reader(std::as_bytes(std::span(head)).subspan(kHeadSums));
        HistoryKey key;
        key.trace_hash = reader.get<std::uint64_t>();
        key.file_hash = reader.get<std::uint64_t>();
        key.scenario = std::string(reader.get_text());
        return key;
    }

    const std::map<std::string, std::string>& files() const { return files_; }

    fs::path file(const std::string& name) const { return entry_ / name; }

    void write(const std::string& name, const std::string& content) const {
        std::ofstream(file(name), std::ios::binary | std::ios::trunc) << content;
    }

    void restore(const std::string& name) const {
        fs::remove_all(file(name));
        write(name, files_.at(name));
        fs::permissions(file(name), fs::perms::owner_read | fs::perms::owner_write);
    }

    std::optional<KeptHistory> open() const { return HistoryStore::of_user()->open(key_); }

    // What a viewer finds; "" if it takes nothing from there.
    std::string digest() const {
        const auto kept = open();
        return kept ? support::history_digest(*kept->history, kept->run) : "";
    }

    std::string curve() const {
        const auto kept = open();
        REQUIRE(kept);
        const auto curve = open_fragmentation(kept->history, kUncancelled);
        std::string text;
        for (std::size_t i = 0; curve && i < curve->events(); ++i)
            text += std::to_string(curve->held(static_cast<EventIndex>(i))) + " ";
        return text;
    }

  private:
    OwnCache cache_;
    TestFolder folder_;
    fs::path entry_;
    std::map<std::string, std::string> files_;
    HistoryKey key_;
};

bool is_of_curve(const std::string& name) {
    return name.starts_with("held");
}

void put_number(Random& random, std::string& bytes) {
    constexpr std::uint32_t kNumbers[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
    const std::uint32_t value = kNumbers[random.below(std::size(kNumbers))];
    if (bytes.size() >= sizeof value)
        std::memcpy(bytes.data() + random.below(bytes.size() / sizeof value) * sizeof value, &value,
                    sizeof value);
}

// `bytes` with something changed; perhaps what was there already.
std::string mutant(Random& random, std::string bytes, const std::string& other) {
    const std::size_t at = bytes.empty() ? 0 : random.below(bytes.size());
    switch (random.below(7)) {
        case 0:
            if (!bytes.empty())
                bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
            return bytes;
        case 1:
            put_number(random, bytes);
            return bytes;
        case 2:  // a page that the disk lost
            std::memset(bytes.data() + at / kPage * kPage, 0,
                        std::min(kPage, bytes.size() - at / kPage * kPage));
            return bytes;
        case 3:
            return bytes.substr(0, at);
        case 4:
            return bytes + std::string(1 + random.below(kPage), '\0');
        case 5:
            return other;
        default: {  // two pages that changed places
            const std::size_t from = bytes.empty() ? 0 : random.below(bytes.size());
            for (std::size_t i = 0; i < 64 && std::max(at, from) + i < bytes.size(); ++i)
                std::swap(bytes[at + i], bytes[from + i]);
            return bytes;
        }
    }
}

// The head of these files, with its checksum and that of each column made right.
std::string sealed(const std::map<std::string, std::string>& files) {
    constexpr std::size_t kOfColumn = 16;  // bytes at the head's end: length and checksum
    std::string head = files.at(kHeadFile);
    std::vector<std::string> names;
    History::Columns columns;
    static_cast<void>(columns.for_each([&names](const char* name, auto&, std::size_t) {
        names.emplace_back(name);
        return Result<void>();
    }));
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string& bytes = files.at(names[i]);
        const std::array all{std::as_bytes(std::span(bytes))};
        const std::uint64_t numbers[2] = {bytes.size(), checksums_of(all)->front()};
        std::memcpy(head.data() + head.size() - (names.size() - i) * kOfColumn, numbers, kOfColumn);
    }
    const std::uint64_t sum = tmk::hash_bytes(std::as_bytes(std::span(head)).subspan(16));
    std::memcpy(head.data() + 8, &sum, sizeof sum);
    return head;
}

}  // namespace

TEST_CASE("a kept history that was changed is refused or the same", "[cache][mutants]") {
    const std::string source =
        GENERATE(as<std::string>{}, "generate:mix:events=9000", "generate:training:steps=2",
                 TIDEMARK_SOURCE_DIR "/traces/samples/torch/graphs.pickle.xz");
    const Kept kept(source);
    const std::string truth = kept.digest();
    const std::string curve = kept.curve();
    REQUIRE_FALSE(truth.empty());
    REQUIRE_FALSE(curve.empty());
    std::vector<std::string> names;
    for (const auto& [name, content] : kept.files())
        names.push_back(name);
    Random random(33);
    std::size_t refused = 0;
    for (const std::string& name : names) {
        const std::string& content = kept.files().at(name);
        for (int i = 0; i < 12; ++i) {
            INFO(source << " " << name << " " << i);
            const std::string changed =
                mutant(random, content, kept.files().at(names[random.below(names.size())]));
            kept.write(name, changed);
            if (is_of_curve(name)) {
                const std::string found = kept.curve();
                CHECK((found.empty() || found == curve));
                CHECK((found.empty() || changed == content));
                refused += found.empty() ? 1U : 0U;
            } else {
                const std::string found = kept.digest();
                CHECK((found.empty() || found == truth));
                CHECK((found.empty() || changed == content));
                refused += found.empty() ? 1U : 0U;
            }
            kept.restore(name);
        }
    }
    CHECK(refused > names.size() * 4);
    CHECK(kept.digest() == truth);
    CHECK(kept.curve() == curve);
}

TEST_CASE("what lies in place of a kept file and is none is refused", "[cache][mutants]") {
    const Kept kept("generate:mix:events=2000");
    const std::string truth = kept.digest();
    const std::string curve = kept.curve();
    for (const auto& [name, content] : kept.files()) {
        const TestFolder elsewhere;
        const std::string outside = elsewhere.write("outside", content);
        for (int kind = 0; kind < 5; ++kind) {
            INFO(name << " " << kind);
            fs::remove(kept.file(name));
            if (kind == 0)
                fs::create_symlink(outside, kept.file(name));
            else if (kind == 1)
                REQUIRE(::mkfifo(kept.file(name).c_str(), 0600) == 0);
            else if (kind == 2)
                fs::create_directory(kept.file(name));
            else if (kind == 3)
                fs::create_symlink(kept.file(name), kept.file(name));
            CHECK((is_of_curve(name) ? kept.curve() : kept.digest()).empty());
            kept.restore(name);
        }
        ::chmod(kept.file(name).c_str(), 0666);
        CHECK((is_of_curve(name) ? kept.curve() : kept.digest()).empty());
        kept.restore(name);
    }
    CHECK(kept.digest() == truth);
    CHECK(kept.curve() == curve);
}

// What a fault of ours could write: every checksum is right.
TEST_CASE("a kept history with wrong numbers and right checksums can be read", "[cache][mutants]") {
    const std::string source =
        GENERATE(as<std::string>{}, "generate:mix:events=2000", "generate:training:steps=1",
                 TIDEMARK_SOURCE_DIR "/traces/samples/torch/graphs.pickle.xz");
    const Kept kept(source);
    const std::string truth = kept.digest();
    kept.write(kHeadFile, sealed(kept.files()));
    REQUIRE(kept.digest() == truth);
    Random random(34);
    for (const auto& [name, content] : kept.files()) {
        if (is_of_curve(name) || name == kHeadFile || content.empty())
            continue;
        for (int i = 0; i < 12; ++i) {
            INFO(source << " " << name << " " << i);
            std::map<std::string, std::string> files = kept.files();
            put_number(random, files[name]);
            kept.write(name, files[name]);
            kept.write(kHeadFile, sealed(files));
            static_cast<void>(kept.digest());  // ends
            kept.restore(name);
        }
    }
}

}  // namespace tidemark
