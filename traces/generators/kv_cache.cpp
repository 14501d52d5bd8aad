// kv-cache: a language model answers in conversations that are mostly idle. Each conversation keeps
// a cache of keys and values in blocks, one buffer for each block and layer, which grows as the
// conversation goes on. Now and then a conversation has a new turn: its prompt is read (prefill),
// then an answer is produced step by step (decode). Each step reads all its blocks, together with
// those of the other active conversations and the layer's weights. Which conversation is next
// follows Zipf's law, so some come back soon, and most of what is live isn't needed for long. A
// conversation that has reached its full length is closed, and a new one replaces it.
#include <algorithm>
#include <array>
#include <vector>

#include "traces/generators/alias_table.h"
#include "traces/generators/generators.h"
#include "traces/generators/kernel_time.h"
#include "traces/generators/option_list.h"
#include "traces/generators/popularity.h"
#include "traces/generators/program.h"

namespace tidemark::generators {
namespace {

constexpr std::array kKvCacheOptions{
    events_option("100000", "1",
                  "At most this many events: no turn starts that would exceed it, and all turns "
                  "end completely."),
    seed_option("Another seed gives other conversations."),
    count_option("sessions", "200", {"1", "100000"},
                 "Conversations that are open, most of them idle."),
    count_option("active", "8", {"1", "1024"},
                 "Most conversations that are answered at the same time."),
    count_option("blocks", "32", {"2", "10000"},
                 "Blocks in a layer at which a conversation is closed."),
    bytes_option("block", "2MiB", {"1", "16GiB"}, "Size of a block of one layer."),
    count_option("block_tokens", "64", {"1", "65536"}, "Tokens that a block holds."),
    count_option("stride", "16", {"1", "4096"},
                 "Tokens that a step adds to an answer: more make a shorter trace."),
    count_option("layers", "2", {"1", "200"}, "Layers, each with weights and blocks of its own."),
    bytes_option("weights", "512MiB", {"1", "64GiB"}, "Weights of a layer, read in every step."),
    count_option(
        "skew", "1", {"0", "3"},
        "Which conversations come back: 0 = all equally often, else in proportion to 1/rank^skew."),
    count_option("think", "1000", {"0", "100000000"},
                 "Time from one turn of a conversation to its next, on average.", "ms"),
    count_option("tflops", "400", {"1", "100000"},
                 "Computing speed of kernels; decides how long prompts take.", "TFLOP/s"),
    count_option("rate", "3000", {"1", "1000000"},
                 "Speed at which kernels move bytes; decides how long steps take.", "GB/s"),
};

struct Session {
    std::uint64_t tokens = 0;           // in the cache
    std::uint64_t prompt = 0;           // that are still to be read
    std::uint64_t steps = 0;            // that its answer still takes
    std::vector<std::uint32_t> blocks;  // block by block, in each all layers
};

class KvCache {
  public:
    KvCache(const Options& options, TraceSink& sink)
        : program_(sink, options.count("seed"), Pace::by_generator),
          sessions_(options.count("sessions")),
          who_(rank_weights(sessions_.size(), options.count("skew"))),
          events_(options.count("events")),
          most_active_(options.count("active")),
          most_blocks_(options.count("blocks")),
          block_(options.bytes("block")),
          block_tokens_(options.count("block_tokens")),
          stride_(options.count("stride")),
          layers_(options.count("layers")),
          weights_(options.bytes("weights")),
          think_(options.count("think") * 1'000'000 / sessions_.size()),
          rates_{.bytes_per_ns = options.count("rate"),
                 .flops_per_ns = options.count("tflops") * 1000} {}

    Result<TraceInfo> run() {
        TM_TRY(load());
        next_turn_ = program_.now();
        for (;;) {
            admit();
            if (active_.empty() && full_)
                break;
            if (active_.empty())
                program_.go_to(next_turn_);
            else
                TM_TRY(step());
        }
        for (Session& session : sessions_)
            TM_TRY(close(session));
        for (const std::uint32_t slot : weight_slots_)
            TM_TRY(program_.free(slot, kStream));
        TM_TRY(program_.free(state_, kStream));
        return program_.finish(1);
    }

  private:
    static constexpr StreamId kStream = StreamId::default_stream;
    static constexpr Bytes kState = Bytes{1} << 20U;  // the buffer passed from layer to layer

    Result<void> load() {
        TM_TRY(program_.allocate(kState, kStream, state_));
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            TM_TRY(program_.allocate(weights_, kStream, weight_slots_.emplace_back()));
            TM_TRY(program_.launch(std::array{Use{weight_slots_.back(), kWrites}}, kStream));
            program_.pass(kernel_time(rates_, weights_));
        }
        return {};
    }

    // Starts the turns whose time has come, while there is room for them.
    void admit() {
        while (!full_ && next_turn_ <= program_.now() && active_.size() < most_active_) {
            Random& random = program_.random();
            const std::uint32_t who = who_.pick(random.next());
            const std::uint64_t prompt = 1 + random.below(2 * block_tokens_);
            const std::uint64_t steps = 1 + random.below(16);
            next_turn_ += static_cast<Nanoseconds>(think_ > 0 ? 1 + random.below(2 * think_) : 0);
            Session& session = sessions_[who];
            if (session.steps != 0 && think_ == 0)
                return;  // nobody thinks and this one is active: in a later step
            if (session.steps != 0)
                continue;
            session.prompt = prompt;
            session.steps = steps;
            active_.push_back(who);
            full_ = begun_ && program_.event_count() + events_left() > events_;
            begun_ = true;
            if (!full_)
                continue;
            session.prompt = session.steps = 0;  // it comes too late
            active_.pop_back();
        }
    }

    std::uint64_t blocks_of(std::uint64_t tokens) const {
        return (tokens + block_tokens_ - 1) / block_tokens_;
    }

    // The most events until all active conversations are done and everything is freed.
    std::uint64_t events_left() const {
        std::uint64_t events = program_.live_count();
        for (const std::uint32_t who : active_) {
            const Session& session = sessions_[who];
            const std::uint64_t end = session.tokens + session.prompt + session.steps * stride_;
            const std::uint64_t kernels = session.steps + (session.prompt > 0 ? 1 : 0);
            events += layers_ * (kernels * (blocks_of(end) + 2) + 2 * blocks_of(end)) -
                      2 * session.blocks.size();
        }
        return events;
    }

    // One step of all active conversations; new ones have their prompts read first.
    Result<void> step() {
        TM_TRY(program_.mark("step"));
        for (const std::uint32_t who : active_) {
            Session& session = sessions_[who];
            if (session.prompt == 0)
                continue;
            const std::uint64_t prompt = session.prompt;
            session.prompt = 0;
            TM_TRY(extend({&who, 1}, prompt));
        }
        TM_TRY(extend(active_, stride_));
        for (std::size_t i = 0; i < active_.size();) {
            Session& session = sessions_[active_[i]];
            if (--session.steps > 0) {
                ++i;
                continue;
            }
            if (blocks_of(session.tokens) >= most_blocks_)
                TM_TRY(close(session));
            active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return {};
    }

    // Adds this many tokens to each of these conversations: one kernel per layer, which reads the
    // whole cache and writes what is new.
    Result<void> extend(std::span<const std::uint32_t> whom, std::uint64_t tokens) {
        for (const std::uint32_t who : whom) {
            Session& session = sessions_[who];
            const std::uint64_t wanted = blocks_of(session.tokens + tokens) * layers_;
            while (session.blocks.size() < wanted)
                TM_TRY(program_.allocate(block_, kStream, session.blocks.emplace_back()));
        }
        for (std::uint64_t layer = 0; layer < layers_; ++layer) {
            uses_.assign({{state_, written_ ? kBoth : kWrites}, {weight_slots_[layer], kReads}});
            written_ = true;
            for (const std::uint32_t who : whom)
                add_uses(sessions_[who], layer);
            TM_TRY(program_.launch(uses_, kStream));
            program_.pass(kernel_time(rates_, weights_ + (uses_.size() - 2) * block_,
                                      whom.size() * tokens * weights_));
        }
        for (const std::uint32_t who : whom)
            sessions_[who].tokens += tokens;
        return {};
    }

    // The blocks of one layer: full ones are read, the last is filled up, new ones are written.
    void add_uses(const Session& session, std::uint64_t layer) {
        for (std::uint64_t i = 0; i * layers_ < session.blocks.size(); ++i) {
            std::uint8_t mode = kReads;
            if (i * block_tokens_ >= session.tokens)
                mode = kWrites;
            else if ((i + 1) * block_tokens_ > session.tokens)
                mode = kBoth;
            uses_.push_back({session.blocks[i * layers_ + layer], mode});
        }
    }

    Result<void> close(Session& session) {
        for (const std::uint32_t slot : session.blocks)
            TM_TRY(program_.free(slot, kStream));
        session.blocks.clear();
        session.tokens = 0;
        return {};
    }

    static constexpr std::uint8_t kBoth = kReads | kWrites;

    Program program_;
    std::vector<Session> sessions_;
    AliasTable who_;
    std::uint64_t events_;
    std::uint64_t most_active_;
    std::uint64_t most_blocks_;
    Bytes block_;
    std::uint64_t block_tokens_;
    std::uint64_t stride_;
    std::uint64_t layers_;
    Bytes weights_;
    std::uint64_t think_;  // ns from turn to turn, over all conversations
    KernelRates rates_;
    std::uint32_t state_ = kNoSlot;
    std::vector<std::uint32_t> weight_slots_;  // by layer
    std::vector<std::uint32_t> active_;        // active sessions
    std::vector<Use> uses_;                    // of one kernel
    Nanoseconds next_turn_ = 0;
    bool written_ = false;  // the state
    bool begun_ = false;
    bool full_ = false;
};

}  // namespace

GeneratorInfo kv_cache() {
    return {"kv-cache", "a language model's conversations, most of them idle: caches in blocks",
            kKvCacheOptions, run<KvCache>};
}

}  // namespace tidemark::generators
