// steps: a training loop. Parameters are live throughout. Each step goes forward through the layers
// and keeps activations, then backward, freeing them in reverse order while gradients appear; then
// the optimizer consumes the gradients. The length of the batch changes from step to step, and with
// it all activations, which fragments a caching allocator.
#include <algorithm>
#include <array>
#include <vector>

#include "traces/generators/generators.h"
#include "traces/generators/option_list.h"
#include "traces/generators/program.h"

namespace tidemark::generators {
namespace {

constexpr std::array kStepsOptions{
    events_option("100000", "1",
                  "At most this many events, in whole steps, but at least one step."),
    seed_option("Another seed gives other batches."),
    count_option("layers", "24", {"1", "10000"}, "Layers of the model."),
    count_option("width", "1024", {"1", "65536"},
                 "Features of a layer: its parameters are 12 width^2 * 4 bytes."),
    count_option("tokens", "8192", {"1", "1048576"}, "Tokens of the largest batch."),
    percent_option("vary", "50", {"0", "100"},
                   "Batches are smaller than the largest by up to this much."),
};

// What a layer of a transformer keeps from forward to backward, as multiples of the width.
constexpr std::array<Bytes, 6> kActivations{1, 3, 1, 1, 4, 4};
// Its parameters, as multiples of the width's square; the last represents everything
// one-dimensional.
constexpr std::array<Bytes, 5> kParameters{3, 1, 4, 4, 0};
constexpr Bytes kItem = 4;

class Steps {
  public:
    Steps(const Options& options, TraceSink& sink)
        : program_(sink, options.count("seed")),
          events_(options.count("events")),
          layers_(options.count("layers")),
          width_(options.count("width")),
          tokens_(options.count("tokens")),
          vary_(options.count("vary")) {}

    Result<TraceInfo> run() {
        TM_TRY(allocate_parameters());
        const std::uint64_t before = program_.event_count();
        TM_TRY(step());
        const std::uint64_t cost = program_.event_count() - before;
        while (program_.event_count() + cost + program_.live_count() <= events_)
            TM_TRY(step());
        TM_TRY(free_all(parameters_));
        return program_.finish(1);
    }

  private:
    using Slots = std::vector<std::uint32_t>;

    Result<void> allocate(Bytes size, Slots& slots) {
        return program_.allocate(size, StreamId::default_stream, slots.emplace_back());
    }

    Result<void> free_last(Slots& slots) {
        const std::uint32_t slot = slots.back();
        slots.pop_back();
        return program_.free(slot, StreamId::default_stream);
    }

    Result<void> free_all(Slots& slots) {
        while (!slots.empty())
            TM_TRY(free_last(slots));
        return {};
    }

    // A buffer that only one operation needs.
    Result<void> scratch(Bytes size) {
        Slots slots;
        TM_TRY(allocate(size, slots));
        return free_last(slots);
    }

    Bytes parameter_size(std::size_t i) const {
        return kItem * (kParameters[i] == 0 ? width_ : kParameters[i] * width_ * width_);
    }

    Result<void> allocate_parameters() {
        TM_TRY(program_.begin("model"));
        // The weight and the optimizer's two moments.
        for (std::uint64_t i = 0; i < layers_ * 3; ++i) {
            for (std::size_t k = 0; k < kParameters.size(); ++k)
                TM_TRY(allocate(parameter_size(k), parameters_));
        }
        return program_.end("model");
    }

    Result<void> step() {
        const std::uint64_t least = tokens_ - tokens_ * vary_ / 100;
        const std::uint64_t tokens =
            std::max<std::uint64_t>(1, least + program_.random().below(tokens_ - least + 1));
        const Bytes unit = tokens * width_ * kItem;
        TM_TRY(program_.begin("step"));
        TM_TRY(forward(unit));
        TM_TRY(backward(unit));
        TM_TRY(optimize());
        return program_.end("step");
    }

    Result<void> forward(Bytes unit) {
        TM_TRY(program_.begin("forward"));
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            for (const Bytes part : kActivations) {
                TM_TRY(allocate(part * unit, activations_));
                TM_TRY(scratch(unit));
            }
        }
        return program_.end("forward");
    }

    Result<void> backward(Bytes unit) {
        TM_TRY(program_.begin("backward"));
        Slots flowing;  // the gradient that is passed from layer to layer
        TM_TRY(allocate(unit, flowing));
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            for (std::size_t i = kActivations.size(); i-- > 0;) {
                TM_TRY(allocate(kActivations[i] * unit, flowing));
                if (i < kParameters.size())
                    TM_TRY(allocate(parameter_size(i), gradients_));
                TM_TRY(free_last(activations_));
                std::swap(flowing[0], flowing[1]);
                TM_TRY(free_last(flowing));
            }
        }
        TM_TRY(free_all(flowing));
        return program_.end("backward");
    }

    Result<void> optimize() {
        TM_TRY(program_.begin("optimizer"));
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            for (std::size_t i = 0; i < kParameters.size(); ++i)
                TM_TRY(scratch(parameter_size(i)));
        }
        TM_TRY(free_all(gradients_));
        return program_.end("optimizer");
    }

    Program program_;
    std::uint64_t events_;
    std::uint64_t layers_;
    std::uint64_t width_;
    std::uint64_t tokens_;
    std::uint64_t vary_;
    Slots parameters_;
    Slots activations_;
    Slots gradients_;
};

}  // namespace

GeneratorInfo steps() {
    return {"steps", "a training loop whose batches change in length", kStepsOptions, run<Steps>};
}

}  // namespace tidemark::generators
