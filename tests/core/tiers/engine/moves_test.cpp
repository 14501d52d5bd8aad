// The transitions of a buffer: the table is whole, and docs/impl-spill-engine.md shows it.
#include "core/tiers/engine/moves.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using namespace tidemark;

constexpr unsigned kStates = static_cast<unsigned>(BufferState::ending) + 1;

std::vector<BufferState> states_of(Moves::States set) {
    std::vector<BufferState> states;
    for (unsigned i = 0; i < kStates; ++i)
        if ((set & Moves::of(static_cast<BufferState>(i))) != 0)
            states.push_back(static_cast<BufferState>(i));
    return states;
}

std::string page_table() {
    std::string text = "| a buffer that is | when | becomes | and |\n|---|---|---|---|\n";
    for (const Moves::Transition& row : Moves::transitions()) {
        std::string from;
        for (const BufferState state : states_of(row.from))
            from += (from.empty() ? "" : ", ") + std::string(to_text(state));
        text += "| " + from + " | " + std::string(to_text(row.event)) + " | " +
                std::string(to_text(row.to)) + " | " + std::string(row.text) + " |\n";
    }
    return text;
}

// What can be reached from `begin` by rows of the table.
std::set<BufferState> reached_from(BufferState begin) {
    std::set<BufferState> reached{begin};
    for (std::size_t before = 0; before != reached.size();) {
        before = reached.size();
        for (const Moves::Transition& row : Moves::transitions())
            for (const BufferState from : states_of(row.from))
                if (reached.contains(from))
                    reached.insert(row.to);
    }
    return reached;
}

TEST_CASE("an event has one outcome in a state", "[tiers][moves]") {
    std::set<std::pair<BufferState, Moves::Event>> seen;
    for (const Moves::Transition& row : Moves::transitions()) {
        CHECK(row.action != nullptr);
        for (const BufferState from : states_of(row.from))
            CHECK(seen.emplace(from, row.event).second);
    }
}

TEST_CASE("a buffer reaches every state from its first, and its end from every state",
          "[tiers][moves]") {
    CHECK(reached_from(BufferState::resident).size() == kStates);
    for (unsigned i = 0; i < kStates; ++i)
        CHECK(reached_from(static_cast<BufferState>(i)).contains(BufferState::gone));
    CHECK(reached_from(BufferState::gone).size() == 1);
}

TEST_CASE("what may be waited for can be cancelled, and whatever lives can be destroyed",
          "[tiers][moves]") {
    std::set<BufferState> cancelled;
    std::set<BufferState> destroyed;
    for (const Moves::Transition& row : Moves::transitions())
        for (const BufferState from : states_of(row.from)) {
            if (row.event == Moves::Event::cancelled)
                cancelled.insert(from);
            if (row.event == Moves::Event::destroyed)
                destroyed.insert(from);
        }
    CHECK(cancelled.size() == kStates - 3);  // not gone, resident, ending
    CHECK(destroyed.size() == kStates - 2);  // not gone, ending
}

TEST_CASE("docs/impl-spill-engine.md shows the transitions", "[tiers][moves][docs]") {
    std::ifstream file(std::string(TIDEMARK_SOURCE_DIR) + "/docs/impl-spill-engine.md");
    std::stringstream page;
    page << file.rdbuf();
    const std::string table = page_table();
    INFO("paste into docs/impl-spill-engine.md:\n" << table);
    CHECK(page.str().find(table) != std::string::npos);
}

}  // namespace
