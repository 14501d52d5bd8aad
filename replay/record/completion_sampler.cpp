// The program's clock goes from point to point; each wait gets its end when its free is passed.
#include "replay/record/completion_sampler.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr Nanoseconds kLeastLag = 5'000;    // of an empty stream, until a query sees it
constexpr Nanoseconds kLeastStall = 5'000;  // cheaper calls take no memory from the device

Nanoseconds scaled(Nanoseconds time, double factor) {
    return static_cast<Nanoseconds>(static_cast<double>(time) * factor);
}

}  // namespace

CompletionSampler::CompletionSampler(const CompletionRecord& record, std::uint64_t seed,
                                     const RunVariation& variation)
    : record_(record), variation_(variation), random_(seed), chains_(record.chains) {
    pace_ = variation_.quicker * factor(variation_.pace);
    device_ = factor(variation_.device);
    busy_ = variation_.least_busy + (1 - variation_.least_busy) * random_.unit();
    done_.reserve(record.waits.size());
}

// About log-normal around 1, from sums alone, so that it is the same on every machine.
double CompletionSampler::factor(double deviation) {
    double normal = -6;
    for (int i = 0; i < 12; ++i)
        normal += random_.unit();
    const double change = normal * deviation;
    return change >= 0 ? 1 + change : 1 / (1 - change);
}

// Gives the next wait its end.
void CompletionSampler::start(const RecordedWait& wait) {
    Chain& chain = chains_[wait.chain];
    const auto width = static_cast<double>(wait.done_before - wait.done_after);
    Nanoseconds recorded = wait.done_after + static_cast<Nanoseconds>(width * random_.unit());
    recorded = std::max(recorded, chain.recorded_done);
    const Nanoseconds lag = recorded - wait.requested;
    Nanoseconds work = 0;
    Nanoseconds least = lag;
    if (chain.begun) {
        const Nanoseconds begin = std::max(chain.recorded_done, chain.recorded_requested);
        work = recorded - begin;
        if (!wait.seen) {
            work = wait.likely_work;
        } else if (begin < wait.requested) {
            work = lag + scaled(wait.requested - begin, busy_);
            work = std::min(work, std::max(lag, wait.likely_work));
        }
        if (chain.recorded_done > wait.requested)
            least = std::min(lag, work);
    }
    chain.done = std::max(chain.done + scaled(work, device_),
                          now_ + std::max(kLeastLag, scaled(least, factor(variation_.lag))));
    chain.recorded_done = recorded;
    chain.recorded_requested = wait.requested;
    chain.begun = true;
    done_.push_back(chain.done);
}

// What a request that calls the driver costs the program while the device is busy: as much as a
// recorded one, and at least what the profile says, which was measured on an idle device.
Nanoseconds CompletionSampler::stall(Nanoseconds modelled) {
    if (modelled < kLeastStall || record_.stalls.empty())
        return modelled;
    return std::max(modelled, scaled(record_.stalls[random_.below(record_.stalls.size())], pace_));
}

void CompletionSampler::pass(const HostPoint& point, Nanoseconds spent) {
    if (next_point_ % variation_.stretch == 0)
        stretch_pace_ = factor(variation_.stretch_pace);
    now_ += scaled(point.gap, pace_ * stretch_pace_) + stall(spent - spent_);
    spent_ = spent;
    if (point.waited != 0)
        wait_for(point.waited);
    if (point.waits)
        start(record_.waits[next_wait_++]);
    else
        wait_for_queue();
    ++next_point_;
}

void CompletionSampler::wait_for(std::uint64_t chains) {
    for (std::size_t i = 0; i < chains_.size(); ++i) {
        if ((chains & chain_bit(i)) != 0)
            now_ = std::max(now_, chains_[i].done);
    }
}

// The driver takes only so much work in advance.
void CompletionSampler::wait_for_queue() {
    ++requests_;
    const auto room = static_cast<std::uint64_t>(variation_.queue * record_.streams);
    while (first_queued_ < next_wait_ && record_.waits[first_queued_].requests + room < requests_)
        now_ = std::max(now_, done_[first_queued_++]);
}

void CompletionSampler::advance(std::uint64_t event, Nanoseconds spent) {
    while (next_point_ < record_.points.size() && record_.points[next_point_].event <= event)
        pass(record_.points[next_point_], spent);
}

std::size_t CompletionSampler::begin_wait(std::uint64_t event, Nanoseconds spent) {
    advance(event, spent);
    TM_CHECK(next_wait_ > 0 && record_.waits[next_wait_ - 1].event == event);
    const std::size_t wait = next_wait_ - 1;
    chains_[record_.waits[wait].chain].open.push_back(wait);
    return wait;
}

std::span<const std::size_t> CompletionSampler::ended_by(std::uint64_t event, Nanoseconds spent) {
    advance(event, spent);
    ended_.clear();
    for (Chain& chain : chains_) {
        while (!chain.open.empty() && done_[chain.open.front()] <= now_) {
            ended_.push_back(chain.open.front());
            chain.open.pop_front();
        }
    }
    return ended_;
}

std::span<const std::size_t> CompletionSampler::end_all() {
    wait_for(~std::uint64_t{0});
    ended_.clear();
    for (Chain& chain : chains_) {
        ended_.insert(ended_.end(), chain.open.begin(), chain.open.end());
        chain.open.clear();
    }
    return ended_;
}

}  // namespace tidemark
