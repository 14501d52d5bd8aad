// A reservation of size S with L live bytes accounts for max(S, L) bytes: max(0, S - L) of them as
// unused, the rest as allocated. Each operation changes S or L and passes the difference on.
#include "core/tiers/spaces/reservation_ledger.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

ReservationLedger::Node* ReservationLedger::node_of(ReservationId id) {
    if (id.node >= nodes_.size())
        return nullptr;
    Node& node = nodes_[id.node];
    return node.state != State::vacant && node.generation == id.generation ? &node : nullptr;
}

ReservationLedger::Node& ReservationLedger::living(ReservationId id) {
    Node* node = node_of(id);
    TM_CHECK(node != nullptr && node->state == State::living);
    return *node;
}

const ReservationLedger::Node& ReservationLedger::living(ReservationId id) const {
    return const_cast<ReservationLedger*>(this)->living(id);
}

ReservationId ReservationLedger::occupy(Bytes size, OwnerId owner) {
    if (vacant_ == ReservationId::kNone) {
        vacant_ = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
    }
    const std::uint32_t index = vacant_;
    Node& node = nodes_[index];
    vacant_ = node.next.node;
    node.size = size;
    node.live = 0;
    node.peak = 0;
    node.charges = 0;
    node.owner = owner;
    node.state = State::living;
    return {index, node.generation};
}

// A node whose generations are used up is never occupied again: an id never has two owners.
OverReservation ReservationLedger::vacate(std::uint32_t index) {
    Node& node = nodes_[index];
    node.state = State::vacant;
    if (++node.generation != ~std::uint32_t{0}) {
        node.next = {vacant_, 0};
        vacant_ = index;
    }
    return std::exchange(node.policy, nullptr);
}

std::optional<ReservationId> ReservationLedger::try_reserve(Bytes size, OwnerId owner) {
    if (!account_.try_reserve(size))
        return std::nullopt;
    reserved_ += size;
    ++reservations_;
    return occupy(size, owner);
}

OverReservation ReservationLedger::release(ReservationId id) {
    const Node& node = living(id);
    account_.unreserve(node.unused());
    reserved_ -= node.size;
    --reservations_;
    return vacate(id.node);
}

ReservationFacts ReservationLedger::facts_of(const Node& node) const {
    return {.id = {static_cast<std::uint32_t>(&node - nodes_.data()), node.generation},
            .owner = node.owner,
            .size = node.size,
            .used = node.live,
            .peak = node.peak};
}

std::optional<ReservationFacts> ReservationLedger::find(ReservationId id) const {
    const Node* node = const_cast<ReservationLedger*>(this)->node_of(id);
    if (node == nullptr || node->state != State::living)
        return std::nullopt;
    return facts_of(*node);
}

std::vector<ReservationFacts> ReservationLedger::all() const {
    std::vector<ReservationFacts> found;
    found.reserve(reservations_);
    for (const Node& node : nodes_)
        if (node.state == State::living)
            found.push_back(facts_of(node));
    return found;
}

bool ReservationLedger::grow(ReservationId id, Bytes size) {
    Node& node = living(id);
    const Bytes before = node.unused();
    const Bytes after = node.size + size > node.live ? node.size + size - node.live : 0;
    if (!account_.try_reserve(after - before))
        return false;
    node.size += size;
    reserved_ += size;
    return true;
}

Bytes ReservationLedger::shrink(ReservationId id) {
    Node& node = living(id);
    const Bytes unused = node.unused();
    account_.unreserve(unused);
    node.size -= unused;
    reserved_ -= unused;
    return unused;
}

std::optional<ReservationId> ReservationLedger::split(ReservationId id, Bytes size, OwnerId owner) {
    Node& node = living(id);
    if (node.unused() < size)
        return std::nullopt;
    node.size -= size;
    ++reservations_;
    OverReservation policy = node.policy;
    const ReservationId part = occupy(size, owner);  // `node` may have moved
    nodes_[part.node].policy = std::move(policy);
    return part;
}

OverReservation ReservationLedger::merge(ReservationId into, ReservationId from) {
    TM_CHECK(into.node != from.node);
    Node& target = living(into);
    Node& source = living(from);
    const Bytes before = target.unused() + source.unused();
    target.size += source.size;
    target.live += source.live;
    target.peak = std::max(target.peak, target.live);
    target.charges += source.charges;
    account_.unreserve(before - target.unused());  // room of the one covers excess of the other
    --reservations_;
    if (source.charges == 0)
        return vacate(from.node);
    source.state = State::merged;
    source.next = into;
    return std::exchange(source.policy, nullptr);
}

OverReservation ReservationLedger::set_policy(ReservationId id, OverReservation policy) {
    return std::exchange(living(id).policy, std::move(policy));
}

OverReservation ReservationLedger::policy_of(ReservationId id) const {
    return living(id).policy;
}

// The reservation that a merged node is part of; null if that is gone. Later calls skip the merged
// nodes on the way: they no longer pass these charges on.
ReservationLedger::Node* ReservationLedger::follow(Node& origin) {
    for (;;) {
        Node* next = node_of(origin.next);
        if (next == nullptr || next->state == State::living)
            return next;
        const std::uint32_t skipped = origin.next.node;
        origin.next = next->next;
        next->charges -= origin.charges;
        if (next->charges == 0)
            vacate(skipped);
    }
}

// Where charges of `origin` return to now; null: the space.
ReservationLedger::Node* ReservationLedger::paying_node(ReservationId origin) {
    Node* node = node_of(origin);
    return node != nullptr && node->state == State::merged ? follow(*node) : node;
}

std::optional<ReservationFacts> ReservationLedger::payer(ReservationId origin) {
    const Node* node = paying_node(origin);
    return node != nullptr ? std::optional(facts_of(*node)) : std::nullopt;
}

ReservationLedger::Taken ReservationLedger::take(Bytes size, ReservationId origin, Bytes growth,
                                                 bool allow_excess) {
    Node* payer = paying_node(origin);
    return payer != nullptr ? take_from(*payer, size, growth, allow_excess) : take_from_space(size);
}

ReservationLedger::Taken ReservationLedger::take_from_space(Bytes size) {
    if (!account_.try_allocate(size))
        return {.granted = false, .missing = lacking(size)};
    return {.granted = true};
}

ReservationLedger::Taken ReservationLedger::take_from(Node& node, Bytes size, Bytes growth,
                                                      bool allow_excess) {
    if (node.live + size > node.size + growth && !allow_excess)
        return {};
    const Bytes room = node.size + growth > node.live ? node.size + growth - node.live : 0;
    const Bytes grown = room - node.unused();
    const Bytes inside = std::min(size, room);
    if (grown > account_.reservable())
        return {.granted = false, .missing = grown - account_.reservable()};
    if (lacking(grown + size - inside) != 0)
        return {.granted = false, .missing = lacking(grown + size - inside)};
    TM_CHECK(account_.try_reserve(grown) && account_.try_allocate(size, inside));
    node.size += growth;
    reserved_ += growth;
    node.live += size;
    node.peak = std::max(node.peak, node.live);
    return {.granted = true};
}

void ReservationLedger::open_charge(ReservationId origin) {
    ++charges_;
    if (origin.node != ReservationId::kNone)
        ++living(origin).charges;
}

void ReservationLedger::give_back(Bytes size, ReservationId origin) {
    Node* payer = paying_node(origin);
    if (payer == nullptr)
        return account_.deallocate(size);
    TM_CHECK(size <= payer->live);
    const Bytes before = payer->unused();
    payer->live -= size;
    account_.deallocate(size, payer->unused() - before);
}

void ReservationLedger::close_charge(Bytes size, ReservationId origin) {
    give_back(size, origin);
    TM_CHECK(charges_ > 0);
    --charges_;
    Node* node = node_of(origin);
    Node* payer = paying_node(origin);
    if (payer != nullptr)
        --payer->charges;
    if (node == payer)
        return;
    --node->charges;  // merged
    if (node->charges == 0)
        vacate(origin.node);
}

}  // namespace tidemark
