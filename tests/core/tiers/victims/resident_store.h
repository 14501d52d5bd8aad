// ResidentStore: an owner of buffers as a victim policy sees one, for tests: what is resident, its
// facts, and who may leave. Told what happens, it tells its policy; `evict` does as it says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/victims/victim_policy.h"

namespace tidemark::tests {

class ResidentStore final : public Residents {
  public:
    explicit ResidentStore(std::string_view spec, Bytes capacity = 1000) {
        const auto parsed = parse_victim_policy(spec);
        REQUIRE(parsed);
        policy_ = parsed->policy->make(
            {.residents = this, .capacity = capacity, .out_ns_per_byte = 1, .in_ns_per_byte = 1},
            parsed->options);
    }

    bool may_leave(BufferId id) const override { return at(id).resident && !at(id).pinned; }

    BufferFacts facts(BufferId id) const override {
        REQUIRE(at(id).resident);
        BufferFacts facts = at(id).facts;
        facts.now = now;
        return facts;
    }

    // A new buffer comes in, with these facts (but `now`).
    void add(std::uint32_t id, const BufferFacts& facts = {.size = 100}) {
        if (id >= buffers_.size())
            buffers_.resize(id + 1);
        buffers_[id] = {facts, true, true, false};
        policy_->insert(BufferId{id});
    }

    void use(std::uint32_t id) {
        ++now;
        policy_->touch(BufferId{id});
    }

    // What is known of it changes without a use.
    void revise(std::uint32_t id, const BufferFacts& facts) {
        buffers_[id].facts = facts;
        policy_->revise(BufferId{id});
    }

    // As revise, but nobody tells the policy.
    void change(std::uint32_t id, const BufferFacts& facts) { buffers_[id].facts = facts; }

    void pin(std::uint32_t id, bool pinned = true) { buffers_[id].pinned = pinned; }

    // An evicted buffer comes back.
    void bring_back(std::uint32_t id) {
        REQUIRE((buffers_[id].alive && !buffers_[id].resident));
        buffers_[id].resident = true;
        policy_->insert(BufferId{id});
    }

    void evict(std::uint32_t id) {
        buffers_[id].resident = false;
        policy_->erase(BufferId{id}, EvictionReason::evicted);
    }

    void free(std::uint32_t id) {
        REQUIRE(buffers_[id].alive);
        if (buffers_[id].resident)
            policy_->erase(BufferId{id}, EvictionReason::freed);
        else
            policy_->forget(BufferId{id});
        buffers_[id] = {};
    }

    // Whom the policy names; nothing if nobody.
    std::optional<std::uint32_t> victim() {
        const auto id = policy_->victim();
        return id ? std::optional(to_integer(*id)) : std::nullopt;
    }

    // Evicts whom the policy names.
    std::optional<std::uint32_t> evict_next() {
        const auto id = victim();
        if (id)
            evict(*id);
        return id;
    }

    // Evicts until nobody may leave: who left, in that order.
    std::vector<std::uint32_t> drain() {
        std::vector<std::uint32_t> left;
        while (const auto id = evict_next())
            left.push_back(*id);
        return left;
    }

    bool alive(std::uint32_t id) const { return id < buffers_.size() && buffers_[id].alive; }

    bool resident(std::uint32_t id) const { return alive(id) && buffers_[id].resident; }

    bool pinned(std::uint32_t id) const { return buffers_[id].pinned; }

    Bytes size(std::uint32_t id) const { return buffers_[id].facts.size; }

    std::uint64_t now = 1;

  private:
    struct Buffer {
        BufferFacts facts;
        bool alive = false;
        bool resident = false;
        bool pinned = false;
    };

    const Buffer& at(BufferId id) const { return buffers_[to_integer(id)]; }

    std::vector<Buffer> buffers_;
    std::unique_ptr<VictimPolicy> policy_;
};

}  // namespace tidemark::tests
