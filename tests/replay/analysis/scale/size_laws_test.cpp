// How sizes grow, from steps that are made by known rules.
#include "replay/analysis/scale/size_laws.h"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

struct Shape {
    Bytes batch = 1, length = 1;
};

using Rule = Bytes (*)(Shape);

// A step of each shape, whose requests follow the rules; the first one makes something more.
StepRequests steps_of(const std::vector<Shape>& shapes, const std::vector<Rule>& rules) {
    StepRequests made;
    for (const Shape shape : shapes) {
        const std::size_t begin = made.requests.size();
        if (begin == 0)
            made.requests.push_back({5000, 77, true});
        for (std::size_t i = 0; i < rules.size(); ++i)
            made.requests.push_back({rules[i](shape), static_cast<std::uint32_t>(i), false});
        made.steps.push_back({begin, made.requests.size()});
    }
    return made;
}

// The last step's sizes after a growth.
std::vector<Bytes> grown_of(const StepRequests& made, ScaleFactors factors, double unknown = 1) {
    const Result<SizeLaws> laws = find_size_laws(made);
    REQUIRE(laws);
    std::vector<Bytes> sizes;
    for (std::size_t i = made.steps.back().begin; i < made.steps.back().end; ++i)
        sizes.push_back(laws->grown(made.requests[i], i, factors, unknown));
    return sizes;
}

const std::vector<Rule> kRules{
    [](Shape) -> Bytes { return 1 << 20; },
    [](Shape s) -> Bytes { return 4096 * s.batch * s.length; },
    [](Shape s) -> Bytes { return 48 * s.batch * s.length; },
    [](Shape s) -> Bytes { return 9000 + 96 * s.batch * s.length; },
};

std::vector<Bytes> sizes_at(const std::vector<Rule>& rules, Shape shape) {
    std::vector<Bytes> sizes;
    for (const Rule rule : rules)
        sizes.push_back(rule(shape));
    return sizes;
}

}  // namespace

TEST_CASE("what nearly identical steps have in common grows, if they differ by chance") {
    const std::vector<Rule> rules{[](Shape) -> Bytes { return 3 << 20; },
                                  [](Shape s) -> Bytes { return 8192 * s.batch; }};
    const StepRequests made = steps_of({{1000, 1}, {1010, 1}, {1000, 1}, {1005, 1}}, rules);
    CHECK(grown_of(made, {2, 1}) == std::vector<Bytes>{6 << 20, 2 * 8192 * 1005});
    // Not if each is larger than the one before, as those of a cache are.
    const StepRequests cache = steps_of({{1000, 1}, {1001, 1}, {1002, 1}, {1003, 1}}, rules);
    CHECK(grown_of(cache, {2, 1}) == std::vector<Bytes>{3 << 20, 2 * 8192 * 1003});
}

TEST_CASE("sizes grow as steps of different sizes show") {
    const StepRequests made = steps_of({{4, 7}, {4, 10}, {4, 31}, {4, 12}}, kRules);
    CHECK(grown_of(made, {2, 1}) == sizes_at(kRules, {4, 24}));
    CHECK(grown_of(made, {1.5, 1}) == sizes_at(kRules, {4, 18}));
    CHECK(grown_of(made, {1, 1}) == sizes_at(kRules, {4, 12}));
    const Result<SizeLaws> laws = find_size_laws(made);
    REQUIRE(laws);
    CHECK_FALSE(laws->has_length);
    CHECK(laws->counts == std::array<std::uint64_t, 5>{5, 8, 4, 0, 0});
}

TEST_CASE("what the first step makes for all others does not grow") {
    const StepRequests made = steps_of({{4, 7}, {4, 10}, {4, 31}}, kRules);
    const Result<SizeLaws> laws = find_size_laws(made);
    REQUIRE(laws);
    CHECK(laws->grown(made.requests.front(), 0, {2, 1}, 1) == 5000);
}

TEST_CASE("what the program makes before its first step does not grow, whatever has its size") {
    std::vector<Rule> rules(20, [](Shape s) -> Bytes { return 4096 * s.batch; });
    StepRequests made = steps_of({{4, 1}, {5, 1}, {4, 1}, {8, 1}}, rules);
    // A weight's copy on its way, before the first step; and a temporary of the step itself.
    made.requests.insert(made.requests.begin(), {4 * 4096, 99, false});
    made.requests.insert(made.requests.begin() + 18, {4 * 4096, 98, false});
    for (RequestsOfStep& step : made.steps) {
        step.begin += step.begin == 0 ? 0 : 2;
        step.end += 2;
    }
    const Result<SizeLaws> laws = find_size_laws(made);
    REQUIRE(laws);
    CHECK(laws->grown(made.requests[0], 0, {4, 1}) == 4 * 4096);
    CHECK(laws->grown(made.requests[2], 2, {4, 1}) == 16 * 4096);
    CHECK(laws->grown(made.requests[18], 18, {4, 1}) == 16 * 4096);
}

TEST_CASE("batch and length are told apart where some size is quadratic in one") {
    std::vector<Rule> rules = kRules;
    rules.push_back([](Shape s) -> Bytes { return 64 * s.batch * s.length * s.length; });
    rules.push_back([](Shape s) -> Bytes { return 1024 * s.batch; });
    rules.push_back([](Shape s) -> Bytes { return 16 * s.length; });
    const StepRequests made = steps_of({{4, 70}, {6, 100}, {2, 310}, {5, 120}, {3, 40}}, rules);
    const Result<SizeLaws> laws = find_size_laws(made);
    REQUIRE(laws);
    CHECK(laws->has_length);
    CHECK(grown_of(made, {2, 1}) == sizes_at(rules, {6, 40}));
    CHECK(grown_of(made, {1, 3}) == sizes_at(rules, {3, 120}));
}

TEST_CASE("two steps tell batch from length where many sizes agree") {
    const std::vector<Rule> rules{
        [](Shape s) -> Bytes { return 4096 * s.batch * s.length; },
        [](Shape s) -> Bytes { return 512 * s.batch * s.length; },
        [](Shape s) -> Bytes { return 8 * s.batch * s.length * s.length; },
        [](Shape s) -> Bytes { return 32 * s.length * s.length; },
        [](Shape s) -> Bytes { return 16 * s.length; },
    };
    const StepRequests made = steps_of({{5, 100}, {4, 128}, {5, 384}}, rules);
    const Result<SizeLaws> laws = find_size_laws(made);
    REQUIRE(laws);
    CHECK(laws->has_length);
    CHECK(grown_of(made, {2, 1}) == sizes_at(rules, {10, 384}));
    CHECK(grown_of(made, {1, 2}) == sizes_at(rules, {5, 768}));
}

TEST_CASE("buffers of reductions grow until the device has no room for more blocks") {
    constexpr Bytes kEach = 12 * 64_KiB;
    std::vector<Rule> rules = kRules;
    rules.push_back([](Shape s) -> Bytes {
        return kEach * std::min<Bytes>((s.batch * s.length + 15) / 16, 176);
    });
    rules.push_back([](Shape) -> Bytes { return 12 * 4; });  // counters
    const StepRequests made = steps_of({{4, 90}, {4, 70}, {4, 101}, {4, 250}}, rules);
    const auto buffer = [&](double growth) { return grown_of(made, {growth, 1})[4]; };
    CHECK(buffer(1) == 63 * kEach);
    CHECK(buffer(2) == 126 * kEach);
    CHECK(buffer(8) == 176 * kEach);
    CHECK(grown_of(made, {8, 1})[5] == 48);
}

TEST_CASE("what is kept back is not learnt from, and placed by what others show") {
    const StepRequests made = steps_of({{4, 90}, {4, 70}, {4, 310}, {4, 100}}, kRules);
    const Result<SizeLaws> laws = find_size_laws(made, 2);
    REQUIRE(laws);
    CHECK(laws->reference == 3);
    CHECK(laws->steps[2].batch == Approx(3.1));
}

TEST_CASE("what grows with one of two axes that have no name may grow or not") {
    std::vector<Rule> rules = kRules;
    rules.push_back([](Shape s) -> Bytes { return 32 * s.batch; });
    rules.push_back([](Shape s) -> Bytes { return 2048 * s.length; });
    const StepRequests made = steps_of({{4, 70}, {6, 100}, {2, 310}, {5, 120}, {3, 40}}, rules);
    const Result<SizeLaws> laws = find_size_laws(made);
    REQUIRE(laws);
    CHECK_FALSE(laws->has_length);
    const auto least = grown_of(made, {2, 1}, 0);
    const auto most = grown_of(made, {2, 1}, 1);
    for (std::size_t rule = 0; rule < 4; ++rule) {
        CHECK(least[rule] == rules[rule]({6, 40}));
        CHECK(most[rule] == rules[rule]({6, 40}));
    }
    CHECK(least[4] == rules[4]({3, 40}));
    CHECK(most[4] == rules[4]({6, 40}));
    CHECK(least[5] == rules[5]({3, 40}));
    CHECK(most[5] == rules[5]({3, 80}));
}

TEST_CASE("what fits no law has a range") {
    std::vector<Rule> rules = kRules;
    rules.push_back([](Shape s) -> Bytes { return s.length % 2 == 0 ? 100000 : 40000; });
    const StepRequests made = steps_of({{4, 7}, {4, 10}, {4, 31}, {4, 12}}, rules);
    CHECK(grown_of(made, {2, 1}, 0).back() == 100000);
    CHECK(grown_of(made, {2, 1}, 1).back() == 200000);
}

TEST_CASE("sizes stay below what no allocator grants") {
    std::vector<Rule> rules = kRules;
    rules.push_back([](Shape s) -> Bytes { return (kLargestRequest / 64) * s.length; });
    const StepRequests made = steps_of({{4, 7}, {4, 10}, {4, 31}}, rules);
    for (const Bytes size : grown_of(made, {64, 1}))
        CHECK(size <= kLargestRequest);
}

TEST_CASE("one step is refused, and steps of one size are guessed about") {
    const Result<SizeLaws> none = find_size_laws(steps_of({{4, 7}}, kRules));
    REQUIRE_FALSE(none);
    CHECK(none.error().what == "there are no two steps to compare");
    const Result<SizeLaws> alike = find_size_laws(steps_of({{4, 7}, {4, 7}, {4, 7}}, kRules));
    REQUIRE(alike);
    CHECK_FALSE(alike->has_sizes);
    StepRequests weights = steps_of({{4, 7}, {4, 7}, {4, 7}}, kRules);
    weights.lasting = {4096 * 28 / 2, 1 << 20};  // what a copy is twice of, and a gradient
    CHECK(grown_of(weights, {2, 1}) ==
          std::vector<Bytes>{1 << 20, 4096 * 28, 2 * 48 * 28, 2 * (9000 + 96 * 28)});
}
