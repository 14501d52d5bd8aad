// Small cases of waiting, explored to the end: the queue's protocol loses no wake-up and starves
// nobody; protocols with a fault, cuCascade's among them, are caught.
#include "tests/core/tiers/wait_model.h"

#include <catch2/catch.hpp>

#include "tests/core/tiers/small_machine.h"

namespace tidemark::model {
namespace {

Step take(int size, SpaceMask spaces = kSpaceA, int priority = 0) {
    return {.kind = Step::Kind::take, .size = size, .spaces = spaces, .priority = priority};
}

Step take_or_give_up(int size, SpaceMask spaces = kSpaceA) {
    return {.kind = Step::Kind::take, .size = size, .spaces = spaces, .gives_up = true};
}

Step give() {
    return {.kind = Step::Kind::give};
}

Actor holder(int size, int other = 0) {
    return {{give()}, false, {size, other}};
}

// One large and one small request; somebody gives back room for the small one, later another for
// the large one. Upstream: the one post may wake the large one.
Scenario large_and_small(Protocol protocol) {
    return {{{{take(4), give()}}, {{take(1), give()}}, holder(1), {{}, false, {3, 0}}},
            {0, 0},
            protocol};
}

// A large request among small ones that come again and again.
Scenario crowd(std::uint32_t bypass_limit) {
    Scenario scenario{{{{take(2), give()}}, {{take(1), give()}, true}, {{take(1), give()}, true}},
                      {2}};
    scenario.bypass_limit = bypass_limit;
    scenario.never_starves = 0;
    return scenario;
}

void check_right(const Scenario& scenario, std::size_t at_least = 10) {
    const Explored outcome = explore(scenario);
    INFO(outcome.states << " states");
    CHECK(outcome.wrong == "");
    CHECK(outcome.states >= at_least);
}

std::string fault(Scenario scenario, Fault fault) {
    scenario.fault = fault;
    return explore(scenario).wrong;
}

// A large request that nobody serves (the holder of the rest keeps it) stands in the way.
Scenario with_small_behind() {
    return {{{{take_or_give_up(4)}}, {{take(1), give()}}, {{take(1), give()}}, holder(2)}, {0}};
}

TEST_CASE("No wake-up is lost between two who wait and two who give back", "[tiers][wait][model]") {
    check_right({{{{take(3), give()}}, {{take(1), give()}}, holder(1), holder(2)}, {0, 0}}, 200);
}

TEST_CASE("No wake-up is lost among three or four who wait", "[tiers][wait][model][.long]") {
    const Actor large{{take(3), give()}};
    const Actor small{{take(1), give()}};
    const Actor either{{take(2, kSpaceA | kSpaceB, 1), give()}};
    check_right({{large, small, either, holder(1), holder(2)}, {0, 0}}, 1000);
    check_right({{large, small, small, either, holder(1), holder(2)}, {0, 0}}, 1000);
    check_right({{large, {{take_or_give_up(2), give()}}, small, holder(2, 1), holder(1)}, {0, 1}},
                1000);
}

TEST_CASE("No wake-up is lost when a newcomer finds nobody waiting", "[tiers][wait][model]") {
    check_right({{{{take(1), give()}}, {{take(1), give()}}, {{take(1), give()}}}, {1}});
}

TEST_CASE("Room in any space serves one who would take either (defect 10)",
          "[tiers][wait][model]") {
    check_right({{{{take(2, kSpaceA | kSpaceB), give()}},
                  {{take(2, kSpaceB), give()}},
                  holder(2),
                  holder(0, 2)},
                 {0, 0}});
}

TEST_CASE("Priorities, closed spaces and departures lose no wake-up", "[tiers][wait][model]") {
    for (const std::uint32_t limit : {0U, 1U, 2U}) {
        Scenario scenario{{{{take_or_give_up(3)}},
                           {{take(1), give()}},
                           {{take(1, kSpaceA | kSpaceB, 1), give()}},
                           holder(2, 1)},
                          {0, 0}};
        scenario.bypass_limit = limit;
        check_right(scenario);
    }
}

TEST_CASE("One who closed two spaces and is served in one opens the other",
          "[tiers][wait][model]") {
    for (const std::uint32_t limit : {0U, 1U}) {
        Scenario scenario{
            {{{take(2, kSpaceA | kSpaceB), give()}}, {{take(1, kSpaceA), give()}}, holder(0, 2)},
            {1, 0}};
        scenario.bypass_limit = limit;
        check_right(scenario);
    }
}

TEST_CASE("After the end nobody sleeps, whenever it comes (defects 8, 9)", "[tiers][wait][model]") {
    check_right({{{{take(2), give()}},
                  {{take(2), give()}},
                  {{{.kind = Step::Kind::shut_down}}},
                  {{give()}, false, {1}}},
                 {0}});
}

TEST_CASE("A large request among small ones without end is served, by the bypass bound",
          "[tiers][wait][model]") {
    for (const std::uint32_t limit : {0U, 1U, 3U})
        check_right(crowd(limit));
    CHECK(fault(crowd(0), Fault::no_closing) ==
          "somebody may wait for ever while others are served");
}

TEST_CASE("The checker finds what is left out of the protocol", "[tiers][wait][model]") {
    const Scenario one{{{{take(1), give()}}, holder(1)}, {0, 0}};
    CHECK(fault(one, Fault::none) == "");
    CHECK(fault(one, Fault::raises_late) == "somebody sleeps though he fits");
    CHECK(fault(one, Fault::enters_late) == "somebody sleeps though he fits");
    CHECK(fault(one, Fault::notices_early) == "somebody sleeps though he fits");
    Scenario closed = with_small_behind();
    closed.bypass_limit = 0;
    CHECK(fault(closed, Fault::none) == "");
    CHECK(fault(closed, Fault::leaves_quietly) == "somebody sleeps though he fits");
}

TEST_CASE("Upstream's one flag leaves a small request asleep behind a large one (defect 8)",
          "[tiers][wait][model]") {
    CHECK(explore(large_and_small(Protocol::upstream)).wrong == "somebody sleeps though he fits");
}

TEST_CASE("Upstream waits for the first space alone, and ends for one waiter (defects 9, 10)",
          "[tiers][wait][model]") {
    CHECK(explore({{{{take(2, kSpaceA | kSpaceB)}}, holder(0, 2), {{}, false, {1}}},
                   {0, 0},
                   Protocol::upstream})
              .wrong == "somebody sleeps though he fits");
    CHECK(
        explore({{{{take(2)}}, {{take(2)}}, {{{.kind = Step::Kind::shut_down}}}, {{}, false, {1}}},
                 {0},
                 Protocol::upstream})
            .wrong == "somebody sleeps after the end");
    // Without a living reservation it hands out less than was asked for.
    CHECK(explore({{{{take(3)}}, {{give()}, false, {1}}}, {1}, Protocol::upstream}).wrong ==
          "somebody got less than he asked for");
}

}  // namespace
}  // namespace tidemark::model
