// serving: a language model answers requests. Requests come and go. Each keeps a cache of keys and
// values per layer that grows with every token it produces, and every step needs some scratch
// memory whose size depends on the number of active requests. Allocators feel how the caches grow:
// `exact` reallocates for every token (as torch.cat does), `double` when a power of two is full,
// `block` adds a block of tokens and keeps the old ones (as paged engines do).
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "traces/generators/generators.h"
#include "traces/generators/option_list.h"
#include "traces/generators/program.h"

namespace tidemark::generators {
namespace {

constexpr std::array<std::string_view, 3> kGrowths{"double", "exact", "block"};

constexpr std::array kServingOptions{
    events_option("100000", "1",
                  "At most this many events: no step starts that would exceed it, and all steps "
                  "end completely."),
    seed_option("Another seed gives other requests."),
    count_option("requests", "64", {"1", "100000"},
                 "Most requests that are active at the same time."),
    count_option("layers", "8", {"1", "1000"}, "Layers, each with a cache of its own."),
    bytes_option("token_bytes", "4KiB", {"1", "1GiB"}, "Size of one token in one layer's cache."),
    choice_option("growth", "double", kGrowths, "How a cache grows."),
};

constexpr std::uint64_t kBlockTokens = 16;
constexpr std::uint64_t kVocabulary = 32000;

struct Answer {
    std::uint64_t tokens = 0;    // in the cache
    std::uint64_t capacity = 0;  // tokens that fit without growing
    std::uint64_t end = 0;       // tokens at which it is done
    std::vector<std::uint32_t> caches;
};

class Serving {
  public:
    Serving(const Options& options, TraceSink& sink)
        : program_(sink, options.count("seed")),
          events_(options.count("events")),
          requests_(options.count("requests")),
          layers_(options.count("layers")),
          token_bytes_(options.bytes("token_bytes")),
          growth_(options.choice("growth")) {}

    Result<TraceInfo> run() {
        while (program_.event_count() + worst_step() + program_.live_count() <= events_)
            TM_TRY(step());
        for (Answer& answer : answers_)
            TM_TRY(finish(answer));
        return program_.finish(1);
    }

  private:
    static constexpr StreamId kStream = StreamId::default_stream;

    // The most events of a step: every request grows, one arrives, one's caches are freed, scratch.
    std::uint64_t worst_step() const { return (2 * answers_.size() + 4) * layers_ + 8; }

    // 2^k to 2^(k+1) tokens, k drawn evenly from [low, high].
    std::uint64_t draw_length(std::uint64_t low, std::uint64_t high) {
        const std::uint64_t base = std::uint64_t{1}
                                   << (low + program_.random().below(high - low + 1));
        return base + program_.random().below(base);
    }

    Result<void> step() {
        TM_TRY(program_.begin("step"));
        if (answers_.size() < requests_ && program_.random().below(4) == 0)
            TM_TRY(arrive());
        std::uint32_t scratch = kNoSlot;
        if (!answers_.empty())
            TM_TRY(program_.allocate(answers_.size() * kVocabulary * 2, kStream, scratch));
        for (std::size_t i = 0; i < answers_.size();) {
            TM_TRY(extend(answers_[i]));
            if (answers_[i].tokens < answers_[i].end) {
                ++i;
                continue;
            }
            TM_TRY(finish(answers_[i]));
            answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (scratch != kNoSlot)
            TM_TRY(program_.free(scratch, kStream));
        return program_.end("step");
    }

    Result<void> arrive() {
        Answer& answer = answers_.emplace_back();
        answer.tokens = draw_length(4, 10);
        answer.end = answer.tokens + draw_length(4, 9);
        // The prompt is read at once, with scratch of its length.
        std::uint32_t scratch = kNoSlot;
        TM_TRY(program_.allocate(answer.tokens * token_bytes_ * 4, kStream, scratch));
        TM_TRY(grow(answer));
        return program_.free(scratch, kStream);
    }

    Result<void> extend(Answer& answer) {
        ++answer.tokens;
        return answer.tokens > answer.capacity ? grow(answer) : Result<void>();
    }

    // Makes room for the answer's tokens in every layer.
    Result<void> grow(Answer& answer) {
        const std::uint64_t before = answer.capacity;
        const bool in_blocks = growth_ == "block";
        if (growth_ == "exact")
            answer.capacity = answer.tokens;
        else if (in_blocks)
            answer.capacity = (answer.tokens + kBlockTokens - 1) / kBlockTokens * kBlockTokens;
        else
            answer.capacity = std::bit_ceil(answer.tokens);
        const std::uint64_t added = in_blocks ? answer.capacity - before : answer.capacity;
        std::vector<std::uint32_t> old;
        if (!in_blocks)
            old.swap(answer.caches);
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            TM_TRY(program_.allocate(added * token_bytes_, kStream, answer.caches.emplace_back()));
            if (layer < old.size())
                TM_TRY(program_.free(old[layer], kStream));
        }
        return {};
    }

    Result<void> finish(Answer& answer) {
        for (const std::uint32_t slot : answer.caches)
            TM_TRY(program_.free(slot, kStream));
        return {};
    }

    Program program_;
    std::uint64_t events_;
    std::uint64_t requests_;
    std::uint64_t layers_;
    Bytes token_bytes_;
    std::string_view growth_;  // a view into the options, which outlive the run
    std::vector<Answer> answers_;
};

}  // namespace

GeneratorInfo serving() {
    return {"serving", "a language model's server: caches that grow, requests that come and go",
            kServingOptions, run<Serving>};
}

}  // namespace tidemark::generators
