// The simple policies against second models, written plainly from their papers: the same victims on
// the same random lives. The models walk vectors and know nothing of lists, heaps or hands in them.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/core/tiers/victims/resident_store.h"

namespace tidemark::tests {
namespace {

constexpr Bytes kCapacity = 1000;
constexpr std::uint32_t kNobody = ~0U;

using Id = std::uint32_t;
using Ids = std::vector<Id>;

class Model {
  public:
    virtual ~Model() = default;
    virtual void insert(Id id, Bytes size, bool dirty) = 0;
    virtual void touch(Id id, bool dirty) = 0;
    virtual void erase(Id id, bool evicted) = 0;

    virtual void forget(Id /*id*/) {}

    virtual Id victim() = 0;

    std::map<Id, bool> pinned;
};

void remove(Ids& ids, Id id) {
    ids.erase(std::find(ids.begin(), ids.end(), id));
}

bool has(const Ids& ids, Id id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

class LruModel final : public Model {
  public:
    void insert(Id id, Bytes /*size*/, bool /*dirty*/) override { last_[id] = ++clock_; }

    void touch(Id id, bool /*dirty*/) override { last_[id] = ++clock_; }

    void erase(Id id, bool /*evicted*/) override { last_.erase(id); }

    Id victim() override {
        Id best = kNobody;
        for (const auto& [id, last] : last_)
            if (!pinned[id] && (best == kNobody || last < last_[best]))
                best = id;
        return best;
    }

  private:
    std::map<Id, int> last_;
    int clock_ = 0;
};

// A ring and an index into it.
class ClockModel final : public Model {
  public:
    void insert(Id id, Bytes /*size*/, bool /*dirty*/) override {
        ring_.insert(ring_.begin() + static_cast<std::ptrdiff_t>(hand_), id);
        hand_ = (hand_ + 1) % ring_.size();
        marked_[id] = false;
    }

    void touch(Id id, bool /*dirty*/) override { marked_[id] = true; }

    void erase(Id id, bool /*evicted*/) override {
        const auto at =
            static_cast<std::size_t>(std::find(ring_.begin(), ring_.end(), id) - ring_.begin());
        remove(ring_, id);
        if (at < hand_)
            --hand_;
        if (hand_ >= ring_.size())
            hand_ = 0;
    }

    Id victim() override {
        for (std::size_t i = 0; i < 2 * ring_.size(); ++i) {
            const Id id = ring_[hand_];
            if (!pinned[id] && !marked_[id])
                return id;
            if (!pinned[id])
                marked_[id] = false;
            hand_ = (hand_ + 1) % ring_.size();
        }
        return kNobody;
    }

  private:
    Ids ring_;
    std::size_t hand_ = 0;
    std::map<Id, bool> marked_;
};

// The paper's figure: a queue from head (new) to tail (old), a hand that moves from tail to head.
class SieveModel final : public Model {
  public:
    void insert(Id id, Bytes /*size*/, bool /*dirty*/) override {
        queue_.insert(queue_.begin(), id);
        visited_[id] = false;
        missed_[id] = true;
    }

    void touch(Id id, bool /*dirty*/) override {
        if (missed_[id])
            missed_[id] = false;  // the miss itself
        else
            visited_[id] = true;
    }

    void erase(Id id, bool /*evicted*/) override {
        if (id == hand_)
            hand_ = before(id);
        remove(queue_, id);
    }

    Id victim() override {
        if (queue_.empty())
            return kNobody;
        Id object = hand_ == kNobody ? queue_.back() : hand_;
        for (std::size_t i = 0; i < 2 * queue_.size() + 1; ++i) {
            if (!pinned[object] && !visited_[object]) {
                hand_ = object;
                return object;
            }
            if (!pinned[object])
                visited_[object] = false;
            object = before(object);
            if (object == kNobody)
                object = queue_.back();
        }
        return kNobody;
    }

  private:
    Id before(Id id) const {
        const auto at = std::find(queue_.begin(), queue_.end(), id);
        return at == queue_.begin() ? kNobody : *(at - 1);
    }

    Ids queue_;
    Id hand_ = kNobody;
    std::map<Id, bool> visited_;
    std::map<Id, bool> missed_;
};

// Algorithm 1 of the paper, S and M with their tails in front, sizes in bytes.
class S3FifoModel final : public Model {
  public:
    void insert(Id id, Bytes size, bool /*dirty*/) override {
        size_[id] = size;
        freq_[id] = 0;
        missed_[id] = true;
        if (has(ghost_, id)) {
            remove(ghost_, id);
            main_.push_back(id);
        } else {
            small_.push_back(id);
        }
    }

    void touch(Id id, bool /*dirty*/) override {
        if (!missed_[id])
            freq_[id] = std::min(freq_[id] + 1, 3);
        missed_[id] = false;
    }

    void erase(Id id, bool evicted) override {
        turn_ = 0;
        if (has(main_, id)) {
            remove(main_, id);
            return;
        }
        remove(small_, id);
        if (evicted)
            ghost_.push_back(id);
        while (bytes(ghost_) > kCapacity * 9 / 10)
            ghost_.erase(ghost_.begin());
    }

    void forget(Id id) override {
        if (has(ghost_, id))
            remove(ghost_, id);
    }

    Id victim() override {
        if (turn_ == 0)
            turn_ = bytes(small_) > kCapacity / 10 || main_.empty() ? 1 : 2;
        const Id first = turn_ == 1 ? evict_small() : evict_main();
        if (first != kNobody)
            return first;
        turn_ = 3 - turn_;
        const Id second = turn_ == 1 ? evict_small() : evict_main();
        turn_ = second == kNobody ? 0 : turn_;
        return second;
    }

  private:
    Bytes bytes(const Ids& ids) {
        Bytes sum = 0;
        for (const Id id : ids)
            sum += size_[id];
        return sum;
    }

    Id evict_small() {
        const Ids walk = small_;
        for (const Id tail : walk) {
            if (pinned[tail])
                continue;
            if (freq_[tail] <= 1)
                return tail;
            remove(small_, tail);
            freq_[tail] = 0;
            main_.push_back(tail);
        }
        return kNobody;
    }

    Id evict_main() {
        for (std::size_t i = 0; i < main_.size();) {
            const Id tail = main_[i];
            if (pinned[tail]) {
                ++i;
            } else if (freq_[tail] == 0) {
                return tail;
            } else {
                --freq_[tail];
                remove(main_, tail);
                main_.push_back(tail);
            }
        }
        return kNobody;
    }

    Ids small_;
    Ids main_;
    Ids ghost_;
    int turn_ = 0;  // 1: small, 2: main, until somebody leaves
    std::map<Id, Bytes> size_;
    std::map<Id, int> freq_;
    std::map<Id, bool> missed_;
};

// H = L + frequency * cost / size, with the cost of the copies there and back.
class GdsfModel final : public Model {
  public:
    void insert(Id id, Bytes size, bool dirty) override {
        entries_[id] = {static_cast<double>(size), 1, 0, 0};
        value(id, dirty);
    }

    void touch(Id id, bool dirty) override {
        ++entries_[id].frequency;
        value(id, dirty);
    }

    void erase(Id id, bool evicted) override {
        if (evicted)
            age_ = std::max(age_, entries_[id].value);
        entries_.erase(id);
    }

    Id victim() override {
        Id best = kNobody;
        for (const auto& [id, entry] : entries_) {
            if (pinned[id])
                continue;
            if (best == kNobody || entry.value < entries_[best].value ||
                (entry.value == entries_[best].value && entry.last < entries_[best].last))
                best = id;
        }
        return best;
    }

  private:
    struct Entry {
        double size = 0;
        double frequency = 0;
        double value = 0;
        int last = 0;
    };

    void value(Id id, bool dirty) {
        Entry& entry = entries_[id];
        const double cost = dirty ? 2 * entry.size : entry.size;
        entry.value = age_ + entry.frequency * (cost / entry.size);
        entry.last = ++clock_;
    }

    std::map<Id, Entry> entries_;
    double age_ = 0;
    int clock_ = 0;
};

// The same random life for the policy and its model; how many left.
int compare(const std::string& spec, Model& model, std::uint64_t seed) {
    constexpr std::uint32_t kBuffers = 30;
    Random random(seed);
    ResidentStore store(spec, kCapacity);
    int left = 0;
    for (int step = 0; step < 3000; ++step) {
        const auto id = static_cast<Id>(random.below(kBuffers));
        const bool dirty = random.below(2) == 0;
        if (!store.alive(id)) {
            const Bytes size = 1 + random.below(150);
            store.add(id, {.size = size, .dirty = dirty});
            model.insert(id, size, dirty);
            model.pinned[id] = false;
        } else if (!store.resident(id)) {
            if (random.below(3) == 0) {
                store.free(id);
                model.forget(id);
            } else {
                store.change(id, {.size = store.size(id), .dirty = dirty});
                store.bring_back(id);
                model.insert(id, store.size(id), dirty);
            }
        } else if (const std::uint64_t what = random.below(10); what == 0) {
            store.free(id);
            model.erase(id, false);
        } else if (what == 1) {
            store.pin(id, !store.pinned(id));
            model.pinned[id] = store.pinned(id);
        } else if (what <= 5) {
            store.change(id, {.size = store.size(id), .dirty = dirty});
            store.use(id);
            model.touch(id, dirty);
        } else {
            const auto victim = store.victim();
            INFO("step " << step);
            REQUIRE(victim.value_or(kNobody) == model.victim());
            if (victim && random.below(8) != 0) {
                store.evict(*victim);
                model.erase(*victim, true);
                ++left;
            }
        }
    }
    return left;
}

template <class Made>
void compare_many(const std::string& spec) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        INFO(spec << " seed " << seed);
        Made model;
        CHECK(compare(spec, model, seed) > 300);
    }
}

TEST_CASE("the simple policies choose as plain models of their papers do", "[tiers][victims]") {
    compare_many<LruModel>("lru");
    compare_many<ClockModel>("clock");
    compare_many<SieveModel>("sieve");
    compare_many<S3FifoModel>("s3fifo");
    compare_many<GdsfModel>("gdsf:overhead=0");
}

}  // namespace
}  // namespace tidemark::tests
