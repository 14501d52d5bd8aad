// The sentence under a comparison: what it says for each outcome that a comparison can have.
#include "replay/analysis/compare/verdict.h"

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

// What a row is made of; times in nanoseconds of a run of one second.
struct Made {
    const char* label = "";
    Bytes peak = 0;
    std::uint64_t refused = 0;
    Nanoseconds driver = 0;
    Nanoseconds growth = 0;  // of it
};

ComparisonRow row(const Made& made, Bytes requested) {
    ComparisonRow row;
    row.label = made.label;
    row.run.scenario.memory = 80_GiB;
    const auto add = [&row](std::string_view name, Unit unit, std::uint64_t value) {
        row.run.measurements.push_back({.name = name, .summary = "", .unit = unit, .whole = value});
    };
    add("peak_reserved_bytes", Unit::bytes, made.peak);
    add("peak_requested_bytes", Unit::bytes, requested);
    add("out_of_memory", Unit::count, made.refused);
    add("driver_ns", Unit::nanoseconds, static_cast<std::uint64_t>(made.driver));
    add("stall_ns", Unit::nanoseconds, 0);
    add("growth_ns", Unit::nanoseconds, static_cast<std::uint64_t>(made.growth));
    add("makespan_ns", Unit::nanoseconds, 1'000'000'000);
    return row;
}

// Ranked rows, of which `baseline` was given first.
std::vector<ComparisonRow> rows(std::initializer_list<Made> made, std::size_t baseline,
                                Bytes requested) {
    std::vector<ComparisonRow> result;
    for (const Made& one : made)
        result.push_back(row(one, requested));
    result[baseline].baseline = true;
    return result;
}

TEST_CASE("a verdict names the best, what it saves and what is left to save", "[compare]") {
    const auto made = rows({{"best-fit", 69_GiB}, {"torch", 72_GiB}}, 1, 66_GiB);
    CHECK(
        verdict(made, true) ==
        "best-fit would have peaked at 69.0 GiB, 4.2 % below torch (72.0 GiB); the program itself "
        "requested 66.0 GiB at most, so no policy could save more than another 4.3 %");
    CHECK(recommended(made, true) == &made[0]);
}

TEST_CASE("a verdict says so when nothing peaks lower", "[compare]") {
    const auto made = rows({{"torch", 72_GiB}, {"buddy", 78_GiB}}, 0, 66_GiB);
    CHECK(verdict(made, true) ==
          "nothing here is worth changing: none would have peaked below torch (72.0 GiB); the "
          "program itself requested 66.0 GiB at most, so no policy could save more than another "
          "8.3 %");
    CHECK(recommended(made, true) == &made[0]);
}

TEST_CASE("a policy that ties with the baseline is no reason to change", "[compare]") {
    const auto made = rows({{"best-fit", 72_GiB}, {"torch", 72_GiB}}, 1, 72_GiB);
    CHECK(verdict(made, true) ==
          "nothing here is worth changing: none would have peaked below torch (72.0 GiB); the "
          "program itself requested 72.0 GiB at most, so there is almost nothing left to save");
    CHECK(recommended(made, true) == &made[1]);
}

TEST_CASE("a saving of less than a hundredth is not worth a change", "[compare]") {
    const auto made = rows({{"best-fit", 71_GiB + 512_MiB}, {"torch", 72_GiB}}, 1, 66_GiB);
    CHECK(verdict(made, true) ==
          "nothing here is worth changing: the best, best-fit, would have peaked at 71.5 GiB, less "
          "than 1 % below torch (72.0 GiB); the program itself requested 66.0 GiB at most, so no "
          "policy could save more than another 7.7 %");
}

TEST_CASE("a low peak that costs too much time is mentioned, not recommended", "[compare]") {
    const auto made = rows({{"cuda-malloc", 67_GiB, 0, 400'000'000},
                            {"best-fit", 69_GiB, 0, 12'000'000},
                            {"torch", 72_GiB, 0, 5'000'000}},
                           2, 66_GiB);
    CHECK(recommended(made, true) == &made[1]);
    CHECK(
        verdict(made, true) ==
        "best-fit would have peaked at 69.0 GiB, 4.2 % below torch (72.0 GiB); the program itself "
        "requested 66.0 GiB at most, so no policy could save more than another 4.3 %; "
        "cuda-malloc would peak lower (67.0 GiB), but cost 400 ms in device calls and waits, not "
        "counting those that reach the peak (torch: 5.00 ms)");
    CHECK(recommended(made, false) == &made[2]);  // untimed: twice torch's time is the limit
}

TEST_CASE("what reaching the peak takes is paid once and no price", "[compare]") {
    const auto once =
        rows({{"vpmm", 67_GiB, 0, 400'000'000, 400'000'000}, {"torch", 72_GiB}}, 1, 66_GiB);
    CHECK(recommended(once, true) == &once[0]);
    const auto always =
        rows({{"vpmm", 67_GiB, 0, 400'000'000, 350'000'000}, {"torch", 72_GiB}}, 1, 66_GiB);
    CHECK(recommended(always, true) == &always[1]);
}

TEST_CASE("policies that ran out of memory are named with how often", "[compare]") {
    const auto made = rows(
        {{"best-fit", 69_GiB}, {"torch", 72_GiB}, {"buddy", 79_GiB, 1}, {"bump", 80_GiB, 1234}}, 1,
        66_GiB);
    CHECK(verdict(made, true).ends_with("; out of memory: buddy (once), bump (1,234 times)"));
}

TEST_CASE("a policy that runs where the baseline does not is worth any price", "[compare]") {
    const auto made =
        rows({{"cuda-malloc", 67_GiB, 0, 900'000'000}, {"torch", 79_GiB, 3}, {"bump", 80_GiB, 9}},
             1, 66_GiB);
    CHECK(recommended(made, true) == &made[0]);
    CHECK(verdict(made, true) ==
          "torch ran out of memory 3 times; cuda-malloc did not, and peaked at 67.0 GiB; the "
          "program itself requested 66.0 GiB at most, so no policy could save more than another "
          "1.5 %; out of memory: bump (9 times)");
}

TEST_CASE("when all run out of memory the verdict tells whether any policy could help",
          "[compare]") {
    const auto made = rows({{"best-fit", 79_GiB, 1}, {"torch", 79_GiB, 3}}, 1, 66_GiB);
    CHECK(recommended(made, true) == nullptr);
    CHECK(verdict(made, true) ==
          "every policy ran out of memory, best-fit the fewest times (once); the program never "
          "requested more "
          "than 66.0 GiB of 80.0 GiB at once");
    const auto hopeless = rows({{"best-fit", 79_GiB, 1}, {"torch", 79_GiB, 3}}, 1, 90_GiB);
    CHECK(verdict(hopeless, true) ==
          "every policy ran out of memory, best-fit the fewest times (once); the program requested "
          "90.0 GiB "
          "at once, more than the available 80.0 GiB: no policy can help");
}

TEST_CASE("what no memory could ever hold was requested all the same", "[compare]") {
    auto made = rows({{"best-fit", 0, 4}, {"torch", 0, 4}}, 1, 0);
    Refusal refusal;
    refusal.what.size = Bytes{1} << 63U;
    made[0].run.refusals = {refusal};
    CHECK(verdict(made, true) ==
          "every policy ran out of memory, best-fit the fewest times (4 times); the program "
          "requested 8.00 "
          "EiB at once, more than the available 80.0 GiB: no policy can help");
}

TEST_CASE("a single policy is described, not compared", "[compare]") {
    CHECK(verdict(rows({{"torch", 72_GiB}}, 0, 66_GiB), true) ==
          "torch would have peaked at 72.0 GiB; the program itself requested 66.0 GiB at most, so "
          "no policy could save more than another 8.3 %");
    CHECK(verdict(rows({{"torch", 72_GiB, 2}}, 0, 66_GiB), true) ==
          "torch ran out of memory 2 times; the program never requested more than 66.0 GiB of 80.0 "
          "GiB at once");
}

TEST_CASE("a run that reserves nothing divides by nothing", "[compare]") {
    CHECK(verdict(rows({{"best-fit", 0}, {"torch", 0}}, 1, 0), true) ==
          "nothing here is worth changing: none would have peaked below torch (0 B); the program "
          "itself requested 0 B at most, so there is almost nothing left to save");
}

ComparisonTotal total(const char* label, double overhead, double change, Nanoseconds driver,
                      std::uint64_t refused = 0) {
    ComparisonTotal total;
    total.label = label;
    total.overhead_ratio = overhead;
    total.change = change;
    total.driver_time = driver;
    total.makespan = 1'000'000'000;
    total.traces_refused = refused;
    return total;
}

TEST_CASE("a verdict over traces speaks of ratios", "[compare]") {
    std::vector<ComparisonTotal> totals{total("cuda-malloc", 1.01, -0.19, 500'000'000),
                                        total("best-fit", 1.05, -0.16, 5'000'000),
                                        total("torch", 1.25, 0, 5'000'000)};
    totals[2].baseline = true;
    CHECK(recommended(totals, true) == &totals[1]);
    CHECK(verdict(totals, 3, true) ==
          "over 3 traces best-fit would have peaked 16.0 % below torch (1.050 and 1.250 times what "
          "the programs requested); cuda-malloc would peak lower (1.010), but cost 500 ms in "
          "device calls and waits, not counting those that reach the peak (torch: 5.00 ms)");

    std::vector<ComparisonTotal> alike{total("torch", 1.25, 0, 5), total("buddy", 1.4, 0.12, 5)};
    alike[0].baseline = true;
    CHECK(verdict(alike, 2, true) ==
          "nothing here is worth changing: over 2 traces torch peaked at 1.250 times what the "
          "programs requested, and nothing lower by 1 % or more");

    std::vector<ComparisonTotal> refused{total("best-fit", 1.1, 0, 5),
                                         total("torch", 1.2, 0, 5, 1)};
    refused[1].baseline = true;
    CHECK(verdict(refused, 2, true) ==
          "torch ran out of memory on 1 of 2 traces; best-fit on none, and peaked at 1.100 times "
          "what the programs requested");

    std::vector<ComparisonTotal> none{total("best-fit", 1.1, 0, 5, 1),
                                      total("torch", 1.2, 0, 5, 2)};
    none[1].baseline = true;
    CHECK(verdict(none, 2, true) ==
          "every policy ran out of memory, best-fit the least often: on 1 of 2 traces");
}

}  // namespace
}  // namespace tidemark
