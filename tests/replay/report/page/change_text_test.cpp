// Changes and comparisons in words.
#include "replay/report/page/change_text.h"

#include <vector>

#include <catch2/catch.hpp>

#include "core/base/units.h"

namespace tidemark::report {
namespace {

Measurement figure(std::string_view name, Unit unit, std::uint64_t whole, double real = 0) {
    return {.name = name,
            .summary = "",
            .unit = unit,
            .better = Better::less,
            .whole = whole,
            .real = real};
}

std::vector<Measurement> run(Bytes peak, std::uint64_t refused, std::uint64_t driver = 0) {
    return {figure("peak_reserved_bytes", Unit::bytes, peak),
            figure("out_of_memory", Unit::count, refused),
            figure("driver_ns", Unit::nanoseconds, driver)};
}

std::string said(const std::vector<Measurement>& now, const std::vector<Measurement>& before) {
    return comparison_sentence({"now", now}, {"before", before});
}

}  // namespace

TEST_CASE("a change says what is less by how much, in the figure's unit", "[report]") {
    const auto bytes = [](Bytes value) { return figure("x_bytes", Unit::bytes, value); };
    CHECK(change_of(bytes(6_GiB), bytes(8_GiB)).text == "2.00 GiB less (-25.0 %)");
    CHECK(change_of(bytes(6_GiB), bytes(8_GiB)).judgement == Judgement::better);
    CHECK(change_of(bytes(8_GiB), bytes(6_GiB)).text == "2.00 GiB more (+33.3 %)");
    CHECK(change_of(bytes(8_GiB), bytes(6_GiB)).judgement == Judgement::worse);
    CHECK(change_of(bytes(8_GiB), bytes(0)).text == "8.00 GiB more");
    CHECK(change_of(bytes(8_GiB), bytes(8_GiB)).text == "the same");
    CHECK(change_of(bytes(8_GiB), bytes(8_GiB)).judgement == Judgement::same);
    CHECK(change_of(figure("n", Unit::count, 3), figure("n", Unit::count, 5)).text == "2 fewer");
    CHECK(change_of(figure("a", Unit::ratio, 0, 0.3), figure("a", Unit::ratio, 0, 0.25)).text ==
          "5.0 points more");
    CHECK(change_of(figure("a_ratio", Unit::ratio, 0, 1.5), figure("a_ratio", Unit::ratio, 0, 2))
              .text == "0.500 less");
    Measurement neither = bytes(1);
    neither.better = Better::neither;
    CHECK(change_of(neither, bytes(2)).judgement == Judgement::none);
}

TEST_CASE("two runs are compared in a sentence, out of memory first", "[report]") {
    CHECK(said(run(6_GiB, 0), run(8_GiB, 0)) ==
          "now peaks 2.00 GiB lower than before (-25.0 %): 6.00 GiB reserved against 8.00 GiB");
    CHECK(said(run(8_GiB, 0), run(8_GiB, 0)) == "now peaks at 8.00 GiB reserved, as before does");
    CHECK(said(run(8_GiB, 0), run(6_GiB, 2)) ==
          "now never runs out of memory, before runs out of memory 2 times; now peaks 2.00 GiB "
          "higher than before (+33.3 %): 8.00 GiB reserved against 6.00 GiB");
}

TEST_CASE("the price of less memory is told where it is worth a word", "[report]") {
    CHECK(said(run(6_GiB, 0, 40'000'000), run(8_GiB, 0, 4'000'000))
              .ends_with(", for 40.0 ms in the driver against 4.00 ms"));
    CHECK(said(run(6_GiB, 0, 4'100'000), run(8_GiB, 0, 4'000'000)).ends_with("8.00 GiB"));
}

}  // namespace tidemark::report
