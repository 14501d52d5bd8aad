// SampleSession: a small run in which every table and every view has something to point at; and
// where the rows of tables lie on a screen.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/small_history.h"
#include "tests/viz/shell/screen.h"

namespace tidemark::viz {

constexpr std::uint64_t kBase = 0x100000;
constexpr Bytes kPool = 64_MiB;

// Three blocks after one another at one address, the others beside them for the whole run:
//
//   +12 MiB  load    2 MiB  stream 0
//    +8 MiB  matmul  4 MiB  stream 1
//     0      relu    8 MiB, 8 MiB, 6 MiB
struct SampleSession {
    Session session;
    BlockIndex first, second, third, matmul, load;

    explicit SampleSession(std::size_t runs = 1) {
        for (std::size_t i = 0; i < runs; ++i)
            add(i == 0 ? 0 : 16_MiB);
    }

    const History& history() const { return *session.runs[0].history; }

    Position at(EventIndex event) const { return history().position(AxisUnit::time, event); }

  private:
    // `more` is reserved halfway, so that runs differ.
    void add(Bytes more) {
        support::SmallHistory sample;
        Nanoseconds time = 0;
        const auto next = [&]() -> support::SmallHistory& { return sample.at(time += 1000); };
        const auto wait = [&](int events) {
            for (int i = 0; i < events; ++i)
                next().idle();
        };
        const auto layer = [](std::string name) {
            return std::vector<std::string>{std::move(name), "layer", "main"};
        };
        sample.names({.streams = {0, 1}});
        sample.segment(kBase, kPool);
        next().allocate(
            10, 4_MiB,
            {.address = kBase + 8_MiB, .stream = 1, .tag = "weights", .stack = layer("matmul")});
        next().allocate(11, 2_MiB,
                        {.address = kBase + 12_MiB, .tag = "input", .stack = {"load", "main"}});
        next().allocate(1, 8_MiB, {.address = kBase, .tag = "act", .stack = layer("relu")});
        wait(20);
        next().free(1);
        wait(5);
        if (more > 0)
            next().segment(kBase + 4 * kPool, more);
        else
            next().idle();
        next().allocate(2, 8_MiB, {.address = kBase, .tag = "act", .stack = layer("relu")});
        wait(20);
        next().free(2);
        wait(5);
        next().allocate(3, 6_MiB, {.address = kBase, .tag = "act", .stack = layer("relu")});
        wait(20);
        ViewedRun run;
        run.label = fmt::format("run {}", session.runs.size());
        run.trace_name = "yard.tmk";
        run.history = sample.build();
        run.state.phase = LoadState::Phase::ready;
        session.runs.push_back(std::move(run));
        first = sample.block(1);
        second = sample.block(2);
        third = sample.block(3);
        matmul = sample.block(10);
        load = sample.block(11);
    }
};

constexpr float kRowPad = 4;  // points above and below a row's text

// Of a table, in pixels.
inline float row_height() {
    return std::ceil(ImGui::GetFontSize() + kRowPad);
}

// The top of a table's titles below its filter bar, and of its rows.
inline float titles_of(Screen& screen) {
    return screen.layout().table.top + ImGui::GetFrameHeight() + 6;
}

// In the first column of that row as it is seen, 0 the topmost.
inline ImVec2 row_of(Screen& screen, int row) {
    return {screen.layout().table.left + 30,
            titles_of(screen) + row_height() * (static_cast<float>(row) + 1.5F)};
}

// The block that a row is about; none where there is no row.
inline std::optional<BlockIndex> block_in_row(Screen& screen, int row) {
    const ImVec2 at = row_of(screen, row);
    screen.move(at.x, at.y);
    return screen.shell.selection().hot_block;
}

inline bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace tidemark::viz
