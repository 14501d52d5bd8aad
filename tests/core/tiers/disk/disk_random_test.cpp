// Random operations on a disk store over files that fail at random: what was reported as stored is
// there, byte for byte, and space is counted exactly.
#include <array>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/disk/disk_store.h"
#include "tests/support/disk_content.h"
#include "tests/support/memory_files.h"

namespace tidemark {
namespace {

using support::content_of;
using support::FileCall;
using support::MemoryFiles;

struct Written {
    std::uint64_t seed = 0;
    Bytes size = 0;
};

struct DiskTally {
    std::uint64_t stored = 0;
    std::uint64_t refused = 0;
    std::uint64_t read = 0;
};

class RandomRun {
  public:
    explicit RandomRun(std::uint64_t seed)
        : random_(seed), chance_(seed + 1), files_(kFileBlock, seed + 2) {
        options_ = support::small_options({"/a", "/b", "/c"});
        for (const std::string& directory : options_.directories)
            files_.add_directory(directory, 310'000);
        options_.workers = 2;
        auto store = DiskStore::open(files_, options_);
        REQUIRE(store);
        store_ = std::move(*store);
    }

    // "" or what went wrong.
    std::string step() {
        const std::uint64_t kind = random_.below(100);
        const BufferId id{static_cast<std::uint32_t>(random_.below(12))};
        if (kind < 3) {
            toggle_faults();
            return {};
        }
        if (kind < 45)
            return write(id, kind % 2 == 0);
        if (kind < 85)
            return read(id);
        return erase(id);
    }

    // All that is known, without faults.
    std::string check() {
        files_.set_script(nullptr);
        faults_ = false;
        for (const auto& [id, known] : known_) {
            if (std::string what = support::difference(*store_, id, content(known)); !what.empty())
                return "at the end: " + what;
        }
        Bytes bytes = 0;
        for (const std::string& directory : options_.directories)
            bytes += files_.bytes_in(directory);
        return bytes == store_->usage().used ? "" : "the space is wrong";
    }

    const DiskTally& tally() const { return tally_; }

  private:
    static std::vector<std::byte> content(const Written& known) {
        return content_of(known.seed, known.size);
    }

    void toggle_faults() {
        faults_ = !faults_;
        if (!faults_)
            return files_.set_script(nullptr);
        const bool bad = random_.below(4) == 0;  // a directory that does nothing right
        files_.set_script([this, bad](FileCall call, const std::string& path, std::uint64_t) {
            if (call == FileCall::release)
                return 0;
            if (bad && path == "/b")
                return EIO;
            return chance_.below(60) == 0 ? (chance_.below(2) == 0 ? EIO : ENOSPC) : 0;
        });
        files_.set_short(static_cast<unsigned>(2 + random_.below(5)));
        files_.set_interrupted(static_cast<unsigned>(2 + random_.below(5)));
    }

    std::string write(BufferId id, bool in_parts) {
        const Written known{random_.next(), random_.below(60'000)};
        const auto bytes = content(known);
        const auto stored = in_parts ? write_parts(id, bytes) : support::store(*store_, id, bytes);
        if (stored) {
            known_[id] = known;
            ++tally_.stored;
        } else {
            ++tally_.refused;
        }
        return {};
    }

    Result<void> write_parts(BufferId id, const std::vector<std::byte>& bytes) {
        TM_ASSIGN(const DiskWriter writer, store_->begin_write(id, bytes.size()));
        std::vector<DiskTicket> tickets;
        for (Bytes at = 0; at < bytes.size(); at += 2 * options_.chunk) {
            const std::array<std::span<const std::byte>, 1> source{
                std::span(bytes).subspan(at, std::min(2 * options_.chunk, bytes.size() - at))};
            tickets.push_back(store_->write_part(writer, at, source));
        }
        for (const DiskTicket& ticket : tickets)
            (void)ticket.wait();
        return store_->commit(writer);
    }

    std::string read(BufferId id) {
        const auto known = known_.find(id);
        if (store_->size(id).has_value() != (known != known_.end()))
            return "another buffer than was stored";
        if (known == known_.end())
            return {};
        const auto whole = content(known->second);
        const Bytes from = random_.below(whole.size() + 1);
        std::vector<std::byte> part(random_.below(whole.size() - from + 1));
        const std::array<std::span<std::byte>, 1> targets{part};
        const auto done = store_->read(id, targets, from);
        if (!done)
            return faults_ ? "" : "cannot be read: " + to_text(done.error());
        ++tally_.read;
        const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(from);
        return std::equal(part.begin(), part.end(), begin) ? "" : "other content";
    }

    std::string erase(BufferId id) {
        const auto erased = store_->erase(id);
        if (!erased && known_.contains(id))
            return "cannot be erased: " + to_text(erased.error());
        known_.erase(id);
        return {};
    }

    Random random_;
    Random chance_;  // of the script, which is asked by workers
    MemoryFiles files_;
    DiskStoreOptions options_;
    std::unique_ptr<DiskStore> store_;
    std::map<BufferId, Written> known_;
    bool faults_ = false;
    DiskTally tally_;
};

// Adds to `sum`.
std::string run(std::uint64_t seed, std::uint64_t steps, DiskTally& sum) {
    RandomRun run(seed);
    for (std::uint64_t step = 0; step < steps; ++step) {
        if (std::string what = run.step(); !what.empty())
            return "seed " + std::to_string(seed) + ", step " + std::to_string(step) + ": " + what;
    }
    sum.stored += run.tally().stored;
    sum.refused += run.tally().refused;
    sum.read += run.tally().read;
    return run.check();
}

}  // namespace

TEST_CASE("random operations with random failures lose nothing", "[tiers][disk]") {
    DiskTally sum;
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        CHECK(run(seed, 400, sum) == "");
    CHECK(sum.stored > 100);
    CHECK(sum.refused > 5);
    CHECK(sum.read > 100);
}

TEST_CASE("a hundred thousand random operations lose nothing", "[.long][tiers][disk]") {
    DiskTally sum;
    for (std::uint64_t seed = 1; seed <= 50; ++seed)
        CHECK(run(seed, 2000, sum) == "");
    WARN(sum.stored << " stored, " << sum.refused << " refused, " << sum.read << " read");
}

}  // namespace tidemark
