// A process at two levels, as its two recordings would tell of it.
#include "replay/analysis/join/join.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"
#include "tests/support/text.h"
#include "traces/live/wire.h"
#include "traces/model/trace.h"

using namespace tidemark;
using live::Record;
using live::RecordKind;

namespace {

constexpr std::uint64_t kMicrosecond = 1000;
constexpr std::uint64_t kPhysical = std::uint64_t{1} << 62U;

// A recording, record by record.
class Written {
  public:
    Written(std::uint64_t session, Nanoseconds start, std::vector<std::string> devices) {
        header_.magic = live::kRecordingMagic;
        header_.session = session;
        header_.segment = 1;
        header_.process = 77;
        header_.process_start = 4711;
        header_.start_time = start;
        header_.devices = static_cast<std::uint32_t>(devices.size());
        for (std::size_t i = 0; i < devices.size(); ++i)
            live::put_text(header_.device.at(i).name, devices[i]);
    }

    live::Header& header() { return header_; }

    void put(std::uint64_t microsecond, RecordKind kind, std::uint64_t address, std::uint64_t size,
             const std::string& tag = "", std::uint64_t extra = 0, std::uint8_t device = 0) {
        records_.push_back({.sequence = sequence_++,
                            .time = microsecond * kMicrosecond,
                            .address = address,
                            .size = size,
                            .extra = extra,
                            .site = site(tag, 0),
                            .kind = kind,
                            .device = device});
    }

    void setting(const std::string& key, const std::string& value) {
        const std::uint32_t named = site(key, 0);
        names_.push_back({.address = named, .size = site(value, 0), .kind = RecordKind::setting});
    }

    void in_pool(std::uint32_t pool) { records_.back().site = site("", pool); }

    std::string save(const support::TestFolder& folder, const std::string& name) {
        std::vector<Record> slots = names_;
        slots.insert(slots.end(), records_.begin(), records_.end());
        live::seal(header_);
        live::Chunk chunk{.first_sequence = header_.first_sequence,
                          .next_sequence = header_.first_sequence + sequence_};
        live::seal(chunk, slots);
        std::string bytes(reinterpret_cast<const char*>(&header_), sizeof header_);
        bytes.append(reinterpret_cast<const char*>(&chunk), sizeof chunk);
        bytes.append(reinterpret_cast<const char*>(slots.data()), slots.size() * sizeof(Record));
        return folder.write(name, bytes);
    }

  private:
    std::uint32_t site(const std::string& tag, std::uint32_t pool) {
        const auto [known, is_new] =
            sites_.try_emplace({tag, pool}, static_cast<std::uint32_t>(sites_.size() + 1));
        if (is_new) {
            const std::uint32_t id = known->second;
            Record text;
            names_.push_back({.size = tag.size(), .site = id, .kind = RecordKind::string});
            if (!tag.empty()) {
                std::memcpy(&text, tag.data(), tag.size());
                names_.push_back(text);
            }
            names_.push_back({.address = id, .extra = pool, .site = id, .kind = RecordKind::site});
        }
        return known->second;
    }

    live::Header header_;
    std::uint64_t sequence_ = 0;
    std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> sites_;
    std::vector<Record> names_;
    std::vector<Record> records_;
};

// PyTorch begins to tell a second after the driver's recorder.
struct Process : support::TestFolder {
    Written driver{1, 5'000'000'000, {"H200", "H200", std::string(kHostMemory)}};
    Written torch{2, 6'000'000'000, {"H200", "H200"}};

    static constexpr std::uint64_t kLater = 1'000'000;  // microseconds

    RecordingJoin join() {
        auto join =
            join_recordings(driver.save(*this, "driver.tml"), torch.save(*this, "torch.tml"));
        INFO((join ? "" : to_text(join.error())));
        REQUIRE(join);
        return std::move(*join);
    }
};

using Holders = std::map<std::string, std::pair<Bytes, Bytes>>;

Holders holders_of(const RecordingJoin& join) {
    Holders holders;
    for (const MemoryHolder& each : join.holders)
        holders[(each.is_framework ? "torch " : "others ") + each.call + " " +
                std::to_string(each.device)] = {each.bytes[0], each.bytes[1]};
    return holders;
}

}  // namespace

TEST_CASE("a join finds PyTorch's segments by address and time, and who holds the rest",
          "[analysis][join]") {
    Process process;
    Written& driver = process.driver;
    Written& torch = process.torch;
    // One address, three times: a library's, then PyTorch's, then, sooner than clocks agree, again.
    driver.put(10, RecordKind::allocate, 0x1000, 4096, "cuMemAlloc");
    driver.put(20, RecordKind::free, 0x1000, 4096);
    driver.put(Process::kLater + 100, RecordKind::allocate, 0x1000, 4096, "cuMemAlloc");
    torch.put(90, RecordKind::segment_alloc, 0x1000, 4096);
    torch.put(200, RecordKind::segment_free, 0x1000, 4096);
    driver.put(Process::kLater + 205, RecordKind::free, 0x1000, 4096);
    driver.put(Process::kLater + 220, RecordKind::allocate, 0x1000, 4096, "cuMemAlloc");
    torch.put(230, RecordKind::segment_alloc, 0x1000, 4096);
    driver.put(Process::kLater + 300, RecordKind::allocate, 0x8000, 512, "cuMemAllocAsync");
    driver.put(Process::kLater + 300, RecordKind::allocate, 0x9000, 256, "cuMemHostAlloc", 0, 2);
    driver.put(Process::kLater + 310, RecordKind::allocate, 0xa000, 2048, "cuMemAlloc", 0, 1);
    torch.put(320, RecordKind::segment_alloc, 0xa000, 2048, "", 0, 1);
    driver.put(Process::kLater + 400, RecordKind::free, 0x8000, 512);
    driver.put(Process::kLater + 500, RecordKind::allocate, 0x8000, 1024, "cuMemAllocManaged");
    driver.put(Process::kLater + 900, RecordKind::end, 0, 0);
    torch.put(800, RecordKind::end, 0, 0);

    const RecordingJoin join = process.join();
    CHECK(join.process == 77);
    CHECK(join.segments == 3);
    CHECK(join.matched == 3);
    CHECK(join.unmatched.empty());
    CHECK(join.undecided == 0);
    CHECK(join.peaks == std::array<Nanoseconds, 2>{1'000'310'000, 1'000'500'000});
    CHECK(holders_of(join) == Holders{{"torch cuMemAlloc 0", {4096, 4096}},
                                      {"torch cuMemAlloc 1", {2048, 2048}},
                                      {"others cuMemAllocAsync 0", {512, 0}},
                                      {"others cuMemAllocManaged 0", {0, 1024}},
                                      {"others cuMemHostAlloc 2", {256, 256}}});
    CHECK(join.outside(0) == 512);
    CHECK(join.outside(1) == 1024);
}

TEST_CASE("a join accounts for the whole card at the end", "[analysis][join]") {
    Process process;
    process.driver.put(10, RecordKind::allocate, 0x1000, 4096, "cuMemAlloc");
    process.driver.put(20, RecordKind::allocate, 0x8000, 512, "cuMemCreate");
    process.driver.put(30, RecordKind::allocate, 0x9000, 256, "cuMemHostAlloc", 0, 2);
    process.driver.put(40, RecordKind::allocate, 0xa000, 1024, "cuMemAlloc", 0, 1);
    process.driver.put(50, RecordKind::allocate, 0xb000, 64, "cuMemAlloc");
    process.driver.put(60, RecordKind::free, 0xb000, 64);
    process.torch.put(90, RecordKind::segment_alloc, 0x1000, 4096);
    process.torch.put(800, RecordKind::end, 0, 0);
    // The context's end frees everything later.
    process.driver.put(Process::kLater + 900, RecordKind::free, 0x1000, 4096);

    CHECK(process.join().cards.empty());
    process.torch.setting("device 0 bytes used at the end", "10000");
    process.torch.setting("device 1 bytes used at the end", "1000");  // less than is allocated
    process.torch.setting("device 9 bytes used at the end", "10000");
    process.torch.setting("device 0x bytes used at the end", "10000");
    process.torch.setting("device 1 bytes used at the end ", "2000");
    const std::vector<CardAccount> cards = process.join().cards;
    REQUIRE(cards.size() == 2);
    CHECK(cards[0].used == 10000);
    CHECK(cards[0].framework == 4096);
    CHECK(cards[0].others == 512);
    CHECK(cards[0].rest() == 10000 - 4096 - 512);
    CHECK(cards[1].others == 1024);
    CHECK(cards[1].rest() == 0);
}

TEST_CASE("a join follows mapped memory to where it was created", "[analysis][join]") {
    Process process;
    Written& driver = process.driver;
    Written& torch = process.torch;
    const auto map = [&](std::uint64_t time, std::uint64_t address, std::uint64_t home) {
        driver.put(time, RecordKind::allocate, home, 2048, "cuMemCreate");
        driver.put(time + 1, RecordKind::map, address, 2048, "cuMemMap", home);
    };
    map(Process::kLater + 10, 0x10000, kPhysical);
    map(Process::kLater + 20, 0x10800, kPhysical + 4096);
    torch.put(30, RecordKind::map, 0x10000, 4096);  // both at once
    // The second half is given back, which the driver knows first, and mapped again.
    driver.put(Process::kLater + 40, RecordKind::unmap, 0x10800, 2048, "", kPhysical + 4096);
    driver.put(Process::kLater + 40, RecordKind::free, kPhysical + 4096, 2048);
    torch.put(45, RecordKind::unmap, 0x10800, 2048);
    map(Process::kLater + 50, 0x10800, kPhysical + 8192);
    torch.put(60, RecordKind::map, 0x10800, 2048);
    map(Process::kLater + 70, 0x20000, kPhysical + 16384);  // a library's own
    // A second place of the same memory, which PyTorch shares, is none of its segments.
    torch.put(80, RecordKind::map, 0x30000, 2048, "", 0x10000);
    driver.put(Process::kLater + 90, RecordKind::end, 0, 0);

    const RecordingJoin join = process.join();
    CHECK(join.segments == 2);
    CHECK(join.matched == 2);
    CHECK(join.unmatched.empty());
    CHECK(holders_of(join) ==
          Holders{{"torch cuMemCreate 0", {4096, 4096}}, {"others cuMemCreate 0", {0, 2048}}});
}

TEST_CASE("a join finds what one of the recordings lacks", "[analysis][join]") {
    Process process;
    Written& driver = process.driver;
    Written& torch = process.torch;
    driver.put(Process::kLater + 10, RecordKind::allocate, 0x1000, 4096, "cuMemAlloc");
    driver.put(Process::kLater + 10, RecordKind::allocate, 0x4000, 4096, "cuMemAlloc");
    driver.put(Process::kLater + 10, RecordKind::allocate, 0x6000, 1024, "cuMemAlloc");
    driver.put(Process::kLater + 10, RecordKind::allocate, 0x7000, 1024, "cuMemAlloc", 0, 1);
    torch.put(20, RecordKind::segment_alloc, 0x1000, 4096);
    torch.put(30, RecordKind::segment_alloc, 0x2000, 4096);            // nothing is there
    torch.put(40, RecordKind::segment_alloc, 0x6000, 2048);            // less is there
    torch.put(50, RecordKind::segment_alloc, 0x7000, 1024);            // it is another GPU's
    driver.put(Process::kLater + 60, RecordKind::free, 0x1000, 4096);  // under PyTorch
    driver.put(Process::kLater + 90'000, RecordKind::end, 0, 0);
    torch.put(80'000, RecordKind::end, 0, 0);

    SECTION("it is listed") {
        const RecordingJoin join = process.join();
        CHECK(join.segments == 4);
        CHECK(join.matched == 0);
        CHECK(join.undecided == 0);
        REQUIRE(join.unmatched.size() == 4);
        CHECK(support::count(join.unmatched[0].why, "freed it before") == 1);
        CHECK(join.unmatched[1].address == 0x2000);
        CHECK(join.unmatched[1].size == 4096);
        CHECK(join.unmatched[1].time == 1'000'030'000);
        CHECK(support::count(join.unmatched[1].why, "allocated nothing") == 1);
        CHECK(join.outside(0) == 4096 + 1024 + 1024);  // what PyTorch doesn't know
    }
    SECTION("of a pool with an allocator of its own, what lies within is no difference") {
        torch.put(85'000, RecordKind::segment_alloc, 0x4800, 1024);
        torch.in_pool(3);
        const RecordingJoin join = process.join();
        CHECK(join.inside == 1);
        CHECK(join.unmatched.size() == 4);
        CHECK(join.outside(0) == 1024 + 1024);
    }
    SECTION("where events were lost it can't be decided") {
        driver.put(Process::kLater + 95'000, RecordKind::lost, 0, 5);
        const RecordingJoin join = process.join();
        CHECK(join.lost_events == 5);
        CHECK(join.unmatched.empty());
        CHECK(join.undecided == 4);
    }
    SECTION("nor where the driver's recording had forgotten what was before") {
        driver.header().first_sequence = 1000;
        torch.header().start_time = driver.header().start_time;  // now long before
        const RecordingJoin join = process.join();
        CHECK(join.unmatched.empty());
        CHECK(join.undecided == 4);
    }
}

TEST_CASE("a join is of one process", "[analysis][join]") {
    Process process;
    const std::string driver = process.driver.save(process, "driver.tml");
    CHECK(are_of_one_process(driver, process.torch.save(process, "torch.tml")));
    CHECK_FALSE(are_of_one_process(driver, driver));
    process.torch.header().process_start += 1;
    CHECK_FALSE(are_of_one_process(driver, process.torch.save(process, "torch.tml")));
    CHECK_FALSE(are_of_one_process(driver, process.file("none.tml")));
}
