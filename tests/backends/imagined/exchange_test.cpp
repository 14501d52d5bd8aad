// What ranks leave for each other, and the ends of waits for what never comes.
#include "backends/imagined/exchange.h"

#include <chrono>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"

namespace tidemark::imagined {
namespace {

struct Meeting : support::TestFolder {
    Exchange rank(int number, int count = 2) {
        return Exchange({.folder = file(""), .rank = number, .count = count});
    }

    void end(int rank) { write("ended-" + std::to_string(rank), ""); }
};

std::span<const std::byte> bytes(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::optional<std::string> text(const std::optional<Exchange::Bytes>& bytes) {
    if (!bytes)
        return std::nullopt;
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

}  // namespace

TEST_CASE("a rank takes what another one left, and waits for it", "[imagined][exchange]") {
    Meeting meeting;
    Exchange first = meeting.rank(0);
    Exchange second = meeting.rank(1);
    first.put("early", bytes("here"));
    CHECK(text(second.take("early", 0)) == "here");
    CHECK(text(second.take("early", Exchange::kAnybody)) == "here");
    first.put("early", bytes(""));
    CHECK(text(second.take("early", 0)) == "");
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        first.put("late", bytes(std::string(3000, 'x')));
    });
    CHECK(text(second.take("late", 0)) == std::string(3000, 'x'));
    later.join();
}

TEST_CASE("a rank doesn't wait for one that has ended", "[imagined][exchange]") {
    Meeting meeting;
    Exchange first = meeting.rank(0, 3);
    meeting.end(1);
    CHECK(text(first.take("never", 1)) == std::nullopt);
    meeting.end(2);
    CHECK(text(first.take("never", Exchange::kAnybody)) == std::nullopt);
    meeting.rank(1, 3).put("in time", bytes("x"));
    CHECK(text(first.take("in time", 1)) == "x");
}

TEST_CASE("ranks that all wait for each other stop waiting", "[imagined][exchange]") {
    Meeting meeting;
    Exchange first = meeting.rank(0);
    Exchange second = meeting.rank(1);
    std::optional<std::string> found[2] = {"", ""};
    std::thread other([&] { found[1] = text(second.take("of the first", 0)); });
    found[0] = text(first.take("of the second", 1));
    first.put("of the first", bytes("then"));
    other.join();
    // The second one gets it if it still waits.
    CHECK(found[0] == std::nullopt);
    CHECK((found[1] == std::nullopt || found[1] == "then"));
}

}  // namespace tidemark::imagined
