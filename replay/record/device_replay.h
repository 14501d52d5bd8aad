// DeviceReplay: the model of an allocator in the middle of a run, next to the record of one device.
//
// It takes the record step by step, gives the program's requests to the model and compares what the
// model did with what is recorded. What the record leaves out it infers from what would reproduce
// the next entries: emptied caches, ended pools, which frees were completed by a retry's wait, a
// changed setting (Explanation). The caller decides what can only be known later (which pool a
// segment belonged to): see open_choices. Copying it copies the model; the copies are independent.
//
//     TM_ASSIGN(DeviceReplay replay, DeviceReplay::make(record, spec, {}));
//     while (!replay.at_end())
//         replay.step();
//     replay.finish();
//     return replay.findings().mismatches;
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "replay/record/replay_findings.h"

namespace tidemark {

class DeviceReplay {
  public:
    // `record` and `spec` must outlive it. Errors: those of the policy; unsupported if it cannot be
    // copied or started from the state that the record begins with.
    static Result<DeviceReplay> make(const DeviceRecord& record, const ModelSpec& spec,
                                     Hypotheses hypotheses);

    // The second time: `found`, which must outlive it, is what the first one found. It tries
    // nothing, so the model need not be copied and talks to `face`, which wraps `device`; both must
    // outlive it.
    static Result<DeviceReplay> follow(const DeviceRecord& record, const ModelSpec& spec,
                                       const DeviceFindings& found, ScriptedDevice& device,
                                       Device& face);

    DeviceReplay(DeviceReplay&&) = default;
    DeviceReplay& operator=(DeviceReplay&&) = default;

    DeviceReplay copy() const;

    // How often the last step copied the model to try an explanation.
    std::uint64_t copies() const { return copies_; }

    // What a copy costs, roughly, in memory.
    std::size_t copy_bytes() const { return 64 * 1024 + live_.bytes(); }

    std::size_t position() const { return cursor_.position(); }

    bool at_end() const { return cursor_.at_end(); }

    // The decisions that the next step still needs: keys of PoolChoices.
    std::vector<std::uint32_t> open_choices() const { return pools_.open_choices(cursor_); }

    void choose(std::uint32_t key, PoolChoice choice) { pools_.choose(key, choice); }

    const PoolChoices& chosen() const { return pools_.chosen(); }

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

    const ReplayFindings& findings() const { return findings_; }

    const Allocator& allocator() const { return *model_.allocator; }

    // As the allocator's, but for frees that it will get with the next request.
    Usage usage() const;

    // The result of the last request; empty before the first one.
    const std::optional<tl::expected<Allocation, OutOfMemory>>& answer() const { return answer_; }

    // The live allocation in `slot`; null if there is none.
    const Allocation* allocation(std::uint32_t slot) const { return live_.find(slot); }

  private:
    DeviceReplay(const DeviceRecord& record, const ModelSpec& spec, Hypotheses hypotheses);

    Result<void> restore();
    std::uint64_t request();
    std::uint64_t flush();
    void add_completion();
    void synchronize();
    Attempt best_attempt(const Situation& at);
    Attempt chosen_attempt(const Situation& at);
    const Explanation* adopted_here();
    std::uint64_t adopt(Attempt attempt, const TraceEvent* request);
    void follow_plain(const Situation& at, const Explanation& how);
    void end_situation();
    void take_answer(const TraceEvent& request, PoolId pool);
    void clear_pending();
    void fork(const Attempt& taken, const TraceEvent& request);
    void find_suspects(const Attempt& attempt);
    void suspect(Address address, std::vector<std::uint32_t>& choices) const;
    std::uint32_t fork_at(Address address) const;

    Situation situation(const TraceEvent* request) const {
        return {cursor_, live_, pools_, *spec_, request};
    }

    const ModelSpec* spec_;
    Hypotheses hypotheses_;
    RecordCursor cursor_;
    AllocatorModel model_;
    LiveAllocations live_;
    SegmentPools pools_;
    ReplayFindings findings_;
    Usage ended_;  // of pending completions: what is allocated and active no more
    std::optional<tl::expected<Allocation, OutOfMemory>> answer_;

    // Of the last step.
    Suspects suspects_;
    std::uint64_t copies_ = 0;
    std::unique_ptr<DeviceReplay> fork_;
    std::uint32_t fork_choice_ = 0;

    bool follows_ = false;
    std::span<const Adopted> script_;  // what is still to be adopted, when it follows
};

}  // namespace tidemark
