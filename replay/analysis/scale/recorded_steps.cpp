// One pass that follows every allocation to its end, and then what is kept is written by positions.
#include "replay/analysis/scale/recorded_steps.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "replay/analysis/scale/align_steps.h"

namespace tidemark {

class RecordedSteps::Reader {
  public:
    Reader(const TraceInfo& info, const StepRequests& requests, const SizeLaws& laws,
           std::span<const std::size_t> wanted)
        : requests_(requests), laws_(laws), wanted_(wanted), at_(info.slot_count, kNothing) {
        found_.recorded_ = requests.steps.size();
        found_.slot_count_ = info.slot_count;
        open_step();
    }

    // Whether it goes on: the last step has not ended yet.
    bool add(const EventBatch& batch) {
        for (std::size_t i = 0; i < batch.count; ++i) {
            add(batch[i]);
            ++found_.end_;
            if (found_.end_ == requests_.steps[step_].last_event + 1 && !end_step(batch.time[i]))
                return false;
        }
        return true;
    }

    RecordedSteps take() {
        for (auto& [number, step] : found_.steps_)
            finish(number, step);
        for (std::uint32_t slot = 0; slot < at_.size(); ++slot) {
            if (at_[slot] == kNothing) {
                found_.vacant_.push_back(slot);
                continue;
            }
            const Life& life = lives_[at_[slot]];
            const std::uint32_t lifetime = lifetime_of(life);
            if (lifetime != kNever)
                found_.left_.push_back({life.step, life.key, slot, lifetime});
        }
        return std::move(found_);
    }

  private:
    static constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

    // An allocation, from its begin to its end.
    struct Life {
        std::uint32_t step = kNothing;  // none: it lived before
        std::uint32_t key = 0;
        std::uint32_t number = 0;  // in its step
        std::uint32_t slot = 0;
        std::uint32_t request = kNothing;
        std::uint32_t lifetime = kNever;  // in steps; of what lives yet, not known
    };

    // Of an event that is kept, what its slot holds.
    struct Reference {
        std::size_t event = 0;  // in its step
        std::uint32_t life = 0;
    };

    void open_step() {
        made_ = 0;
        growing_ = most_growing_ = 0;
        kept_ = std::ranges::binary_search(wanted_, step_) ? &found_.steps_[step_] : nullptr;
        if (kept_ != nullptr)
            kept_->begin = found_.end_time_;
    }

    bool end_step(Nanoseconds time) {
        found_.end_time_ = time;
        if (kept_ != nullptr) {
            kept_->length = time - kept_->begin;
            kept_->outliving = most_growing_ == 0 ? 0
                                                  : static_cast<double>(growing_) /
                                                        static_cast<double>(most_growing_);
        }
        if (++step_ == requests_.steps.size())
            return false;
        open_step();
        return true;
    }

    void add(const TraceEvent& event) {
        if (event.kind == EventKind::allocate)
            begin(event);
        if (kept_ != nullptr && !is_truth(event.kind) && event.kind != EventKind::out_of_memory)
            keep(event);
        if (event.kind == EventKind::free || event.kind == EventKind::finish)
            end(event.slot);
    }

    void begin(const TraceEvent& event) {
        Life life{.number = made_, .slot = event.slot};
        if ((event.flags & kPreamble) == 0) {
            life.step = static_cast<std::uint32_t>(step_);
            if (is_step_request(event.kind, event.flags))
                life.request = next_request_++;
            life.key = key_of(life.request);
            ++made_;
            count_growing(life, true);
        }
        if (event.slot < at_.size())
            at_[event.slot] = static_cast<std::uint32_t>(lives_.size());
        lives_.push_back(life);
        if (kept_ != nullptr && life.step != kNothing)
            made_by_[step_].push_back(static_cast<std::uint32_t>(lives_.size() - 1));
    }

    std::uint32_t key_of(std::uint32_t request) {
        if (request == kNothing)
            return --lone_key_;
        const std::uint32_t position = laws_.positions[request];
        return position == kUnaligned ? --lone_key_ : position;
    }

    void end(std::uint32_t slot) {
        if (slot >= at_.size() || at_[slot] == kNothing)
            return;
        Life& life = lives_[std::exchange(at_[slot], kNothing)];
        if (life.step == kNothing)
            return;
        life.lifetime = static_cast<std::uint32_t>(step_) - life.step;
        std::uint32_t& longest = lifetimes_[life.key];
        longest = std::max(longest, life.lifetime);
        if (life.step == step_)
            count_growing(life, false);
    }

    void count_growing(const Life& life, bool begins) {
        if (life.request == kNothing ||
            laws_.laws[laws_.of_request[life.request]].kind == LawKind::constant)
            return;
        const Bytes size = requests_.requests[life.request].size;
        growing_ = begins ? growing_ + size : growing_ - size;
        most_growing_ = std::max(most_growing_, growing_);
    }

    void keep(const TraceEvent& event) {
        if (event.slot < at_.size()) {
            if (at_[event.slot] == kNothing)
                return;
            references_[step_].push_back({kept_->events.size(), at_[event.slot]});
        }
        kept_->events.push_back({event, kOwn});
    }

    // Also of one whose end was not recorded: others at its position tell.
    std::uint32_t lifetime_of(const Life& life) const {
        if (life.lifetime != kNever || life.step == kNothing)
            return life.lifetime;
        const auto known = lifetimes_.find(life.key);
        return known == lifetimes_.end() ? kNever : known->second;
    }

    void finish(std::size_t number, Step& step) {
        for (const std::uint32_t life : made_by_[number])
            step.made.push_back(
                {lives_[life].key, lifetime_of(lives_[life]), lives_[life].request});
        std::vector<bool> gone(step.events.size());
        for (const Reference& reference : references_[number]) {
            const Life& life = lives_[reference.life];
            StepEvent& event = step.events[reference.event];
            const std::uint32_t lifetime = lifetime_of(life);
            if (life.step == number) {
                event.event.slot = life.number;
            } else if (lifetime == kNever) {
                event.age = kLivesOn;
                gone[reference.event] = at_[life.slot] != reference.life;
            } else {
                event.age = static_cast<std::uint32_t>(number) - life.step;
                event.event.slot = life.key;
            }
        }
        std::size_t next = 0;
        std::erase_if(step.events, [&](const StepEvent&) { return gone[next++]; });
    }

    const StepRequests& requests_;
    const SizeLaws& laws_;
    std::span<const std::size_t> wanted_;
    RecordedSteps found_;
    std::vector<Life> lives_;
    std::vector<std::uint32_t> at_;                               // slots -> what lives there
    std::unordered_map<std::uint32_t, std::uint32_t> lifetimes_;  // the longest of each key
    std::map<std::size_t, std::vector<std::uint32_t>> made_by_;   // steps -> lives
    std::map<std::size_t, std::vector<Reference>> references_;    // of steps
    Step* kept_ = nullptr;                                        // the step that is read
    std::size_t step_ = 0;
    std::uint32_t made_ = 0, next_request_ = 0;
    std::uint32_t lone_key_ = kNothing;
    Bytes growing_ = 0, most_growing_ = 0;  // of the step's own, alive
};

Result<RecordedSteps> RecordedSteps::read(const Trace& trace, const StepRequests& requests,
                                          const SizeLaws& laws,
                                          std::span<const std::size_t> wanted) {
    Reader reader(trace.info(), requests, laws, wanted);
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0 || !reader.add(batch))
            return reader.take();
    }
}

AddedSteps::AddedSteps(const RecordedSteps& steps, const StepRequests& requests,
                       const SizeLaws& laws, std::span<const AddedStep> added, UnknownSizes unknown)
    : steps_(steps),
      requests_(requests),
      laws_(laws),
      added_(added),
      unknown_(unknown),
      step_(steps.recorded_),
      time_(steps.end_time_) {
    for (std::uint32_t i = 0; i < steps.slot_count_; ++i)
        slots_.take();
    for (const std::uint32_t slot : steps.vacant_)
        slots_.give_back(slot);
    for (const RecordedSteps::Left& left : steps.left_)
        live({left.step, left.key}, left.slot, left.step + left.lifetime);
}

void AddedSteps::live(const Key& key, std::uint32_t slot, std::uint64_t until) {
    living_[key] = slot;
    due_[std::max(until, step_)].push_back(key);
}

bool AddedSteps::next(std::vector<TraceEvent>& events) {
    events.clear();
    if (next_ == added_.size())
        return false;
    const AddedStep& added = added_[next_++];
    const RecordedSteps::Step& step = steps_.steps_.at(added.step);
    own_.assign(step.made.size(), kNoSlot);
    for (const auto& [recorded, age] : step.events) {
        TraceEvent event = recorded;
        event.time = time_ + (recorded.time - step.begin);
        event.address = 0;
        if (event.kind == EventKind::allocate)
            allocate(step.made[recorded.slot], added.growth, event);
        else if (recorded.slot != kNoSlot)
            event.slot = find(recorded, age);
        if (event.slot != kNoSlot || recorded.slot == kNoSlot)
            events.push_back(event);
    }
    time_ += step.length;
    for (const Key& key : due_[step_])
        if (const auto late = living_.find(key); late != living_.end()) {
            events.push_back({.time = time_, .slot = late->second, .kind = EventKind::free});
            slots_.give_back(late->second);
            living_.erase(late);
        }
    due_.erase(step_++);
    return true;
}

void AddedSteps::allocate(const RecordedSteps::Made& made, const ScaleFactors& growth,
                          TraceEvent& event) {
    const std::uint32_t number = event.slot;
    event.slot = slots_.take();
    if (made.request < requests_.requests.size())
        event.size = laws_.grown(requests_.requests[made.request], made.request, growth, unknown_);
    own_[number] = event.slot;
    if (made.lifetime != RecordedSteps::kNever && made.lifetime > 0)
        live({step_, made.key}, event.slot, step_ + made.lifetime);
}

// The slot that an event is about, given back if that is its end; kNoSlot: none.
std::uint32_t AddedSteps::find(const TraceEvent& event, std::uint32_t age) {
    const bool ends = event.kind == EventKind::free || event.kind == EventKind::finish;
    if (age == RecordedSteps::kLivesOn)
        return event.slot;
    std::uint32_t slot = kNoSlot;
    if (age == RecordedSteps::kOwn) {
        slot = ends ? std::exchange(own_[event.slot], kNoSlot) : own_[event.slot];
    } else if (const auto found = living_.find({step_ - age, event.slot}); found != living_.end()) {
        slot = found->second;
        if (ends)
            living_.erase(found);
    }
    if (ends && slot != kNoSlot)
        slots_.give_back(slot);
    return slot;
}

}  // namespace tidemark
