// training: training a transformer. Weights, and Adam's two moments, are live throughout. Each step
// goes forward through the layers and keeps what backward will read. Backward reads it in reverse
// order with the weights, frees it and makes gradients. The optimizer reads the gradients and
// writes the weights. So within a step every buffer's next use is known from the step before, and
// the order is the worst one for LRU.
//
// A layer is a chain of operators: norm, q/k/v projection, attention, output projection, norm, up,
// activation, down; residual additions count as part of their neighbours. Weights, activations and
// gradients take 2 bytes an element, moments 4.
#include <algorithm>
#include <array>
#include <vector>

#include "traces/generators/generators.h"
#include "traces/generators/kernel_time.h"
#include "traces/generators/option_list.h"
#include "traces/generators/program.h"

namespace tidemark::generators {
namespace {

constexpr std::array kTrainingOptions{
    events_option("100000", "1",
                  "At most this many events, in whole steps, but at least one step."),
    seed_option("Another seed gives other kernel times, and with variable=true other lengths."),
    count_option("steps", "0", {"0", "1000000000"},
                 "At most this many steps; 0 = as many as fit into the events."),
    count_option("layers", "12", {"1", "1000"}, "Layers of the model."),
    count_option("hidden", "1024", {"1", "65536"},
                 "Features of a token; a layer has 12 hidden^2 weights."),
    count_option("batch", "8", {"1", "1024"}, "Sequences in a step."),
    count_option("sequence", "1024", {"1", "131072"}, "Most tokens in a sequence."),
    boolean_option(
        "variable", "false",
        "The sequences of each step have another length, from half of `sequence` to all of it."),
    count_option("vocabulary", "32000", {"1", "262144"},
                 "Number of different tokens: the width of the embedding and of the last layer."),
    boolean_option("adam", "true",
                   "The optimizer keeps two moments of each weight; otherwise it keeps nothing."),
    count_option("tflops", "400", {"1", "100000"}, "Computing speed of kernels.", "TFLOP/s"),
    count_option("rate", "3000", {"1", "1000000"},
                 "Speed at which kernels move bytes; the slower of the two counts.", "GB/s"),
};

constexpr Bytes kElement = 2;
constexpr Bytes kMoment = 4;

// One operator of a layer. Widths are multiples of `hidden`; its input is the previous one's
// output.
struct Operator {
    std::uint64_t in = 1;
    std::uint64_t out = 1;
    bool has_weight = false;
    bool is_attention = false;
};

constexpr std::array<Operator, 8> kLayer{{
    {.in = 1, .out = 1},                        // norm
    {.in = 1, .out = 3, .has_weight = true},    // queries, keys, values
    {.in = 3, .out = 1, .is_attention = true},  // attention
    {.in = 1, .out = 1, .has_weight = true},    // output projection
    {.in = 1, .out = 1},                        // norm
    {.in = 1, .out = 4, .has_weight = true},    // up
    {.in = 4, .out = 4},                        // activation
    {.in = 4, .out = 1, .has_weight = true},    // down
}};

// A weight and what belongs to it. The gradient is live from backward to the optimizer.
struct Weight {
    std::uint64_t elements = 0;
    std::uint32_t value = kNoSlot;
    std::uint32_t gradient = kNoSlot;
    std::array<std::uint32_t, 2> moments{kNoSlot, kNoSlot};
};

// A buffer and its size, for the time of kernels.
struct Tensor {
    std::uint32_t slot = kNoSlot;
    Bytes size = 0;
};

class Training {
  public:
    Training(const Options& options, TraceSink& sink)
        : program_(sink, options.count("seed"), Pace::by_generator),
          events_(options.count("events")),
          steps_(options.count("steps")),
          layers_(options.count("layers")),
          hidden_(options.count("hidden")),
          batch_(options.count("batch")),
          sequence_(options.count("sequence")),
          variable_(options.boolean("variable")),
          vocabulary_(options.count("vocabulary")),
          adam_(options.boolean("adam")),
          rates_{.bytes_per_ns = options.count("rate"),
                 .flops_per_ns = options.count("tflops") * 1000} {}

    Result<TraceInfo> run() {
        TM_TRY(make_weights());
        std::uint64_t done = 0;
        std::uint64_t cost = 0;
        do {
            const std::uint64_t before = program_.event_count();
            TM_TRY(step());
            cost = program_.event_count() - before;
            ++done;
        } while ((steps_ == 0 || done < steps_) &&
                 program_.event_count() + cost + program_.live_count() <= events_);
        for (const Weight& weight : weights_) {
            TM_TRY(free(weight.value));
            for (const std::uint32_t moment : weight.moments)
                TM_TRY(moment == kNoSlot ? Result<void>() : free(moment));
        }
        return program_.finish(1);
    }

  private:
    static constexpr StreamId kStream = StreamId::default_stream;

    Result<Tensor> allocate(Bytes size) {
        Tensor tensor{kNoSlot, size};
        TM_TRY(program_.allocate(size, kStream, tensor.slot));
        return tensor;
    }

    Result<void> free(std::uint32_t slot) { return program_.free(slot, kStream); }

    // Runs a kernel: each byte of its buffers moves once for each way in which it is used. Its time
    // varies by up to a twentieth.
    Result<void> kernel(std::span<const Use> uses, Bytes moved, std::uint64_t flops = 0) {
        TM_TRY(program_.launch(uses, kStream));
        const Nanoseconds time = kernel_time(rates_, moved, flops);
        const std::uint64_t spread = static_cast<std::uint64_t>(time) / 20 + 1;
        program_.pass(time + static_cast<Nanoseconds>(program_.random().below(spread)));
        return {};
    }

    Result<void> make_weights() {
        // The embedding, which is also the last layer's weight, comes first.
        weights_.push_back({.elements = vocabulary_ * hidden_});
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            for (const Operator& op : kLayer) {
                if (op.has_weight)
                    weights_.push_back({.elements = op.in * op.out * hidden_ * hidden_});
            }
        }
        for (Weight& weight : weights_) {
            TM_TRY(make(weight.elements * kElement, weight.value));
            if (!adam_)
                continue;
            for (std::uint32_t& moment : weight.moments)
                TM_TRY(make(weight.elements * kMoment, moment));
        }
        return {};
    }

    // A buffer with initial contents.
    Result<void> make(Bytes size, std::uint32_t& slot) {
        TM_TRY(program_.allocate(size, kStream, slot));
        return kernel(std::array{Use{slot, kWrites}}, size);
    }

    Result<void> step() {
        std::uint64_t length = sequence_;
        if (variable_)
            length = sequence_ - program_.random().below(sequence_ / 2 + 1);
        tokens_ = batch_ * length;
        length_ = length;
        TM_TRY(program_.mark("step"));
        TM_TRY(program_.mark("forward"));
        TM_TRY(forward());
        TM_TRY(program_.mark("backward"));
        TM_TRY(backward());
        TM_TRY(program_.mark("optimizer"));
        return optimize();
    }

    std::uint64_t flops(const Operator& op) const {
        if (op.is_attention)
            return 4 * tokens_ * length_ * hidden_;
        return op.has_weight ? 2 * tokens_ * op.in * op.out * hidden_ * hidden_ : 0;
    }

    Bytes width(std::uint64_t multiple) const { return tokens_ * multiple * hidden_ * kElement; }

    Result<void> forward() {
        TM_ASSIGN(const Tensor tokens, allocate(tokens_ * sizeof(std::int64_t)));
        TM_TRY(kernel(std::array{Use{tokens.slot, kWrites}}, tokens.size));
        kept_.push_back(tokens);
        TM_ASSIGN(const Tensor embedded, allocate(width(1)));
        TM_TRY(kernel(std::array{Use{tokens.slot, kReads}, Use{weights_[0].value, kReads},
                                 Use{embedded.slot, kWrites}},
                      2 * embedded.size));
        kept_.push_back(embedded);
        std::size_t weight = 1;
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            for (const Operator& op : kLayer) {
                TM_TRY(forward(op, weights_[weight]));
                weight += op.has_weight ? 1 : 0;
            }
        }
        return loss();
    }

    Result<void> forward(const Operator& op, const Weight& weight) {
        const Tensor in = kept_.back();
        TM_ASSIGN(const Tensor out, allocate(width(op.out)));
        kept_.push_back(out);
        std::array uses{Use{in.slot, kReads}, Use{out.slot, kWrites}, Use{weight.value, kReads}};
        const Bytes read = op.has_weight ? weight.elements * kElement : 0;
        return kernel(std::span(uses).first(op.has_weight ? 3 : 2), in.size + out.size + read,
                      flops(op));
    }

    // The last layer and the loss, whose gradient replaces the logits.
    Result<void> loss() {
        const Tensor last = kept_.back();
        TM_ASSIGN(const Tensor logits, allocate(tokens_ * vocabulary_ * kElement));
        kept_.push_back(logits);
        TM_TRY(kernel(std::array{Use{last.slot, kReads}, Use{weights_[0].value, kReads},
                                 Use{logits.slot, kWrites}},
                      last.size + logits.size + weights_[0].elements * kElement,
                      2 * tokens_ * hidden_ * vocabulary_));
        return kernel(std::array{Use{logits.slot, kReads | kWrites}}, 2 * logits.size);
    }

    Result<Tensor> gradient_of(Weight& weight) {
        TM_ASSIGN(const Tensor gradient, allocate(weight.elements * kElement));
        weight.gradient = gradient.slot;
        return gradient;
    }

    Result<void> backward() {
        const Tensor logits = kept_.back();
        kept_.pop_back();
        const Tensor last = kept_.back();
        TM_ASSIGN(Tensor flowing, allocate(last.size));
        TM_ASSIGN(const Tensor gradient, gradient_of(weights_[0]));
        TM_TRY(kernel(std::array{Use{logits.slot, kReads}, Use{last.slot, kReads},
                                 Use{weights_[0].value, kReads}, Use{flowing.slot, kWrites},
                                 Use{gradient.slot, kWrites}},
                      logits.size + 2 * last.size + 2 * gradient.size,
                      4 * tokens_ * hidden_ * vocabulary_));
        TM_TRY(free(logits.slot));
        std::size_t weight = weights_.size();
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            for (auto op = kLayer.rbegin(); op != kLayer.rend(); ++op) {
                if (op->has_weight)
                    --weight;
                // An operator without a weight gets one that it doesn't use.
                TM_TRY(backward(*op, weights_[op->has_weight ? weight : 0], flowing));
            }
        }
        return end_backward(flowing);
    }

    // `flowing` is the gradient of the operator's output, later of its input.
    Result<void> backward(const Operator& op, Weight& weight, Tensor& flowing) {
        const Tensor out = kept_.back();
        kept_.pop_back();
        const Tensor in = kept_.back();
        TM_ASSIGN(const Tensor before, allocate(in.size));
        std::vector<Use>& uses = uses_;
        uses.assign({{flowing.slot, kReads}, {in.slot, kReads}, {before.slot, kWrites}});
        Bytes moved = flowing.size + 2 * in.size;
        if (op.is_attention) {
            uses.push_back({out.slot, kReads});
            moved += out.size;
        }
        if (op.has_weight) {
            TM_ASSIGN(const Tensor gradient, gradient_of(weight));
            uses.push_back({weight.value, kReads});
            uses.push_back({gradient.slot, kWrites});
            moved += 2 * gradient.size;
        }
        TM_TRY(kernel(uses, moved, 2 * flops(op)));
        TM_TRY(free(out.slot));
        TM_TRY(free(flowing.slot));
        flowing = before;
        return {};
    }

    // The embedding's share, and then everything that is left is freed.
    Result<void> end_backward(const Tensor& flowing) {
        TM_TRY(kernel(std::array{Use{flowing.slot, kReads}, Use{kept_.front().slot, kReads},
                                 Use{weights_[0].gradient, kReads | kWrites}},
                      2 * flowing.size));
        TM_TRY(free(flowing.slot));
        for (; !kept_.empty(); kept_.pop_back())
            TM_TRY(free(kept_.back().slot));
        return {};
    }

    Result<void> optimize() {
        for (Weight& weight : weights_) {
            uses_.assign({{weight.gradient, kReads}, {weight.value, kReads | kWrites}});
            Bytes moved = 3 * weight.elements * kElement;
            if (adam_) {
                for (const std::uint32_t moment : weight.moments)
                    uses_.push_back({moment, kReads | kWrites});
                moved += 4 * weight.elements * kMoment;
            }
            TM_TRY(kernel(uses_, moved));
            TM_TRY(free(weight.gradient));
        }
        return {};
    }

    Program program_;
    std::uint64_t events_;
    std::uint64_t steps_;  // 0: as many as fit
    std::uint64_t layers_;
    std::uint64_t hidden_;
    std::uint64_t batch_;
    std::uint64_t sequence_;
    bool variable_;
    std::uint64_t vocabulary_;
    bool adam_;
    KernelRates rates_;
    std::uint64_t tokens_ = 0;  // of this step
    std::uint64_t length_ = 0;  // of its sequences
    std::vector<Weight> weights_;
    std::vector<Tensor> kept_;  // what backward will read, in order
    std::vector<Use> uses_;     // of one kernel
};

}  // namespace

GeneratorInfo training() {
    return {"training",
            "training a transformer: what is read forward is read again in reverse order",
            kTrainingOptions, run<Training>};
}

}  // namespace tidemark::generators
