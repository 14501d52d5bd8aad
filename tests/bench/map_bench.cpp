// map_bench TRACE: what the address map costs: its layout, its picture of the whole run, a picture
// of a part, and what a frame asks. Events come from a file or a generator; figures go to standard
// output.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "replay/scenario/record_history.h"
#include "traces/open.h"
#include "viz/model/memory/map_tiles.h"
#include "viz/model/memory/memory_now.h"

namespace tidemark::viz {
namespace {

const Cancelled kGoOn = false;

template <class Call>
void show(const char* what, Call&& call) {
    const Stopwatch watch;
    call();
    fmt::print("{:44} {:>10}\n", what, format_duration(watch.elapsed()));
}

void show_worst(const char* what, std::vector<Nanoseconds> times) {
    std::sort(times.begin(), times.end());
    fmt::print("{:44} p50 {:>9}  p99 {:>9}  worst {:>9}\n", what,
               format_duration(times[times.size() / 2]),
               format_duration(times[times.size() * 99 / 100]), format_duration(times.back()));
}

// A camera that goes in and out over the run, a frame at a time.
void show_frames(const std::shared_ptr<const History>& history, MapLook look) {
    MapTiles tiles;
    tiles.look(history, look);
    tiles.finish();
    std::vector<Nanoseconds> looks;
    std::vector<Nanoseconds> cells;
    std::vector<Nanoseconds> picks;
    Random random(1);
    const Position end = history->end(look.unit);
    for (int i = 0; i < 300; ++i) {
        const Position length = std::max<Position>(end >> (i % 20), 16);
        const auto room = static_cast<std::uint64_t>(end - length) + 1;
        look.window.begin = static_cast<Position>(random.below(room));
        look.window.end = look.window.begin + length;
        const Stopwatch looking;
        tiles.look(history, look);
        looks.push_back(looking.elapsed());
        const Stopwatch putting;
        std::uint64_t sum = 0;
        tiles.for_each_cell(
            [&sum](std::uint32_t, std::uint32_t, const OccupancyCell& cell) { sum += cell.taken; });
        cells.push_back(putting.elapsed() + static_cast<Nanoseconds>(sum & 1U));
        const Stopwatch picking;
        const Bytes offset = random.below(std::max<Bytes>(tiles.ground()->layout.length(), 1));
        sum += tiles.pick(look.window.begin + length / 2, offset, length / 400, 1000);
        picks.push_back(picking.elapsed());
    }
    tiles.finish();
    show_worst("frame: look, 1500 x 700 (wall)", looks);
    show_worst("frame: all cells, after a movement (wall)", cells);
    show_worst("frame: pick (wall)", picks);
}

int failed(const Error& error) {
    fmt::print(stderr, "map_bench: {}\n", to_text(error));
    return 1;
}

int bench(const std::string& path) {
    const auto trace = open_trace(path);
    if (!trace)
        return failed(trace.error());
    const auto recorded = record_history(**trace, {.trace = path, .policy = "torch"});
    if (!recorded)
        return failed(recorded.error());
    const std::shared_ptr<const History>& history = recorded->history;
    const HistoryCounts counts = history->counts();
    fmt::print("{} events, {} blocks, {} segments\n", format_count(counts.events),
               format_count(counts.blocks), format_count(counts.segments));
    AddressLayout layout;
    show("layout", [&] { layout = AddressLayout::of(*history); });
    BlockClasses classes;
    show("classes by stack", [&] { classes = classes_of(*history, BlockTrait::stack, kGoOn); });
    for (const unsigned threads : {1U, 2U}) {
        OccupancyOptions options;
        options.threads = threads;
        const OccupancyFrame frame = whole_frame(*history, layout, AxisUnit::time, 4096, 2048);
        show(fmt::format("picture of all, 4096 x 2048, {} threads", threads).c_str(),
             [&] { static_cast<void>(draw_occupancy(*history, layout, classes, frame, options)); });
    }
    MapLook look;
    look.window = {0, history->end(AxisUnit::time)};
    look.columns = 1500;
    look.rows = 700;
    look.trait = BlockTrait::stack;
    const auto ground = make_ground(history, look, kGoOn);
    show("sharp picture of all", [&] { make_detail(ground, look, kGoOn); });
    const Position middle = look.window.end / 2;
    look.window = {middle, middle + look.window.end / 100};
    show("sharp picture of 1 %", [&] { make_detail(ground, look, kGoOn); });
    look.window.end = middle + look.window.end / 10'000;
    show("sharp picture of 0.01 %", [&] { make_detail(ground, look, kGoOn); });
    show("memory at an instant", [&] {
        static_cast<void>(memory_now(*history, static_cast<EventIndex>(counts.events / 2), kGoOn));
    });
    show_frames(history, look);
    return 0;
}

}  // namespace
}  // namespace tidemark::viz

int main(int count, char** arguments) {
    return count < 2 ? 2 : tidemark::viz::bench(arguments[1]);
}
