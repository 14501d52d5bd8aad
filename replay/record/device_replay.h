// DeviceReplay: the model of an allocator in mid-run, next to the record of one device.
//
// It takes the record step by step, gives the program's requests to the model and compares what the
// model did with what is recorded. What the record leaves out it infers from what would reproduce
// the next entries: emptied caches, ended pools, which frees were completed by a retry's wait, a
// changed setting. What can only be decided later (which pool a segment belonged to) the caller
// decides: see open_choices. Copying it copies the model; the copies go their own ways.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/wrap/scripted.h"
#include "core/allocator/spec.h"
#include "replay/record/device_record.h"
#include "replay/record/verify.h"

namespace tidemark {

// The policy under test, and how it looks with the setting that programs switch while they run.
struct ModelSpec {
    PolicySpec policy;
    std::optional<PolicySpec> switched;  // expandable_segments the other way; empty if it has none
    Bytes capacity = 0;                  // of the device
};

class DeviceReplay {
  public:
    // What is held against the record beyond its own statements.
    struct Setup {
        bool infers_pools = false;     // pools by lives instead of by the events' own
        bool infers_switches = false;  // expandable_segments may be switched at any request
    };

    struct Findings;

    // What is assumed to have happened around a request or a run of releases.
    struct Explanation {
        std::size_t completed = 0;  // so many of the completions came before anything else
        bool pool_ended = false;    // first a private pool's memory was given back
        bool emptied = false;       // then the caches were emptied
        bool in_scope = false;      // the request came while a graph was captured
        bool device_full = false;   // the device refused wherever no new memory is recorded
        bool switched = false;      // expandable_segments is the other way than in `spec`
        PoolId pool = PoolId::default_pool;
    };

    // What was adopted at a step where there was a choice; by rising step.
    struct Adopted {
        std::size_t step = 0;
        Explanation how;
    };

    // `record` must outlive it. Errors: those of the policy; unsupported if it cannot be copied or
    // started from the state that the record begins with.
    static Result<DeviceReplay> make(const DeviceRecord& record, const ModelSpec& spec,
                                     Setup setup);

    // The second time: `found` is what the first one found. It tries nothing, so the model need not
    // be copied and talks to `face`, which wraps `device`; both must outlive it.
    static Result<DeviceReplay> follow(const DeviceRecord& record, const ModelSpec& spec,
                                       Setup setup, const Findings& found, ScriptedDevice& device,
                                       Device& face);

    DeviceReplay(DeviceReplay&&) = default;
    DeviceReplay& operator=(DeviceReplay&&) = default;

    DeviceReplay copy() const;

    // How often the last step copied the model to try an explanation.
    std::uint64_t copies() const { return copies_; }

    // What a copy costs, roughly, in memory.
    std::size_t copy_bytes() const {
        return 64 * 1024 + live_.size() * (sizeof(Live) + 2 * sizeof(Allocation));
    }

    std::size_t position() const { return position_; }

    bool at_end() const { return position_ == record_->steps.size(); }

    // What the next step needs a decision on that nobody has taken: keys of PoolChoices.
    std::vector<std::uint32_t> open_choices() const;

    void choose(std::uint32_t key, PoolChoice choice) { findings_.chosen[key] = choice; }

    // After a step that differed from the record: the choices that it is about: groups, and forks
    // by their segment.
    struct Suspects {
        std::vector<std::uint32_t> prime;   // on which the model and the record differ
        std::vector<std::uint32_t> common;  // that both name
    };

    const Suspects& suspects() const { return suspects_; }

    // After a step: the replay in which expandable_segments was switched just before it, if the
    // record would be the same but not what is left free. Null if there is none.
    std::unique_ptr<DeviceReplay> take_fork() { return std::move(fork_); }

    // What choice the fork is, in the numbers of suspects().
    std::uint32_t fork_choice() const { return fork_choice_; }

    // Takes the next step. Returns how many decisions differ from the record (0: none); the model
    // goes on with what it did.
    std::uint64_t step();

    // After the last step: what remains of the record, and the state at the end.
    std::uint64_t finish();

    // What it has found so far, without stats() of the allocator.
    struct Findings {
        std::uint64_t decisions = 0;
        std::uint64_t mismatches = 0;
        std::uint64_t final_blocks = 0;
        Usage peak;
        std::vector<InferredFact> facts;
        PoolChoices chosen;
        bool has_inferred_pools = false;
        std::optional<Mismatch> first_mismatch;
        std::vector<Adopted> adopted;
    };

    const Findings& findings() const { return findings_; }

    const AllocatorStats& stats() const { return model_.allocator->stats(); }

    const Allocator& allocator() const { return *model_.allocator; }

    // As the allocator's, but for frees that it will get with the next request.
    Usage usage() const;

    // What the last request came to; empty before the first one.
    const std::optional<tl::expected<Allocation, OutOfMemory>>& answer() const { return answer_; }

    // The allocation that lives in `slot`; null if none does.
    const Allocation* allocation(std::uint32_t slot) const {
        return slot < live_.size() && live_[slot].granted ? &live_[slot].allocation : nullptr;
    }

  private:
    // A pool that nobody uses: its scope represents a capture on another stream.
    static constexpr PoolId kForeignScope{0xfffffff0U};

    struct Live {
        Allocation allocation;
        bool granted = false;
        StreamId awaited{};  // a stream of our own that represents what it waits for; 0 = none
    };

    struct Model {
        std::unique_ptr<ScriptedDevice> own;  // null when it follows: then the device is another's
        ScriptedDevice* device = nullptr;
        std::unique_ptr<Allocator> allocator;
        bool switched = false;

        Model() = default;
        Model(Model&&) = default;
        Model& operator=(Model&& other) noexcept;  // an allocator must go before its device

        Model copy() const;
    };

    // What came of it.
    struct Attempt {
        Model model;
        Explanation explanation;
        std::vector<ScriptedDevice::Call> calls;
        std::optional<tl::expected<Allocation, OutOfMemory>> granted;
        std::uint64_t differences = 0;
    };

    // A segment, or a reservation with the addresses that it has had pages at.
    struct Held {
        Address end = Address::null;
        Bytes mapped = 0;
        PoolId pool = PoolId::default_pool;
        const SegmentLife* life = nullptr;  // whose pool is open to doubt
    };

    DeviceReplay(const DeviceRecord& record, const ModelSpec& spec, Setup setup)
        : record_(&record), spec_(&spec), setup_(setup), live_(record.slots) {}

    Result<void> restore();

    const TraceEvent& event(std::size_t step) const { return record_->steps[step].event; }

    Live* live(std::uint32_t slot);

    // The steps (lane_replay.cpp).
    std::uint64_t request();
    std::uint64_t flush();
    void add_completion();
    void let_go();
    void complete(Model& model, std::size_t step);
    void await_free(Model& model, std::size_t step, StreamId stream);
    Attempt attempt(Model model, const Explanation& explanation, const TraceEvent* request);
    Attempt best_attempt(const TraceEvent* request);
    Attempt chosen_attempt(const TraceEvent* request);
    const Explanation* adopted_here();

    void note(const Explanation& how) { findings_.adopted.push_back({position_, how}); }

    void fork(const Attempt& taken, const TraceEvent& request);
    std::uint32_t choice_about(Address address) const;
    void perform(Attempt& attempt, const TraceEvent* request);
    void give_back(Model& model, const Explanation& how, const TraceEvent* request) const;
    StreamId late_stream(std::size_t completion) const;
    std::uint64_t check_waits(Attempt& attempt, std::size_t awaited_before);
    std::vector<ScriptedDevice::Call> script() const;
    std::vector<Explanation> explanations(const TraceEvent* request);
    std::vector<bool> possible_switches() const;
    std::vector<PoolId> pools_of_refusal(const TraceEvent& refusal) const;
    std::uint64_t differences(const Attempt& attempt, const TraceEvent* request) const;
    std::uint64_t unordered_differences(std::vector<ScriptedDevice::Call> calls) const;
    static bool granted_as_recorded(const Attempt& attempt, const TraceEvent& request);
    std::uint64_t adopt(Attempt attempt, const TraceEvent* request);
    void note_facts(const Explanation& how);
    void note_releases(const Explanation& how);
    void keep_peaks();

    // Pools, and the state at the end (lane_pools.cpp).
    const Held* held_at(Address address) const;
    const SegmentLife* life_born_at(std::size_t step) const;
    PoolId pool_of(const SegmentLife& life) const;
    PoolId pool_of(const TraceEvent& request) const;
    PoolId next_pool() const;
    void follow_segment(std::size_t step);
    void find_suspects(const Attempt& attempt);
    void suspect(Address address, bool is_common);
    void add_keys(const SegmentLife& life, std::vector<std::uint32_t>& keys) const;
    std::vector<PoolId> ended_pools() const;
    void explain(const Attempt& attempt, const TraceEvent* request);
    std::vector<std::string> blocks_near(Address address) const;
    std::uint64_t compare_end();

    const DeviceRecord* record_;
    const ModelSpec* spec_;
    Setup setup_;
    Model model_;
    std::vector<Live> live_;
    std::uint32_t awaited_ = 0;  // streams of our own so far
    std::size_t position_ = 0;

    // Since the last request: completions (steps) and segment entries (steps), in order.
    std::vector<std::size_t> completions_;
    std::vector<std::size_t> segments_;
    bool releases_ = false;
    bool switched_ = false;                    // as last noted among the facts
    PoolId last_pool_ = PoolId::default_pool;  // of the last request that was granted

    std::map<Address, Held> held_;
    Suspects suspects_;
    std::uint64_t copies_ = 0;
    std::unique_ptr<DeviceReplay> fork_;
    std::uint32_t fork_choice_ = 0;
    Findings findings_;

    bool follows_ = false;
    std::vector<Adopted> script_;  // what to adopt, when it follows
    std::size_t next_adopted_ = 0;
    std::optional<tl::expected<Allocation, OutOfMemory>> answer_;
    Usage ended_;  // of completions_: what is allocated and active no more
};

}  // namespace tidemark
