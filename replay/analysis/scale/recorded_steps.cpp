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
           std::span<const std::size_t> wanted, std::span<const std::size_t> before)
        : requests_(requests),
          laws_(laws),
          wanted_(wanted),
          before_(before),
          at_(info.slot_count, kNothing) {
        open_step();
    }

    void add(const EventBatch& batch) {
        for (std::size_t i = 0; i < batch.count; ++i) {
            add(batch[i]);
            time_ = batch.time[i];
            if (++event_ == requests_.steps[std::min(step_, last())].last_event + 1)
                end_step();
        }
    }

    RecordedSteps take() {
        for (auto& [number, step] : found_.steps_)
            finish(number, step);
        for (auto& [before, at] : at_bases_)
            finish(at, found_.bases_[before]);
        return std::move(found_);
    }

  private:
    static constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

    // An allocation, from its start to its end.
    struct Life {
        std::uint32_t step = kNothing;  // none: it was live before
        std::uint32_t key = 0;
        std::uint32_t number = 0;  // in its step
        std::uint32_t request = kNothing;
        std::uint32_t lifetime = kNever;  // in steps; not known while it is live
    };

    // Of an event that is kept, what its slot holds.
    struct Reference {
        std::size_t event = 0;  // in its step
        std::uint32_t life = 0;
    };

    std::size_t last() const { return requests_.steps.size() - 1; }

    void open_step() {
        made_ = 0;
        growing_ = most_growing_ = 0;
        kept_ = std::ranges::binary_search(wanted_, step_) ? &found_.steps_[step_] : nullptr;
        if (kept_ != nullptr)
            kept_->begin = time_;
    }

    void end_step() {
        if (kept_ != nullptr) {
            kept_->length = time_ - kept_->begin;
            kept_->outliving = most_growing_ == 0 ? 0
                                                  : static_cast<double>(growing_) /
                                                        static_cast<double>(most_growing_);
        }
        ++step_;
        if (std::ranges::binary_search(before_, step_)) {
            found_.bases_[step_] = {event_, time_, {}, {}};
            at_bases_[step_] = at_;
        }
        open_step();
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
        Life life{.number = made_};
        if (is_step_request(event.kind, event.flags))
            life.request = next_request_++;
        life.key = key_of(life.request);
        if ((event.flags & kPreamble) == 0) {
            life.step = static_cast<std::uint32_t>(step_);
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
        // What is freed at the program's end would have stayed live.
        if (life.step == kNothing || step_ > last())
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
        kept_->events.push_back({event, 0, Maker::none});
    }

    // Of one that would end behind the last step others at its position tell.
    std::uint32_t lifetime_of(const Life& life) const {
        if (life.lifetime != kNever || life.step == kNothing)
            return life.lifetime;
        const auto known = lifetimes_.find(life.key);
        const bool unseen = known != lifetimes_.end() && life.step + known->second > last();
        return unseen ? known->second : kNever;
    }

    void finish(std::size_t number, Step& step) const {
        for (const std::uint32_t life : of(made_by_, number))
            step.made.push_back(
                {lives_[life].key, lifetime_of(lives_[life]), lives_[life].request});
        for (const Reference& reference : of(references_, number)) {
            const Life& life = lives_[reference.life];
            StepEvent& event = step.events[reference.event];
            const bool own = life.step == number;
            event.event.slot = own ? life.number : life.key;
            event.maker = own ? Maker::own : lifetime_of(life) == kNever ? Maker::step : Maker::ago;
            event.step = event.maker == Maker::ago ? static_cast<std::uint32_t>(number) - life.step
                                                   : life.step;
        }
    }

    void finish(const std::vector<std::uint32_t>& at, Base& base) const {
        for (std::uint32_t slot = 0; slot < at.size(); ++slot) {
            if (at[slot] == kNothing) {
                base.vacant.push_back(slot);
                continue;
            }
            const Life& life = lives_[at[slot]];
            base.left.push_back({life.step, life.key, slot, lifetime_of(life)});
        }
    }

    template <class Entry>
    static std::span<const Entry> of(const std::map<std::size_t, std::vector<Entry>>& all,
                                     std::size_t step) {
        const auto found = all.find(step);
        return found == all.end() ? std::span<const Entry>() : found->second;
    }

    const StepRequests& requests_;
    const SizeLaws& laws_;
    std::span<const std::size_t> wanted_, before_;
    RecordedSteps found_;
    std::vector<Life> lives_;
    std::vector<std::uint32_t> at_;                               // slots -> what lives there
    std::map<std::size_t, std::vector<std::uint32_t>> at_bases_;  // the same, then
    std::unordered_map<std::uint32_t, std::uint32_t> lifetimes_;  // the longest of each key
    std::map<std::size_t, std::vector<std::uint32_t>> made_by_;   // steps -> lives
    std::map<std::size_t, std::vector<Reference>> references_;    // of steps
    Step* kept_ = nullptr;                                        // the step that is read
    std::size_t step_ = 0;
    std::uint64_t event_ = 0;
    Nanoseconds time_ = 0;  // of the end of the last step
    std::uint32_t made_ = 0, next_request_ = 0;
    std::uint32_t lone_key_ = kNothing;
    Bytes growing_ = 0, most_growing_ = 0;  // of the step's own, alive
};

Result<RecordedSteps> RecordedSteps::read(const Trace& trace, const StepRequests& requests,
                                          const SizeLaws& laws, std::span<const std::size_t> wanted,
                                          std::span<const std::size_t> before) {
    Reader reader(trace.info(), requests, laws, wanted, before);
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return reader.take();
        reader.add(batch);
    }
}

AddedSteps::AddedSteps(const RecordedSteps& steps, const StepRequests& requests,
                       const SizeLaws& laws, std::size_t before, std::span<const AddedStep> added,
                       double unknown)
    : steps_(steps),
      requests_(requests),
      laws_(laws),
      added_(added),
      unknown_(unknown),
      step_(before),
      time_(steps.bases_.at(before).time) {
    const RecordedSteps::Base& base = steps.bases_.at(before);
    for (std::size_t i = 0; i < base.left.size() + base.vacant.size(); ++i)
        slots_.take();
    for (const std::uint32_t slot : base.vacant)
        slots_.give_back(slot);
    for (const RecordedSteps::Left& left : base.left)
        live({left.step, left.key}, left.slot, left.lifetime);
}

void AddedSteps::live(const Key& key, std::uint32_t slot, std::uint32_t lifetime) {
    const bool ends = lifetime != RecordedSteps::kNever;
    living_[key] = {slot, ends};
    if (ends)
        due_[std::max(key.first + lifetime, step_)].push_back(key);
}

bool AddedSteps::next(std::vector<TraceEvent>& events) {
    events.clear();
    if (next_ == added_.size())
        return false;
    const AddedStep& added = added_[next_++];
    const RecordedSteps::Step& step = steps_.steps_.at(added.step);
    own_.assign(step.made.size(), kNoSlot);
    for (const RecordedSteps::StepEvent& recorded : step.events) {
        TraceEvent event = recorded.event;
        event.time = time_ + (event.time - step.begin);
        event.address = 0;
        if (event.kind == EventKind::allocate)
            allocate(step.made[event.slot], added.growth, event);
        else if (recorded.maker != RecordedSteps::Maker::none)
            event.slot = find(recorded);
        if (event.slot != kNoSlot || recorded.maker == RecordedSteps::Maker::none)
            events.push_back(event);
    }
    time_ += step.length;
    for (const Key& key : due_[step_])
        if (const auto late = living_.find(key); late != living_.end()) {
            events.push_back({.time = time_, .slot = late->second.slot, .kind = EventKind::free});
            slots_.give_back(late->second.slot);
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
    if (made.lifetime > 0)
        live({step_, made.key}, event.slot, made.lifetime);
}

// The slot of an event, made free if that is its end; kNoSlot: none.
std::uint32_t AddedSteps::find(const RecordedSteps::StepEvent& recorded) {
    const EventKind kind = recorded.event.kind;
    const bool ends = kind == EventKind::free || kind == EventKind::finish;
    std::uint32_t slot = kNoSlot;
    if (recorded.maker == RecordedSteps::Maker::own) {
        std::uint32_t& own = own_[recorded.event.slot];
        slot = ends ? std::exchange(own, kNoSlot) : own;
    } else {
        const bool ago = recorded.maker == RecordedSteps::Maker::ago;
        const auto found =
            living_.find({ago ? step_ - recorded.step : recorded.step, recorded.event.slot});
        if (found == living_.end() || (ago && !found->second.ends))
            return kNoSlot;
        slot = found->second.slot;
        if (ends)
            living_.erase(found);
    }
    if (ends && slot != kNoSlot)
        slots_.give_back(slot);
    return slot;
}

}  // namespace tidemark
