// The past, the program's probable position in it, and which buffer plays which part.
#include "core/tiers/victims/learned_forecast.h"

#include <algorithm>

namespace tidemark {
namespace {

constexpr std::uint64_t kHashBase = 0x9e3779b97f4a7c15U;
// Distances from here on count as equal: those between steps change while a program warms up.
constexpr std::uint32_t kFarDistance = 256;
constexpr std::uint32_t kStrike = 4;        // for each difference; each match takes one away
constexpr std::uint32_t kMostStrikes = 32;  // beyond it the position is lost
constexpr std::uint32_t kSkipped = 8;       // operations that may be left out at once
constexpr std::size_t kSureWindow = 2;      // from this window on a position is trusted
constexpr double kTrustStep = 1.0 / 256;    // the weight of each operation in what is trusted
constexpr double kTrusted = 0.7;            // below it nothing is expected
constexpr double kSizesKept = 0.98;         // of the sums of sizes, at each further operation
constexpr std::size_t kTableBits = 12;      // of a window's table at first; it grows with the past

std::uint32_t mixed(std::uint64_t value) {
    value ^= value >> 33U;
    value *= 0xff51afd7ed558ccdU;
    value ^= value >> 33U;
    return static_cast<std::uint32_t>(value ^ (value >> 32U));
}

std::size_t slot_of(std::uint64_t hash, std::size_t size) {
    return static_cast<std::size_t>((hash * kHashBase) >> 20U) & (size - 1);
}

}  // namespace

LearnedForecast::LearnedForecast() {
    forget_all();
}

void LearnedForecast::forget_all() {
    base_ += past_.size();
    past_.clear();
    cursor_ = kNone;
    lived_.clear();
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        windows_[i].hash = 0;
        windows_[i].drop = 1;
        for (std::uint32_t n = 0; n < kWindows[i]; ++n)
            windows_[i].drop *= kHashBase;
        windows_[i].positions.assign(std::size_t{1} << kTableBits, kNone);
    }
    // Lifetimes of buffers that are still live stay, without the operations that are forgotten.
    std::vector<Life> kept;
    for (Living& living : living_) {
        if (living.life != kNone) {
            const Life& life = lives_[living.life];
            living.life = static_cast<std::uint32_t>(kept.size());
            kept.push_back({kNone, kNone, life.buffer, life.size});
        }
        living.model = kNone;
    }
    lives_ = std::move(kept);
}

void LearnedForecast::grow_to(BufferId id) {
    if (living_.size() <= to_integer(id))
        living_.resize(std::max<std::size_t>(to_integer(id) + 1, 2 * living_.size()));
}

// How long ago a buffer was last touched, which distinguishes operations that are otherwise the
// same.
std::uint32_t LearnedForecast::touch_distance(BufferId id) const {
    const Living& living = living_[to_integer(id)];
    if (living.life == kNone || lives_[living.life].last == kNone)
        return 0;
    const auto distance = static_cast<std::uint32_t>(past_.size()) - lives_[living.life].last;
    return std::min(distance, kFarDistance);
}

void LearnedForecast::allocated(BufferId id, Bytes size, std::uint32_t /*tag*/) {
    grow_to(id);
    living_[to_integer(id)] = {static_cast<std::uint32_t>(lives_.size()), kNone};
    lives_.push_back({kNone, kNone, to_integer(id), size});
    live_ += size;
    Operation operation;
    operation.kind = Kind::allocate;
    operation.token = mixed(1);
    happened(operation, to_integer(id));
}

void LearnedForecast::used(const HappenedUse& use) {
    grow_to(use.buffer);
    Operation operation;
    operation.kind = Kind::use;
    operation.reads = use.reads;
    operation.writes = use.writes;
    operation.token = mixed(2 + (use.reads ? 1U : 0U) + (use.writes ? 2U : 0U) +
                            (std::uint64_t{touch_distance(use.buffer)} << 8U));
    happened(operation, to_integer(use.buffer));
}

void LearnedForecast::marked(std::uint64_t name_hash) {
    Operation operation;
    operation.kind = Kind::mark;
    operation.token = mixed(name_hash | 1U << 31U);
    happened(operation, kNone);
}

void LearnedForecast::freed(BufferId id) {
    grow_to(id);
    Living& living = living_[to_integer(id)];
    if (living.life == kNone)
        return;
    Life& life = lives_[living.life];
    live_ -= life.size;
    if (life.last != kNone) {
        past_[life.last].next = kEnded;
        past_[life.last].end = static_cast<std::uint32_t>(past_.size());
    }
    life.buffer = kNone;
    living = {};
}

void LearnedForecast::happened(const Operation& operation, std::uint32_t buffer) {
    if (past_.size() >= kLongestPast)
        forget_all();
    const auto index = static_cast<std::uint32_t>(past_.size());
    past_.push_back(operation);
    Operation& made = past_.back();
    lived_.push_back(live_);
    if (buffer != kNone) {
        made.life = living_[buffer].life;
        if (made.life != kNone) {
            Life& life = lives_[made.life];
            if (life.last != kNone)
                past_[life.last].next = index;
            life.last = index;
        }
    }
    follow(made, buffer);
    remember();
    if (cursor_ == kNone)
        find_position();
}

// Compares with what was expected, and continues behind it.
void LearnedForecast::follow(const Operation& operation, std::uint32_t buffer) {
    if (cursor_ == kNone) {
        ++score_.silent;
        if (buffer != kNone)
            living_[buffer].model = kNone;
        return;
    }
    const bool right = past_[cursor_].token == operation.token;
    trust_ += kTrustStep * ((right ? 1.0 : 0.0) - trust_);
    if (right) {
        ++score_.right;
        strikes_ -= strikes_ > 0 ? 1U : 0U;
    } else {
        ++score_.wrong;
        strikes_ += kStrike;
        if (!step_over(operation)) {
            if (buffer != kNone)
                living_[buffer].model = kNone;
            return;
        }
    }
    if (buffer != kNone)
        pair(cursor_, buffer);
    ++cursor_;
}

// After a difference. If the past soon continues with a matching operation, those between were left
// out this time, and the position moves there. Otherwise, if the kinds match, the operation
// replaces the expected one; if not, it was inserted, and the position stays. Allocations all look
// the same, so they are never searched for. False: nothing in the past matches this operation.
bool LearnedForecast::step_over(const Operation& operation) {
    if (strikes_ > kMostStrikes) {
        cursor_ = kNone;
        return false;
    }
    if (operation.kind == Kind::allocate)
        return false;
    const std::size_t end = std::min<std::size_t>(past_.size() - 1, cursor_ + kSkipped);
    for (std::size_t ahead = cursor_ + 1; ahead < end; ++ahead)
        if (past_[ahead].token == operation.token) {
            cursor_ = static_cast<std::uint32_t>(ahead);
            return true;
        }
    const Operation& expected = past_[cursor_];
    return expected.kind == operation.kind && expected.reads == operation.reads &&
           expected.writes == operation.writes;
}

// From now on `buffer` plays the part of the buffer whose operation `model` was.
void LearnedForecast::pair(std::uint32_t model, std::uint32_t buffer) {
    living_[buffer].model = model;
    const std::uint32_t life = past_[model].life;
    if (life != kNone)
        lives_[life].actor = buffer;
    if (past_[model].kind == Kind::allocate && life != kNone) {
        sizes_now_ =
            kSizesKept * sizes_now_ + static_cast<double>(lives_[living_[buffer].life].size);
        sizes_then_ = kSizesKept * sizes_then_ + static_cast<double>(lives_[life].size);
    }
}

// Adds the last operation to the windows' hashes, and this position to their tables.
void LearnedForecast::remember() {
    const std::size_t count = past_.size();
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        Window& window = windows_[i];
        window.hash = window.hash * kHashBase + past_[count - 1].token;
        if (count <= kWindows[i])
            continue;
        window.hash -= window.drop * past_[count - 1 - kWindows[i]].token;
        if (cursor_ == kNone)
            continue;  // find_position reads first and writes then
        window.positions[slot_of(window.hash, window.positions.size())] =
            static_cast<std::uint32_t>(count);
    }
    // Tables of at least a quarter of the past's size keep most positions of a step apart.
    if (count > 4 * windows_[0].positions.size())
        for (Window& window : windows_) {
            std::vector<std::uint32_t> larger(window.positions.size() * 8, kNone);
            // A slot of the small table is split into the eight that share its low bits.
            for (std::size_t slot = 0; slot < larger.size(); ++slot)
                larger[slot] = window.positions[slot & (window.positions.size() - 1)];
            window.positions = std::move(larger);
        }
}

// Looks for the latest position at which the longest window of last operations was the same.
void LearnedForecast::find_position() {
    const auto count = static_cast<std::uint32_t>(past_.size());
    for (std::size_t i = windows_.size(); i-- > 0;) {
        Window& window = windows_[i];
        if (count <= kWindows[i])
            continue;
        std::uint32_t& position = window.positions[slot_of(window.hash, window.positions.size())];
        const std::uint32_t found = position;
        position = count;
        if (cursor_ != kNone || found == kNone || found < kWindows[i] || found >= count)
            continue;
        bool same = true;
        for (std::uint32_t back = 1; same && back <= kWindows[i]; ++back)
            same = past_[found - back].token == past_[count - back].token;
        if (same) {
            cursor_ = found;
            // A match of a short window has to prove itself.
            strikes_ = i >= kSureWindow ? 0 : kMostStrikes - kStrike;
            cast_back(found);
        }
    }
}

// The operations before the position matched too: their buffers play the same parts again.
void LearnedForecast::cast_back(std::uint32_t at) {
    const auto count = static_cast<std::uint32_t>(past_.size());
    const std::uint32_t farthest = std::min(at, 4 * kWindows.back());
    std::uint32_t alike = 0;
    while (alike < farthest && past_[at - 1 - alike].token == past_[count - 1 - alike].token)
        ++alike;
    for (std::uint32_t back = alike; back > 0; --back) {
        const std::uint32_t life = past_[count - back].life;
        if (life == kNone || lives_[life].buffer == kNone)
            continue;
        if (lives_[life].last == count - back)
            pair(at - back, lives_[life].buffer);
    }
}

Bytes LearnedForecast::growth_until(std::uint64_t position) const {
    if (!trusted() || cursor_ == 0 || position <= now())
        return 0;
    const Bytes then = lived_[cursor_ - 1];
    const std::uint64_t ahead = std::min<std::uint64_t>(position - now(), kLongestPast);
    const Bytes peak = lived_.peak(cursor_, cursor_ + ahead);
    if (peak <= then)
        return 0;
    return static_cast<Bytes>(static_cast<double>(peak - then) * sizes_now_ / sizes_then_);
}

bool LearnedForecast::trusted() const {
    return cursor_ != kNone && trust_ >= kTrusted;
}

std::uint64_t LearnedForecast::next_use(BufferId id) const {
    if (!trusted() || to_integer(id) >= living_.size())
        return kUnknownUse;
    const std::uint32_t model = living_[to_integer(id)].model;
    if (model == kNone || past_[model].next == kNone)
        return kUnknownUse;
    const std::uint32_t next = past_[model].next;
    if (next == kEnded)
        return kNeverUsed;
    // It should have come already: the program departs from its past with this buffer.
    return next < cursor_ ? kUnknownUse : now() + (next - cursor_) + 1;
}

std::uint64_t LearnedForecast::end_of(BufferId id) const {
    if (next_use(id) != kNeverUsed)
        return kUnknownUse;
    const std::uint32_t end = past_[living_[to_integer(id)].model].end;
    return now() + (end > cursor_ ? end - cursor_ : 0) + 1;
}

ExpectedUse LearnedForecast::expected(std::uint64_t position) const {
    ExpectedUse answer;
    if (!trusted() || position <= now())
        return answer;
    const std::uint64_t index = cursor_ + (position - now() - 1);
    if (index >= past_.size())
        return answer;
    const Operation& operation = past_[index];
    answer.kind = ExpectedUse::Kind::other;
    if (operation.kind != Kind::use || operation.life == kNone)
        return answer;
    // Another buffer may play its part now, or the buffer itself, if it has been live since then.
    const Life& life = lives_[operation.life];
    const std::uint32_t actor = life.actor;
    if (actor == kNone || actor >= living_.size() || living_[actor].life == kNone)
        return answer;
    const std::uint32_t model = living_[actor].model;
    if (model == kNone || past_[model].life != operation.life)
        return answer;
    answer.kind = ExpectedUse::Kind::use;
    answer.buffer = BufferId{actor};
    answer.reads = operation.reads;
    return answer;
}

}  // namespace tidemark
