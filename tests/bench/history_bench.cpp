// history_bench [TRACE [POLICY]]: what a history costs (time to make, bytes of files and of memory)
// and how fast it answers. Events come from a file or a generator; figures go to standard output.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "replay/scenario/record_history.h"
#include "replay/timeline/fragmentation_curve.h"
#include "replay/timeline/history_columns.h"
#include "traces/open.h"

namespace tidemark {
namespace {

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](timeval time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Kilobytes of the process that lie in no file.
double anonymous_kilobytes() {
    double found = 0;
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    char line[256];
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
        static_cast<void>(std::sscanf(line, "RssAnon: %lf", &found));
    if (file != nullptr)
        std::fclose(file);
    return found;
}

void show_times(const char* what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (const double time : times)
        sum += time;
    const auto count = times.size();
    fmt::print("{:34} mean {:8.3f}  p50 {:8.3f}  p99 {:8.3f}  worst {:8.3f} ms\n", what,
               sum / static_cast<double>(count), times[count / 2],
               times[std::min(count - 1, count * 99 / 100)], times.back());
}

// Of this thread's processor, so that a machine that is shared gives the same figures.
template <class Call>
double milliseconds(Call&& call) {
    const auto now = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
    };
    const double before = now();
    call();
    return now() - before;
}

// From the whole run down to a few events, at random positions.
void show_series(const History& history, AxisUnit unit, const char* what) {
    constexpr std::size_t kColumns = 2000;
    std::vector<SeriesColumn> columns(kColumns);
    Random random(1);
    const Position first = history.position(unit, 0);
    const Position last = history.end(unit);
    for (const bool warm : {false, true}) {
        std::vector<double> times;
        Random begins = random;
        for (Position width = last - first; width > 16; width = width * 5 / 8) {
            for (int i = 0; i < 8; ++i) {
                const auto room = static_cast<std::uint64_t>(last - first - width) + 1;
                const Position begin = first + static_cast<Position>(begins.below(room));
                times.push_back(
                    milliseconds([&] { history.series(unit, begin, begin + width, columns); }));
            }
        }
        show_times(fmt::format("series, {}, {}", what, warm ? "warm" : "first time").c_str(),
                   times);
    }
}

void show_blocks(const History& history) {
    Random random(2);
    const HistoryCounts counts = history.counts();
    std::vector<double> live;
    std::vector<double> found;
    std::vector<double> neighbours;
    std::size_t blocks = 0;
    for (int i = 0; i < 200; ++i) {
        const auto event = static_cast<EventIndex>(random.below(counts.events));
        const auto block = static_cast<BlockIndex>(random.below(counts.blocks));
        const Block life = history.block(block);
        live.push_back(
            milliseconds([&] { history.for_each_live(event, [&](BlockIndex) { ++blocks; }); }));
        found.push_back(milliseconds([&] { history.find(0, life.address, life.born); }));
        neighbours.push_back(milliseconds([&] {
            history.before(block);
            history.after(block);
        }));
    }
    fmt::print("live at an event, on average       {:.0f}\n", static_cast<double>(blocks) / 200);
    show_times("for_each_live", live);
    show_times("find", found);
    show_times("before and after", neighbours);
}

void show_fragmentation(const std::shared_ptr<const History>& history) {
    const double memory = anonymous_kilobytes();
    const double before = cpu_seconds();
    const auto curve = FragmentationCurve::create(history);
    const std::atomic<bool> go_on = false;
    if (!curve || !(*curve)->extend(go_on))
        return;
    const auto events = static_cast<double>(history->counts().events);
    fmt::print("{:34} {:8.2f} ns CPU an event, {:.2f} bytes of memory\n", "fragmentation",
               (cpu_seconds() - before) * 1e9 / events,
               (anonymous_kilobytes() - memory) * 1024 / events);
    constexpr std::size_t kColumns = 2000;
    std::vector<SeriesColumn> columns(kColumns);
    std::vector<HeldColumn> held(kColumns);
    Random begins(3);
    std::vector<double> times;
    const Position end = history->end(AxisUnit::events);
    for (Position width = end; width > 16; width = width * 5 / 8) {
        const auto room = static_cast<std::uint64_t>(end - width) + 1;
        const auto begin = static_cast<Position>(begins.below(room));
        history->series(AxisUnit::events, begin, begin + width, columns);
        times.push_back(milliseconds([&] { (*curve)->columns(columns, held); }));
    }
    show_times("fragmentation, columns", times);
}

Bytes file_bytes(const History& history) {
    Bytes bytes = 0;
    static_cast<void>(const_cast<History&>(history).columns().for_each(
        [&](const char* name, auto& column, std::size_t) -> Result<void> {
            const Bytes size = column.size() * sizeof(column[0]);
            if (size > 0)
                fmt::print("  {:32} {:10.2f} MiB\n", name, static_cast<double>(size) / 1048576);
            bytes += size;
            return {};
        }));
    return bytes;
}

int bench(const std::string& path, const std::string& policy) {
    const auto failed = [](const Error& error) {
        fmt::print(stderr, "history_bench: {}\n", to_text(error));
        return 1;
    };
    const auto trace = open_trace(path);
    if (!trace)
        return failed(trace.error());
    const auto events = static_cast<double>((*trace)->info().event_count);
    const Scenario scenario{.trace = path, .policy = policy};
    const auto report = [events](const char* what, double wall, double cpu) {
        fmt::print("{:34} {:8.2f} s  {:7.2f} ns CPU an event\n", what, wall, cpu * 1e9 / events);
    };
    double before = cpu_seconds();
    Stopwatch watch;
    if (const auto bare = run(**trace, scenario); !bare)
        return failed(bare.error());
    report("bare replay", static_cast<double>(watch.elapsed()) * 1e-9, cpu_seconds() - before);
    const double memory = anonymous_kilobytes();
    for (const bool keep : {false, true, true}) {
        before = cpu_seconds();
        const Stopwatch again;
        const auto recorded = record_history(**trace, scenario, {.keep = keep});
        if (!recorded)
            return failed(recorded.error());
        report(recorded->from_cache ? "from the cache" : "with a history",
               static_cast<double>(again.elapsed()) * 1e-9, cpu_seconds() - before);
        if (keep)
            continue;
        const History& history = *recorded->history;
        fmt::print("{:34} {:8.2f}\n", "bytes an event, files",
                   static_cast<double>(file_bytes(history)) / events);
        fmt::print("{:34} {:8.2f}\n", "bytes an event, memory beside",
                   (anonymous_kilobytes() - memory) * 1024 / events);
        show_series(history, AxisUnit::time, "time");
        show_series(history, AxisUnit::events, "events");
        show_blocks(history);
        show_fragmentation(recorded->history);
    }
    return 0;
}

}  // namespace
}  // namespace tidemark

int main(int count, char** arguments) {
    return tidemark::bench(count > 1 ? arguments[1] : "generate:mix:events=10000000",
                           count > 2 ? arguments[2] : "torch");
}
