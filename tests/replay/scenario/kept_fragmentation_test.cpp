// The fragmentation that is kept with a history is the one that would be swept, and what isn't is
// not taken for it.
#include "replay/scenario/kept_fragmentation.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/scenario/record_history.h"
#include "tests/support/own_cache.h"
#include "traces/open.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

const std::atomic<bool> kGoOn = false;
const std::vector<std::string> kFiles = {"held", "held-nodes", "held-head"};

// A trace in a folder that is gone with the test.
class KeptTrace {
  public:
    explicit KeptTrace(const std::string& source) {
        std::string path = (fs::temp_directory_path() / "tidemark-kept-XXXXXX").string();
        REQUIRE(::mkdtemp(path.data()) != nullptr);
        folder_ = path;
        path_ = folder_ + "/run.tmk";
        REQUIRE(import_trace(source, path_));
    }

    KeptTrace(const KeptTrace&) = delete;
    KeptTrace& operator=(const KeptTrace&) = delete;

    ~KeptTrace() { fs::remove_all(folder_); }

    std::shared_ptr<const History> history(const std::string& policy = "torch",
                                           bool keep = true) const {
        const auto trace = open_trace(path_);
        REQUIRE(trace);
        auto recorded = record_history(**trace, {.trace = path_, .policy = policy}, {.keep = keep});
        REQUIRE(recorded);
        return recorded->history;
    }

  private:
    support::OwnCache cache_;
    std::string folder_;
    std::string path_;
};

std::shared_ptr<FragmentationCurve> swept(const std::shared_ptr<const History>& history) {
    auto curve = FragmentationCurve::create(history);
    REQUIRE(curve);
    const auto right = (*curve)->extend(kGoOn);
    REQUIRE((right && *right));
    CHECK((*curve)->swept() == history->counts().events);
    return *curve;
}

std::vector<HeldColumn> columns_of(const History& history, const FragmentationCurve& curve,
                                   std::size_t count) {
    std::vector<SeriesColumn> series(count);
    history.series(AxisUnit::events, 0, history.end(AxisUnit::events), series);
    std::vector<HeldColumn> columns(count);
    curve.columns(series, columns);
    return columns;
}

void check_same(const History& history, const FragmentationCurve& kept,
                const FragmentationCurve& swept) {
    REQUIRE(kept.events() == swept.events());
    CHECK(kept.swept() == 0);
    for (EventIndex event = 0; event < kept.events(); ++event)
        REQUIRE(kept.held(event) == swept.held(event));
    for (const std::size_t count : {1U, 7U, 400U})
        CHECK(columns_of(history, kept, count) == columns_of(history, swept, count));
}

}  // namespace

TEST_CASE("fragmentation that was kept is what a sweep finds, without one", "[fragmentation]") {
    const std::string source = GENERATE(
        as<std::string>{}, "generate:mix:events=70000", "generate:mix:events=4096",
        "generate:mix:events=30", TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz");
    const KeptTrace trace(source);
    const auto first = trace.history();
    REQUIRE_FALSE(first->kept_in().empty());
    CHECK(open_fragmentation(first, kGoOn) == nullptr);  // as beside an older history
    const auto curve = swept(first);
    REQUIRE(keep_fragmentation(*curve, *first, kGoOn));

    const auto again = trace.history();
    CHECK(again->kept_in() == first->kept_in());
    const auto kept = open_fragmentation(again, kGoOn);
    REQUIRE(kept);
    check_same(*again, *kept, *curve);
    const auto right = kept->extend(kGoOn);
    CHECK((right && *right && kept->swept() == 0));
}

TEST_CASE("fragmentation that is damaged is made again", "[fragmentation]") {
    const KeptTrace trace("generate:mix:events=5000");
    const auto history = trace.history();
    const auto curve = swept(history);
    REQUIRE(keep_fragmentation(*curve, *history, kGoOn));
    for (const std::string& name : kFiles) {
        const fs::path path = fs::path(history->kept_in()) / name;
        const std::uintmax_t size = fs::file_size(path);
        for (int damage = 0; damage < 4; ++damage) {
            INFO(name << " " << damage);
            if (damage == 0)
                fs::remove(path);
            else if (damage == 1)
                fs::resize_file(path, size - 1);
            else if (damage == 2)
                fs::resize_file(path, 0);
            else
                std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
                    .seekp(static_cast<std::streamoff>(size / 2))
                    .put('\x5a');
            CHECK(open_fragmentation(history, kGoOn) == nullptr);
            REQUIRE(keep_fragmentation(*curve, *history, kGoOn));
            const auto kept = open_fragmentation(history, kGoOn);
            REQUIRE(kept);
            check_same(*history, *kept, *curve);
        }
    }
}

TEST_CASE("fragmentation of another history is not taken", "[fragmentation]") {
    const KeptTrace trace("generate:mix:events=5000");
    const auto history = trace.history();
    const auto other = trace.history("best-fit");
    REQUIRE(keep_fragmentation(*swept(other), *other, kGoOn));
    for (const std::string& name : kFiles)
        fs::copy(fs::path(other->kept_in()) / name, fs::path(history->kept_in()) / name);
    CHECK(open_fragmentation(history, kGoOn) == nullptr);
    CHECK(open_fragmentation(other, kGoOn) != nullptr);
}

TEST_CASE("where fragmentation can't be kept nothing is, and that is an error", "[fragmentation]") {
    const KeptTrace trace("generate:mix:events=5000");
    const auto alone = trace.history("torch", false);
    CHECK(alone->kept_in().empty());
    CHECK(open_fragmentation(alone, kGoOn) == nullptr);
    const auto history = trace.history();
    const auto curve = swept(history);
    const std::atomic<bool> cancelled = true;
    const auto stopped = keep_fragmentation(*curve, *history, cancelled);
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().code == ErrorCode::cancelled);
    for (const std::string& name : kFiles)
        CHECK_FALSE(fs::exists(fs::path(history->kept_in()) / name));
    fs::remove_all(history->kept_in());
    const auto nowhere = keep_fragmentation(*curve, *history, kGoOn);
    REQUIRE_FALSE(nowhere);
    CHECK(nowhere.error().code == ErrorCode::io);
}

TEST_CASE("the head of kept fragmentation is read as it was written", "[fragmentation]") {
    const FragmentationHead head{"0123456789abcdef", 77, 1, 2};
    std::vector<std::byte> bytes = encode_fragmentation_head(head);
    CHECK(decode_fragmentation_head(bytes) == head);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(decode_fragmentation_head(std::span(bytes).first(size)));
    for (std::byte& byte : bytes) {
        byte ^= std::byte{4};
        CHECK_FALSE(decode_fragmentation_head(bytes));
        byte ^= std::byte{4};
    }
    bytes.push_back(std::byte{0});
    CHECK_FALSE(decode_fragmentation_head(bytes));
}

}  // namespace tidemark
