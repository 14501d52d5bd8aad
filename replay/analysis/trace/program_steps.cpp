// One pass that keeps both answers: ranges by their family, and allocations by their signature.
#include "replay/analysis/trace/program_steps.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "replay/analysis/trace/sites.h"
#include "replay/facts/step_names.h"

namespace tidemark {
namespace {

constexpr std::size_t kMostSteps = 1 << 16;       // of one signature; beyond, it is no step's
constexpr std::size_t kMostKept = 4 << 20;        // occurrences of all signatures together
constexpr double kRegular = 0.35;                 // deviation of the gaps, of their mean
constexpr double kCovered = 0.6;                  // of the events, from the first to the last
constexpr std::size_t kLeastFound = 10;           // steps; fewer may be chance
constexpr std::size_t kLeastAgreeing = 5;         // kinds of allocation that occur as often
constexpr std::uint64_t kLeastEventsOfStep = 16;  // a shorter period is a loop in a step

// Stretches or marks of one family of names, and where they end.
struct Family {
    facts::StepFamily what;
    std::vector<std::uint64_t> ends;
};

// One kind of allocation: a site, or without stacks a size.
struct Signature {
    std::vector<std::uint64_t> events;
    std::vector<Bytes> live;  // by the program, just before each
    bool too_often = false;
};

class StepFinder {
  public:
    StepFinder(const TraceInfo& info, std::size_t least)
        : info_(info), least_(least), by_stack_(has_stacks(info)), sizes_(info.slot_count) {}

    void add(const EventBatch& batch) {
        for (std::size_t i = 0; i < batch.count; ++i, ++event_) {
            switch (batch.kind[i]) {
                case EventKind::range_begin:
                    begin_range(batch.aux[i]);
                    break;
                case EventKind::range_end:
                    end_range(batch.aux[i]);
                    break;
                case EventKind::mark:
                    mark(batch.aux[i]);
                    break;
                case EventKind::allocate:
                    allocate(batch[i]);
                    break;
                case EventKind::free:
                case EventKind::retire:
                    free(batch.slot[i]);
                    break;
                default:
                    break;
            }
        }
    }

    ProgramSteps take() {
        for (auto& [name, family] : marks_)
            add_end(family, event_ - 1);
        if (ProgramSteps named = by_names(); !named.ends.empty())
            return named;
        return by_period();
    }

  private:
    const std::optional<facts::StepName>& step_name(std::uint32_t name) {
        static const std::optional<facts::StepName> none;
        if (name >= info_.strings.size())
            return none;
        const auto [entry, fresh] = names_.try_emplace(name);
        if (fresh)
            entry->second = facts::parse_step_name(info_.strings[name]);
        return entry->second;
    }

    Family& family_of(std::map<std::string, Family>& families, const facts::StepName& name,
                      bool is_mark) const {
        const auto [entry, fresh] = families.try_emplace(name.family);
        if (fresh)
            entry->second.what = {name.kind, name.number.has_value(), is_mark, 0, event_};
        return entry->second;
    }

    static void add_end(Family& family, std::uint64_t event) {
        if (family.ends.size() < kMostSteps)
            family.ends.push_back(event);
        family.what.count = family.ends.size();
    }

    void begin_range(std::uint32_t name) {
        const auto& step = step_name(name);
        if (!step)
            return;
        if (open_ && facts::is_part_of(*step_name(*open_), *step)) {
            ++parts_[name];
            return;
        }
        family_of(families_, *step, false);
        if (step->kind == facts::StepName::Kind::step && step->number)
            open_ = name;
    }

    void end_range(std::uint32_t name) {
        const auto& step = step_name(name);
        if (!step)
            return;
        if (const auto part = parts_.find(name); part != parts_.end() && part->second > 0) {
            --part->second;
            return;
        }
        if (open_ == name)
            open_.reset();
        add_end(family_of(families_, *step, false), event_);
    }

    // A step goes from its mark to the next.
    void mark(std::uint32_t name) {
        const auto& step = step_name(name);
        if (!step)
            return;
        const bool is_first = !marks_.contains(step->family);
        Family& family = family_of(marks_, *step, true);
        if (!is_first)
            add_end(family, event_ - 1);
    }

    void allocate(const TraceEvent& event) {
        if (event.slot >= sizes_.size() || (event.flags & (kPreamble | kTierMask)) != 0)
            return;
        const std::uint64_t key = by_stack_ && event.stack != 0
                                      ? std::uint64_t{event.stack} << 1U | 1U
                                      : event.size << 1U;
        Signature& signature = signatures_[key];
        if (!signature.too_often && kept_ < kMostKept) {
            signature.events.push_back(event_);
            signature.live.push_back(live_);
            ++kept_;
            if (signature.events.size() > kMostSteps) {
                kept_ -= signature.events.size();
                signature = {{}, {}, true};
            }
        }
        live_ -= std::min(live_, std::exchange(sizes_[event.slot], event.size));
        live_ += event.size;
    }

    void free(std::uint32_t slot) {
        if (slot < sizes_.size())
            live_ -= std::min(live_, std::exchange(sizes_[slot], 0));
    }

    ProgramSteps by_names() const {
        const Family* best = nullptr;
        std::string name;
        for (const auto* families : {&families_, &marks_})
            for (const auto& [family, each] : *families) {
                if (each.ends.size() < least_)
                    continue;
                if (best == nullptr || facts::goes_before(each.what, best->what)) {
                    best = &each;
                    name = family;
                }
            }
        return best == nullptr ? ProgramSteps{} : ProgramSteps{name, best->ends};
    }

    bool is_regular(const Signature& signature) const {
        const std::vector<std::uint64_t>& events = signature.events;
        if (events.size() < kLeastFound)
            return false;
        const auto length = static_cast<double>(events.back() - events.front());
        if (length < kCovered * static_cast<double>(event_))
            return false;
        const double mean = length / static_cast<double>(events.size() - 1);
        if (mean < static_cast<double>(kLeastEventsOfStep))
            return false;
        double squares = 0;
        for (std::size_t i = 1; i < events.size(); ++i) {
            const double off = static_cast<double>(events[i] - events[i - 1]) - mean;
            squares += off * off;
        }
        return std::sqrt(squares / static_cast<double>(events.size() - 1)) <= kRegular * mean;
    }

    // An allocation that each step makes once repeats as often as most regular allocations do. A
    // step ends where the least memory is live before one of these.
    ProgramSteps by_period() const {
        std::map<std::size_t, std::size_t> counts;  // of occurrences -> signatures
        std::vector<const Signature*> regular;
        for (const auto& [key, signature] : signatures_) {
            if (!is_regular(signature))
                continue;
            regular.push_back(&signature);
            ++counts[signature.events.size()];
        }
        if (regular.empty())
            return {};
        const auto most = std::ranges::max_element(
            counts, [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most->second < kLeastAgreeing)
            return {};
        const Signature* best = nullptr;
        double least = 0;
        for (const Signature* signature : regular) {
            if (signature->events.size() != most->first)
                continue;
            double sum = 0;
            for (const Bytes live : signature->live)
                sum += static_cast<double>(live);
            if (best == nullptr || std::pair(sum, signature->events.front()) <
                                       std::pair(least, best->events.front())) {
                best = signature;
                least = sum;
            }
        }
        ProgramSteps steps;
        for (const std::uint64_t event : best->events)
            if (event > 0)
                steps.ends.push_back(event - 1);
        return steps;
    }

    const TraceInfo& info_;
    const std::size_t least_;
    const bool by_stack_;
    std::uint64_t event_ = 0;
    std::unordered_map<std::uint32_t, std::optional<facts::StepName>> names_;  // by string
    std::map<std::string, Family> families_;                                   // of stretches
    std::map<std::string, Family> marks_;
    std::optional<std::uint32_t> open_;                       // the step that is open, by string
    std::unordered_map<std::uint32_t, std::uint64_t> parts_;  // of steps, open, by string
    std::unordered_map<std::uint64_t, Signature> signatures_;
    std::size_t kept_ = 0;
    std::vector<Bytes> sizes_;  // by slot; 0 = vacant
    Bytes live_ = 0;
};

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

}  // namespace

std::string range_family(std::string_view name) {
    std::size_t end = name.size();
    while (end > 0 && is_digit(name[end - 1]))
        --end;
    constexpr std::string_view kBeforeNumber = " #_-:=./";
    if (end == name.size() || end == 0 || kBeforeNumber.find(name[end - 1]) == std::string::npos)
        return std::string(name);
    return std::string(name.substr(0, end)) + "N";
}

Result<ProgramSteps> find_steps(const Trace& trace, std::size_t least) {
    StepFinder finder(trace.info(), least);
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return finder.take();
        finder.add(batch);
    }
}

}  // namespace tidemark
