// One pass for the steps, one for the requests and their lifetimes.
#include "replay/analysis/scale/step_requests.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>

#include "replay/analysis/trace/program_steps.h"

namespace tidemark {
namespace {

constexpr std::size_t kFewSteps = 2;  // of different sizes tell how sizes grow

// Lifetimes up to this many allocations are told apart; longer ones count as the same, since they
// differ between steps that do one thing more or less meanwhile.
constexpr std::size_t kShortLife = 12;
constexpr std::uint64_t kLongLife = kShortLife + 1, kNextStep = kShortLife + 2,
                        kOutlives = kShortLife + 3;

constexpr std::uint32_t kNoRequest = std::numeric_limits<std::uint32_t>::max();

class RequestReader {
  public:
    RequestReader(const TraceInfo& info, std::span<const std::uint64_t> ends)
        : of_slot_(info.slot_count, kNoRequest),
          ends_(ends),
          strings_(info.strings),
          next_operator_(info.devices.size()) {}

    void add(const EventBatch& batch) {
        for (std::size_t i = 0; i < batch.count; ++i, ++event_) {
            const EventKind kind = batch.kind[i];
            if (kind == EventKind::operation)
                next_operator_.at(batch.device[i]) = operator_named(batch.tag[i]);
            else if (is_step_request(kind, batch.flags[i]))
                allocate(batch[i]);
            else if (kind == EventKind::allocate && (batch.flags[i] & kPreamble) != 0)
                found_.lasting.push_back(batch.size[i]);
            else if (kind == EventKind::free || kind == EventKind::retire)
                free(batch.slot[i]);
            if (!ends_.empty() && event_ == ends_.front())
                end_step();
        }
    }

    StepRequests take(std::string name) {
        for (std::size_t i = 0; i < found_.requests.size(); ++i)
            found_.requests[i].symbol = symbol_of(i);
        const std::size_t first = found_.steps.empty() ? 0 : found_.steps.front().end;
        for (std::size_t i = 0; i < first; ++i)
            if (lives_[i].length == kOutlives)
                found_.lasting.push_back(found_.requests[i].size);
        std::ranges::sort(found_.lasting);
        const auto again = std::ranges::unique(found_.lasting);
        found_.lasting.erase(again.begin(), again.end());
        found_.name = std::move(name);
        return std::move(found_);
    }

  private:
    struct Life {
        std::uint64_t what = 0;  // stream, device, pool, stack
        std::uint64_t length = kOutlives;
    };

    void allocate(const TraceEvent& event) {
        if (event.slot < of_slot_.size())
            of_slot_[event.slot] = static_cast<std::uint32_t>(found_.requests.size());
        found_.requests.push_back(
            {event.size, 0, true, event.stack, std::exchange(next_operator_.at(event.device), 0)});
        std::uint64_t what = event.stack;
        for (const std::uint64_t part : {std::uint64_t{to_integer(event.stream)},
                                         std::uint64_t{event.device}, std::uint64_t{event.aux}})
            what = what * 0x9e3779b97f4a7c15U + part;
        lives_.push_back({what, kOutlives});
    }

    std::uint32_t operator_named(std::uint32_t tag) {
        const auto [known, is_new] =
            operators_.try_emplace(tag, static_cast<std::uint32_t>(found_.operators.size()));
        if (is_new)
            found_.operators.push_back(parse_operator(strings_[tag]));
        return known->second;
    }

    void free(std::uint32_t slot) {
        if (slot >= of_slot_.size() || of_slot_[slot] == kNoRequest)
            return;
        const std::size_t request = std::exchange(of_slot_[slot], kNoRequest);
        if (request < step_begin_) {
            // Gradients go in the next step, states of the optimizer don't.
            if (request >= found_.steps.back().begin)
                lives_[request].length = kNextStep;
            return;
        }
        found_.requests[request].outlives = false;
        lives_[request].length =
            std::min<std::uint64_t>(found_.requests.size() - request, kLongLife);
    }

    void end_step() {
        found_.steps.push_back({step_begin_, found_.requests.size(), event_});
        step_begin_ = found_.requests.size();
        ends_ = ends_.subspan(1);
    }

    std::uint32_t symbol_of(std::size_t request) {
        const std::uint64_t key =
            (lives_[request].what * 0x9e3779b97f4a7c15U) ^ lives_[request].length;
        return symbols_.try_emplace(key, static_cast<std::uint32_t>(symbols_.size())).first->second;
    }

    StepRequests found_;
    std::vector<Life> lives_;             // of each request
    std::vector<std::uint32_t> of_slot_;  // the live request there
    std::span<const std::uint64_t> ends_;
    const StringTable& strings_;
    std::vector<std::uint32_t> next_operator_;                    // of each device
    std::unordered_map<std::uint32_t, std::uint32_t> operators_;  // by their strings
    std::unordered_map<std::uint64_t, std::uint32_t> symbols_;
    std::size_t step_begin_ = 0;
    std::uint64_t event_ = 0;
};

}  // namespace

Result<StepRequests> read_step_requests(const Trace& trace) {
    TM_ASSIGN(const ProgramSteps steps, find_steps(trace, kFewSteps));
    RequestReader reader(trace.info(), steps.ends);
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return reader.take(steps.name);
        reader.add(batch);
    }
}

}  // namespace tidemark
