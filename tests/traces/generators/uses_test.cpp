// The generators of programs that use their memory: every kernel makes sense, reservations are
// given back, time is that of kernels, and each program has the shape that it is there for.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/base/units.h"
#include "tests/support/checking_sink.h"
#include "traces/generators/generators.h"
#include "traces/generators/popularity.h"

namespace tidemark {
namespace {

using support::CheckingSink;

const std::vector<std::string> kSpecs{
    "query:events=20000",
    "query:events=20000,streams=1,think=0,accuracy=100,overshoot=0",
    "query:events=20000,streams=16,tables=1,chunks=1,overshoot=100,accuracy=1",
    "training:events=20000",
    "training:events=20000,layers=1,variable=true,adam=false",
    "kv-cache:events=20000",
    "kv-cache:events=20000,sessions=3,active=2,blocks=2,think=0,skew=3",
    "kv-cache:events=20000,sessions=1,active=1,layers=5,stride=100,block_tokens=7",
    "adversarial:events=20000",
    "adversarial:events=20000,pattern=flood",
    "adversarial:events=20000,pattern=sizes",
    "adversarial:events=20000,pattern=gang,gang=90",
    "adversarial:events=20000,pattern=phases",
};

struct Program {
    TraceInfo info;
    std::vector<TraceEvent> events;
};

Program must_generate(const std::string& spec) {
    CheckingSink sink;
    auto info = generate(spec, sink);
    if (!info)
        FAIL(to_text(info.error()));
    REQUIRE(sink.finish(*info));
    INFO(spec);
    REQUIRE(sink.problem() == "");
    return {std::move(*info), sink.events()};
}

struct Kernel {
    std::size_t first = 0;  // of its events
    std::size_t count = 0;
    Nanoseconds time = 0;
    StreamId stream{};
};

// Runs of uses with the same launch number on the same stream.
std::vector<Kernel> kernels_of(const std::vector<TraceEvent>& events) {
    std::vector<Kernel> kernels;
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].kind != EventKind::use)
            continue;
        const bool goes_on =
            i > 0 && events[i - 1].kind == EventKind::use && events[i - 1].aux == events[i].aux;
        if (goes_on)
            ++kernels.back().count;
        else
            kernels.push_back({i, 1, events[i].time, events[i].stream});
    }
    return kernels;
}

// The most bytes that live at the same time, of those that live on `stream`, after each event.
Bytes peak_of(const std::vector<TraceEvent>& events) {
    std::map<std::uint32_t, Bytes> live;
    Bytes now = 0;
    Bytes peak = 0;
    for (const TraceEvent& event : events) {
        if (event.kind == EventKind::allocate)
            now += live[event.slot] = event.size;
        else if (event.kind == EventKind::free)
            now -= live[event.slot];
        peak = std::max(peak, now);
    }
    return peak;
}

// FNV-1a over what a replay sees.
std::uint64_t fingerprint(const std::vector<TraceEvent>& events) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    const auto add = [&hash](std::uint64_t value) {
        hash = (hash ^ value) * 0x100000001b3U;
        hash ^= hash >> 29U;
    };
    for (const TraceEvent& event : events) {
        add(static_cast<std::uint64_t>(event.time));
        add(event.size);
        add(event.slot);
        add(to_integer(event.stream));
        add(event.aux);
        add(static_cast<std::uint64_t>(event.kind) << 8U | event.flags);
    }
    return hash;
}

}  // namespace

TEST_CASE("every kernel has its own number, one stream and moment, and each buffer once",
          "[generator][uses]") {
    for (const std::string& spec : kSpecs) {
        const Program program = must_generate(spec);
        const std::vector<Kernel> kernels = kernels_of(program.events);
        INFO(spec);
        REQUIRE(kernels.size() > 50);
        std::set<std::uint32_t> numbers;
        for (const Kernel& kernel : kernels) {
            std::set<std::uint32_t> slots;
            bool well_formed = numbers.insert(program.events[kernel.first].aux).second;
            for (std::size_t i = kernel.first; i < kernel.first + kernel.count; ++i) {
                const TraceEvent& use = program.events[i];
                well_formed &= slots.insert(use.slot).second && use.time == kernel.time &&
                               use.stream == kernel.stream &&
                               (use.flags & (kReads | kWrites)) != 0 &&
                               (use.flags & ~(kReads | kWrites)) == 0;
            }
            INFO("kernel " << program.events[kernel.first].aux);
            REQUIRE(well_formed);
        }
    }
}

TEST_CASE("nothing is read that nobody has written, and on a stream kernels take time",
          "[generator][uses]") {
    for (const std::string& spec : kSpecs) {
        const Program program = must_generate(spec);
        INFO(spec);
        std::vector<bool> written(program.info.slot_count, false);
        std::map<std::uint32_t, Nanoseconds> busy;  // by stream: its last kernel's begin
        std::map<std::uint32_t, std::uint32_t> last;
        bool overlaps = false;
        bool blank = false;
        for (const TraceEvent& event : program.events) {
            if (event.kind == EventKind::allocate)
                written[event.slot] = false;
            if (event.kind != EventKind::use)
                continue;
            blank |= (event.flags & kReads) != 0 && !written[event.slot];
            written[event.slot] = written[event.slot] || (event.flags & kWrites) != 0;
            const std::uint32_t stream = to_integer(event.stream);
            if (last.count(stream) != 0 && last[stream] != event.aux)
                overlaps |= event.time < busy[stream] + 5000;
            last[stream] = event.aux;
            busy[stream] = event.time;
        }
        CHECK_FALSE(blank);
        CHECK_FALSE(overlaps);
    }
}

TEST_CASE("programs with uses are the same on every machine", "[generator][uses]") {
    const auto of = [](const std::string& spec) {
        return fingerprint(must_generate(spec + "events=3000").events);
    };

    CHECK(of("query:") == 0xf7d4597647fcb290U);
    CHECK(of("training:variable=true,") == 0x1d77de78af5ef70eU);
    CHECK(of("kv-cache:") == 0xb090c8bdd7c6b9e8U);
    CHECK(of("adversarial:") == 0x285f6f843d136800U);
    CHECK(of("adversarial:pattern=flood,") == 0xf71fc00f6a31254eU);
    CHECK(of("adversarial:pattern=sizes,") == 0xdcc3dee54e3244bU);
    CHECK(of("adversarial:pattern=gang,") == 0x8740ea6779082ea3U);
    CHECK(of("adversarial:pattern=phases,") == 0x33557d51870e1a36U);
}

// A task: what it reserved, and the most that it had.
struct TaskFigures {
    Bytes reserved = 0;
    Bytes peak = 0;
};

// Checks that reservations are balanced, one at a time on each stream.
std::vector<TaskFigures> tasks_of(const Program& program) {
    struct OpenTask {
        bool open = false;
        std::uint32_t task = 0;
        Bytes now = 0;
        TaskFigures figures;
    };

    std::map<std::uint32_t, OpenTask> open;
    std::map<std::uint32_t, Bytes> sizes;
    std::set<std::uint32_t> seen;
    std::vector<TaskFigures> tasks;
    for (const TraceEvent& event : program.events) {
        OpenTask& task = open[to_integer(event.stream)];
        if (event.kind == EventKind::reserve) {
            REQUIRE_FALSE(task.open);
            REQUIRE(seen.insert(event.aux).second);
            REQUIRE(event.size > 0);
            task = {true, event.aux, 0, {event.size, 0}};
        } else if (event.kind == EventKind::release) {
            REQUIRE(task.open);
            REQUIRE(task.task == event.aux);
            REQUIRE(task.figures.reserved == event.size);
            REQUIRE(task.now == 0);
            task.open = false;
            tasks.push_back(task.figures);
        } else if (event.kind == EventKind::allocate && task.open) {
            task.now += sizes[event.slot] = event.size;
            task.figures.peak = std::max(task.figures.peak, task.now);
        } else if (event.kind == EventKind::free && task.open) {
            task.now -= sizes[event.slot];
        }
    }
    for (const auto& [stream, task] : open)
        REQUIRE_FALSE(task.open);
    return tasks;
}

TEST_CASE("query's tasks reserve and give back, and overshoot as often as told",
          "[generator][uses]") {
    const std::uint64_t overshoot = GENERATE(0UL, 20UL, 100UL);
    const std::uint64_t accuracy = GENERATE(50UL, 100UL);
    const Program program = must_generate(
        fmt::format("query:events=200000,overshoot={},accuracy={}", overshoot, accuracy));

    const std::vector<TaskFigures> tasks = tasks_of(program);

    REQUIRE(tasks.size() > 400);
    double beyond = 0;
    for (const TaskFigures& task : tasks) {
        beyond += task.peak > task.reserved ? 1 : 0;
        CHECK(task.reserved <= task.peak * 100 / accuracy);
        CHECK(task.reserved >= task.peak * (accuracy - 1) / 100);
        if (overshoot == 0 && accuracy == 100)
            CHECK(task.reserved == task.peak);
    }
    CHECK(beyond / static_cast<double>(tasks.size()) ==
          Approx(static_cast<double>(overshoot) / 100).margin(0.06));
}

TEST_CASE("query has as many tasks as told, on all streams", "[generator][uses]") {
    const Program program = must_generate("query:tasks=37,streams=5");

    CHECK(tasks_of(program).size() == 37);
    std::set<std::uint32_t> streams;
    for (const TraceEvent& event : program.events) {
        if (event.kind == EventKind::reserve)
            streams.insert(to_integer(event.stream));
    }
    CHECK(streams == std::set<std::uint32_t>{0, 1, 2, 3, 4});
    CHECK(program.info.streams.size() == 5);
}

TEST_CASE("query's popular tables are read more often", "[generator][uses]") {
    const auto reads_of = [](const std::string& skew) {
        const Program program = must_generate("query:events=100000,tables=4,chunks=2,skew=" + skew);
        std::vector<double> reads(4, 0);
        for (const TraceEvent& event : program.events) {
            // The tables' chunks come first, so they have the first slots.
            if (event.kind == EventKind::use && event.slot < 8 && event.flags == kReads)
                reads[event.slot / 2] += 1;
        }
        return reads;
    };

    const std::vector<double> even = reads_of("0");
    const std::vector<double> skewed = reads_of("1");

    CHECK(even[0] / even[3] == Approx(1).epsilon(0.15));
    CHECK(skewed[0] / skewed[3] == Approx(4).epsilon(0.2));
}

TEST_CASE("training reads in reverse what it kept, and writes all weights at the end of a step",
          "[generator][uses]") {
    const Program program = must_generate("training:steps=2,layers=3,hidden=64,vocabulary=100");
    std::vector<std::string> marks;
    std::vector<std::uint32_t> kept;      // allocated and still live at the end of forward
    std::vector<std::uint32_t> consumed;  // of these, in the order in which backward frees them
    std::set<std::uint32_t> weights;      // live before the first step
    std::set<std::uint32_t> live;
    std::set<std::uint32_t> updated;
    for (const TraceEvent& event : program.events) {
        if (event.kind == EventKind::mark) {
            marks.emplace_back(program.info.strings[event.aux]);
            if (marks.size() == 1)
                weights = live;
            if (marks.size() == 5)
                break;
        }
        const std::string phase = marks.empty() ? "" : marks.back();
        if (event.kind == EventKind::allocate) {
            live.insert(event.slot);
            if (phase == "forward")
                kept.push_back(event.slot);
        } else if (event.kind == EventKind::free) {
            live.erase(event.slot);
            const bool was_kept = std::find(kept.begin(), kept.end(), event.slot) != kept.end();
            const bool is_first =
                std::find(consumed.begin(), consumed.end(), event.slot) == consumed.end();
            if (phase == "backward" && was_kept && is_first)
                consumed.push_back(event.slot);
        } else if (event.kind == EventKind::use && phase == "optimizer" &&
                   (event.flags & kWrites) != 0) {
            updated.insert(event.slot);
        }
    }

    CHECK(marks == std::vector<std::string>{"step", "forward", "backward", "optimizer", "step"});
    CHECK(kept.size() == 2 + 3 * 8 + 1);
    std::reverse(kept.begin(), kept.end());
    CHECK(consumed == kept);
    CHECK(weights.size() == (1 + 3 * 4) * 3);
    CHECK(updated == weights);
    CHECK(live == weights);
}

TEST_CASE("training's sizes are those of the model, and its lengths vary when told",
          "[generator][uses]") {
    const auto sizes_of = [](const std::string& options) {
        const Program program = must_generate(
            "training:steps=20,layers=1,hidden=128,batch=2,sequence=64,vocabulary=10" + options);
        std::set<Bytes> sizes;
        for (const TraceEvent& event : program.events) {
            if (event.kind == EventKind::allocate)
                sizes.insert(event.size);
        }
        return sizes;
    };

    const std::set<Bytes> fixed = sizes_of("");
    const std::set<Bytes> plain = sizes_of(",adam=false");
    const std::set<Bytes> varied = sizes_of(",variable=true");

    CHECK(fixed.count(128 * 4 * 128 * 2) == 1);  // up and down
    CHECK(fixed.count(128 * 4 * 128 * 4) == 1);  // their moments
    CHECK(plain.count(128 * 4 * 128 * 4) == 0);
    CHECK(fixed.count(2 * 64 * 4 * 128 * 2) == 1);  // an activation
    CHECK(fixed.size() < 15);
    CHECK(varied.size() > 30);
    CHECK(*varied.rbegin() == *fixed.rbegin());  // never longer than told
}

TEST_CASE("kv-cache: weights in every step, caches together, few at work of many",
          "[generator][uses]") {
    const Program program =
        must_generate("kv-cache:events=50000,sessions=100,active=4,layers=2,weights=1GiB");
    std::set<std::uint32_t> weights;
    std::vector<std::uint64_t> last_use(program.info.slot_count, 0);
    std::uint64_t with_weights = 0;
    std::uint64_t kernels = 0;
    std::size_t most_idle = 0;
    std::set<std::uint32_t> blocks;
    for (const TraceEvent& event : program.events) {
        if (event.kind == EventKind::allocate && event.size == 1_GiB)
            weights.insert(event.slot);
        if (event.kind == EventKind::allocate && event.size == 2_MiB)
            blocks.insert(event.slot);
        if (event.kind == EventKind::free)
            blocks.erase(event.slot);
        if (event.kind == EventKind::use)
            last_use[event.slot] = event.aux;
        most_idle = std::max(most_idle, blocks.size());
    }
    for (const Kernel& kernel : kernels_of(program.events)) {
        ++kernels;
        for (std::size_t i = kernel.first; i < kernel.first + kernel.count; ++i)
            with_weights += weights.count(program.events[i].slot);
    }

    CHECK(weights.size() == 2);
    CHECK(with_weights == kernels);
    // Far more is live than a kernel uses.
    std::size_t widest = 0;
    for (const Kernel& kernel : kernels_of(program.events))
        widest = std::max(widest, kernel.count);
    CHECK(widest <= 2 + 4 * (32 + 6));
    CHECK(most_idle > 5 * widest);
}

TEST_CASE("kv-cache: a conversation's blocks grow until it is closed", "[generator][uses]") {
    const Program program = must_generate(
        "kv-cache:events=20000,sessions=1,active=1,blocks=10,layers=1,block_tokens=16,stride=16");
    Bytes blocks = 0;
    Bytes most = 0;
    std::uint64_t closed = 0;
    for (std::size_t i = 0; i < program.events.size(); ++i) {
        const TraceEvent& event = program.events[i];
        if (event.kind == EventKind::allocate && event.size == 2_MiB)
            ++blocks;
        most = std::max(most, blocks);
        if (event.kind == EventKind::free && blocks > 0 && --blocks == 0)
            ++closed;
    }
    CHECK(closed > 20);
    CHECK(most >= 10);
    CHECK(most < 10 + 2 + 16 + 1);  // the last turn ends whole
}

TEST_CASE("adversarial has the working set that was asked for, at any moment",
          "[generator][uses]") {
    for (const char* pattern : {"scan", "flood", "sizes", "gang", "phases"}) {
        const Program program = must_generate(
            fmt::format("adversarial:events=20000,working_set=1GiB,pattern={}", pattern));
        INFO(pattern);
        CHECK(peak_of(program.events) <= 1_GiB);
        CHECK(peak_of(program.events) >= 1_GiB - 100_MiB);
    }
}

// The slots that are used, in order, after all have been made.
std::vector<std::uint32_t> order_of(const Program& program) {
    std::vector<std::uint32_t> order;
    for (const TraceEvent& event : program.events) {
        if (event.kind == EventKind::use && (event.flags & kReads) != 0)
            order.push_back(event.slot);
    }
    return order;
}

TEST_CASE("adversarial: scan is a cycle, phases are halves, gang is most of it",
          "[generator][uses]") {
    const Program scan = must_generate("adversarial:events=5000,pattern=scan");
    const std::vector<std::uint32_t> cycle = order_of(scan);
    for (std::size_t i = 0; i < cycle.size(); ++i)
        REQUIRE(cycle[i] == i % scan.info.slot_count);

    const Program phases = must_generate("adversarial:events=20000,pattern=phases");
    const std::uint32_t half = phases.info.slot_count / 2;
    std::uint64_t changes = 0;
    const std::vector<std::uint32_t> order = order_of(phases);
    for (std::size_t i = 1; i < order.size(); ++i)
        if ((order[i] < half) != (order[i - 1] < half))
            ++changes;
    CHECK(changes == (order.size() - 1) / (16 * half));

    const Program gang = must_generate("adversarial:events=20000,pattern=gang,gang=70");
    std::vector<Bytes> sizes(gang.info.slot_count, 0);
    for (const TraceEvent& event : gang.events) {
        if (event.kind == EventKind::allocate)
            sizes[event.slot] = event.size;
    }
    for (const Kernel& kernel : kernels_of(gang.events)) {
        if (kernel.count == 1)
            continue;  // it makes a buffer
        Bytes used = 0;
        for (std::size_t i = kernel.first; i < kernel.first + kernel.count; ++i)
            used += sizes[gang.events[i].slot];
        REQUIRE(used <= 8_GiB / 10 * 7);
        REQUIRE(used > 8_GiB / 10 * 7 - 64_MiB);
    }
}

TEST_CASE("adversarial: flood uses each of a hot eighth four times as often as all else",
          "[generator][uses]") {
    const Program program = must_generate("adversarial:events=30000,pattern=flood");
    const std::uint32_t hot = program.info.slot_count / 8;
    std::uint64_t of_hot = 0;
    std::uint64_t of_others = 0;
    for (const std::uint32_t slot : order_of(program))
        ++(slot < hot ? of_hot : of_others);
    const double each_hot = static_cast<double>(of_hot) / hot;
    const double each_other = static_cast<double>(of_others) / (program.info.slot_count - hot);
    CHECK(each_hot / each_other == Approx(4).epsilon(0.1));
}

TEST_CASE("adversarial: sizes are of every magnitude", "[generator][uses]") {
    const Program program = must_generate("adversarial:events=30000,pattern=sizes");
    std::map<unsigned long, std::uint64_t> magnitudes;
    for (const TraceEvent& event : program.events) {
        if (event.kind == EventKind::allocate)
            ++magnitudes[static_cast<unsigned long>(std::bit_width(event.size))];
    }
    for (unsigned long magnitude = 1; magnitude <= 30; ++magnitude) {
        INFO(magnitude);
        CHECK(magnitudes[magnitude] > 30);
    }
}

TEST_CASE("rank weights follow Zipf's law with whole exponents", "[generator]") {
    using generators::rank_weights;
    CHECK(rank_weights(3, 0) == std::vector<std::uint32_t>{1U << 24U, 1U << 24U, 1U << 24U});
    CHECK(rank_weights(4, 1)[3] == 1U << 22U);
    CHECK(rank_weights(4, 2)[3] == 1U << 20U);
    CHECK(rank_weights(100'000, 3).back() == 1);
}

}  // namespace tidemark
