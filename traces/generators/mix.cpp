// mix: requests with the sizes and lifetimes of real programs, in random order. The workload for
// benchmarks and for traces longer than any recording.
//
// Each allocation draws a size, then a lifetime from the histogram for similar sizes, counted in
// allocations. Lifetimes of 32 and more are stretched or shrunk so that on average `live`
// allocations are live. The short ones, which characterise a program, stay as they are. When the
// events run out the rest is freed, each block at its time. A timer wheel holds what is due when,
// so the cost of an event is constant.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "traces/generators/alias_table.h"
#include "traces/generators/generators.h"
#include "traces/generators/mix_tables.h"
#include "traces/generators/option_list.h"
#include "traces/generators/program.h"

namespace tidemark::generators {
namespace {

constexpr std::array<std::string_view, 3> kShapes{"training", "churn", "uniform"};

constexpr std::array kMixOptions{
    events_option("1000000", "2",
                  "Number of events; one or two fewer if they don't divide evenly."),
    seed_option("Another seed gives another trace."),
    count_option("streams", "1", {"1", "1024"},
                 "Number of streams. Half of the requests are on the first; with more than one, an "
                 "eighth are also used on a second."),
    count_option("live", "2000", {"1", "10000000"},
                 "Allocations that are live at the same time, on average."),
    choice_option("shape", "training", kShapes,
                  "Sizes and lifetimes: of training runs, of random churn under a limit, or spread "
                  "evenly over all powers of two from 512 B to 64 MiB.",
                  "scripts/distil_mix.py"),
    count_option("scale", "1", {"1", "1048576"},
                 "Divides every size, so that many live allocations fit a device."),
};

constexpr std::uint64_t kLargestWheel = std::uint64_t{1} << 24U;
constexpr std::size_t kShortLives = 5;  // powers of two that are not stretched

// The wheel: slots by the time at which they end. A bucket holds the ends of every `size` steps.
class Wheel {
  public:
    explicit Wheel(std::size_t size) : heads_(size, kNoSlot) {}

    void add(std::uint32_t slot, std::uint64_t due) {
        if (slot >= ends_.size())
            ends_.resize(slot + std::size_t{1});
        std::uint32_t& head = heads_[due & (heads_.size() - 1)];
        ends_[slot] = {due, head};
        head = slot;
    }

    // Calls `end(slot)` for every slot that is due at `now`; must be called for every step.
    template <class End>
    Result<void> advance(std::uint64_t now, End end) {
        std::uint32_t slot = std::exchange(heads_[now & (heads_.size() - 1)], kNoSlot);
        while (slot != kNoSlot) {
            const Entry entry = ends_[slot];
            if (entry.due == now)
                TM_TRY(end(slot));
            else
                add(slot, entry.due);
            slot = entry.next;
        }
        return {};
    }

  private:
    struct Entry {
        std::uint64_t due = 0;
        std::uint32_t next = kNoSlot;
    };

    std::vector<std::uint32_t> heads_;
    std::vector<Entry> ends_;  // by slot
};

struct Shape {
    std::span<const SizeWeight> sizes;
    const LifeWeights* lives;
};

constexpr auto kUniformSizes = [] {
    std::array<SizeWeight, 18> sizes{};
    for (std::size_t i = 0; i < sizes.size(); ++i)
        sizes[i] = {Bytes{512} << i, 1};
    return sizes;
}();

constexpr LifeWeights kUniformLives = [] {
    LifeWeights lives{};
    for (auto& range : lives)
        range.fill(1);
    return lives;
}();

Shape shape_named(std::string_view name) {
    if (name == "churn")
        return {kChurnSizes, &kChurnLives};
    if (name == "uniform")
        return {kUniformSizes, &kUniformLives};
    return {kTrainingSizes, &kTrainingLives};
}

std::size_t range_of(Bytes size) {
    return (size > 1_MiB ? 1U : 0U) + (size > 10_MiB ? 1U : 0U);
}

AliasTable size_table(const Shape& shape) {
    std::vector<std::uint32_t> weights;
    for (const SizeWeight& entry : shape.sizes)
        weights.push_back(entry.weight);
    return AliasTable(weights);
}

// The factor by which long lifetimes are stretched, in 1/65536, so that on average `live` are live.
std::uint64_t stretch_for(const Shape& shape, std::uint64_t live) {
    std::array<std::uint64_t, 3> weight_of_range{};
    std::uint64_t total = 0;
    for (const SizeWeight& entry : shape.sizes) {
        weight_of_range[range_of(entry.size)] += entry.weight;
        total += entry.weight;
    }
    std::uint64_t short_sum = 0;  // of lives, times weight_sum
    std::uint64_t long_sum = 0;
    constexpr std::uint64_t kPrecision = 1024;
    for (std::size_t range = 0; range < weight_of_range.size(); ++range) {
        const auto& lives = (*shape.lives)[range];
        std::uint64_t lives_total = 0;
        for (const std::uint32_t weight : lives)
            lives_total += weight;
        for (std::size_t i = 0; i < lives.size(); ++i) {
            const std::uint64_t middle = (std::uint64_t{3} << i) * kPrecision / 2;
            const std::uint64_t part =
                middle * lives[i] / lives_total * weight_of_range[range] / total;
            (i < kShortLives ? short_sum : long_sum) += part;
        }
    }
    const std::uint64_t wanted = live * kPrecision;
    return wanted > short_sum ? ((wanted - short_sum) << 16U) / long_sum : 0;
}

class Mix {
  public:
    Mix(const Options& options, TraceSink& sink)
        : program_(sink, options.count("seed")),
          shape_(shape_named(options.choice("shape"))),
          sizes_(size_table(shape_)),
          lives_{AliasTable((*shape_.lives)[0]), AliasTable((*shape_.lives)[1]),
                 AliasTable((*shape_.lives)[2])},
          wheel_(std::bit_ceil(
              std::min<std::uint64_t>(1024 + 8 * options.count("live"), kLargestWheel))),
          stretch_(stretch_for(shape_, options.count("live"))),
          events_(options.count("events")),
          streams_(options.count("streams")),
          scale_(options.count("scale")) {}

    Result<TraceInfo> run() {
        const std::uint64_t cost = streams_ > 1 ? 3 : 2;  // of an allocation, at most
        for (std::uint64_t now = 0;; ++now) {
            TM_TRY(wheel_.advance(
                now, [this](std::uint32_t slot) { return program_.free(slot, stream_of_[slot]); }));
            if (program_.event_count() + program_.live_count() + cost <= events_)
                TM_TRY(allocate(now));
            else if (program_.live_count() == 0)
                return program_.finish(streams_);
        }
    }

  private:
    Result<void> allocate(std::uint64_t now) {
        Random& random = program_.random();
        const Bytes size = shape_.sizes[sizes_.pick(random.next())].size;
        const std::uint64_t life = draw_life(range_of(size));
        const StreamId stream = draw_stream();
        std::uint32_t slot = kNoSlot;
        TM_TRY(program_.allocate(std::max<Bytes>(1, size / scale_), stream, slot));
        if (slot >= stream_of_.size())
            stream_of_.resize(slot + std::size_t{1});
        stream_of_[slot] = stream;
        wheel_.add(slot, now + life);
        if (streams_ == 1 || random.below(8) != 0)
            return {};
        const auto other = static_cast<std::uint32_t>((to_integer(stream) + 1) % streams_);
        return program_.record_use(slot, StreamId{other});
    }

    std::uint64_t draw_life(std::size_t range) {
        const std::uint32_t power = lives_[range].pick(program_.random().next());
        const std::uint64_t bits = program_.random().next();
        const std::uint64_t life =
            (std::uint64_t{1} << power) + (bits & ((std::uint64_t{1} << power) - 1));
        return power < kShortLives ? life : std::max<std::uint64_t>(1, (life * stretch_) >> 16U);
    }

    StreamId draw_stream() {
        if (streams_ == 1)
            return StreamId::default_stream;
        const std::uint64_t drawn = program_.random().below(2 * (streams_ - 1));
        return StreamId{drawn < streams_ - 1 ? 0
                                             : static_cast<std::uint32_t>(drawn - streams_ + 2)};
    }

    Program program_;
    Shape shape_;
    AliasTable sizes_;
    std::array<AliasTable, 3> lives_;
    Wheel wheel_;
    std::uint64_t stretch_;
    std::uint64_t events_;
    std::uint64_t streams_;
    std::uint64_t scale_;
    std::vector<StreamId> stream_of_;  // by slot
};

}  // namespace

GeneratorInfo mix() {
    return {"mix", "sizes and lifetimes of real programs, in random order", kMixOptions, run<Mix>};
}

}  // namespace tidemark::generators
