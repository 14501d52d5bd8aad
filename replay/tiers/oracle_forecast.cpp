// The trace's future, use by use.
#include "replay/tiers/oracle_forecast.h"

#include <algorithm>

namespace tidemark {

OracleForecast::OracleForecast(const TierProgram& program)
    : program_(program),
      played_by_(program.buffers),
      next_(program.buffers, kNoUse),
      ends_(program.uses.size(), kNoUse),
      last_(program.buffers, kNoUse) {
    std::vector<Bytes> sizes(program.buffers);
    std::vector<Bytes> record(program.uses.size());
    Bytes live = 0;
    std::uint32_t uses = 0;
    for (const TierStep& step : program.steps) {
        if (step.kind == StepKind::allocate && step.tier == Tier::gpu) {
            sizes[step.value] = step.size;
            live += step.size;
        } else if (step.kind == StepKind::free) {
            live -= sizes[step.value];
            if (last_[step.value] != kNoUse)
                ends_[last_[step.value]] = uses;
            last_[step.value] = kNoUse;
            sizes[step.value] = 0;
        } else if (step.kind == StepKind::kernel) {
            std::fill_n(record.begin() + step.first, step.count, live);
            uses = step.first + step.count;
            for (std::uint32_t i = step.first; i < uses; ++i)
                last_[to_integer(program.uses[i].buffer)] = i;
        }
    }
    last_.assign(last_.size(), kNoUse);
    for (const Bytes bytes : record)
        live_.push_back(bytes);
}

void OracleForecast::allocated(BufferId id, Bytes /*size*/, std::uint32_t tag) {
    const std::size_t needed = to_integer(id) + std::size_t{1};
    next_.resize(std::max(next_.size(), needed), kNoUse);
    last_.resize(std::max(last_.size(), needed), kNoUse);
    next_[to_integer(id)] = tag;
    last_[to_integer(id)] = kNoUse;
    if (tag != kNoUse)
        played_by_[to_integer(program_.uses[tag].buffer)] = id;
}

void OracleForecast::used(const HappenedUse& use) {
    next_[to_integer(use.buffer)] = program_.uses[use.tag].next;
    last_[to_integer(use.buffer)] = use.tag;
    now_ = std::max<std::uint64_t>(now_, use.tag + std::uint64_t{1});
}

void OracleForecast::freed(BufferId id) {
    next_[to_integer(id)] = kNoUse;
}

std::uint64_t OracleForecast::next_use(BufferId id) const {
    const std::uint32_t next = next_[to_integer(id)];
    return next == kNoUse ? kNeverUsed : std::max<std::uint64_t>(next, now_) + 1;
}

std::uint64_t OracleForecast::end_of(BufferId id) const {
    if (next_use(id) != kNeverUsed || last_[to_integer(id)] == kNoUse)
        return kUnknownUse;
    const std::uint32_t end = ends_[last_[to_integer(id)]];
    return end == kNoUse ? kNeverUsed : std::max<std::uint64_t>(end, now_) + 1;
}

ExpectedUse OracleForecast::expected(std::uint64_t position) const {
    ExpectedUse answer;
    if (position == 0 || position > program_.uses.size())
        return answer;
    const TierUse& use = program_.uses[position - 1];
    answer.kind = ExpectedUse::Kind::other;
    // Numbers of buffers are reused: this use belongs to the live one if it is its next.
    const BufferId buffer = played_by_[to_integer(use.buffer)];
    if (to_integer(buffer) >= next_.size() || next_[to_integer(buffer)] != position - 1)
        return answer;
    answer.kind = ExpectedUse::Kind::use;
    answer.buffer = buffer;
    answer.reads = use.reads;
    return answer;
}

Bytes OracleForecast::growth_until(std::uint64_t position) const {
    const Bytes live = now_ == 0 ? 0 : live_[now_ - 1];
    const Bytes peak = live_.peak(now_, position);
    return peak > live ? peak - live : 0;
}

}  // namespace tidemark
