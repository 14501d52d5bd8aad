// Batches are copied whole: exchanged events take all their columns with them, except their times.
#include "traces/model/varied_trace.h"

#include <numeric>
#include <utility>
#include <vector>

#include "core/base/random.h"

namespace tidemark {
namespace {

constexpr Bytes kSmallestVaried = 1_MiB;
constexpr double kVariation = 0.004;

class VariedCursor final : public TraceCursor {
  public:
    VariedCursor(std::unique_ptr<TraceCursor> inner, std::uint64_t seed)
        : inner_(std::move(inner)), seed_(seed), random_(seed) {}

    Result<EventBatch> next() override {
        TM_ASSIGN(EventBatch batch, inner_->next());
        exchange(batch);
        take(batch, batch.kind, kind_);
        take(batch, batch.slot, slot_);
        take(batch, batch.size, size_);
        take(batch, batch.stream, stream_);
        take(batch, batch.stack, stack_);
        take(batch, batch.aux, aux_);
        take(batch, batch.tag, tag_);
        take(batch, batch.device, device_);
        take(batch, batch.flags, flags_);
        // other kinds use that field for something else
        for (std::size_t i = 0; i < batch.count; ++i)
            if (kind_[i] == EventKind::allocate || kind_[i] == EventKind::out_of_memory)
                size_[i] = varied_size(size_[i], seed_);
        addresses_.resize(batch.count, 0);
        batch.address = addresses_.data();
        return batch;
    }

  private:
    static bool may_exchange(const EventBatch& batch, std::size_t a, std::size_t b) {
        const auto plain = [&](std::size_t i) {
            return (batch.kind[i] == EventKind::allocate || batch.kind[i] == EventKind::free) &&
                   (batch.flags[i] & kPreamble) == 0;
        };
        return plain(a) && plain(b) && batch.stream[a] != batch.stream[b] &&
               batch.slot[a] != batch.slot[b];
    }

    // order_[i]: which event of the batch comes at position i.
    void exchange(const EventBatch& batch) {
        order_.resize(batch.count);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        for (std::size_t i = 1; i < batch.count; ++i)
            if (may_exchange(batch, order_[i - 1], order_[i]) && (random_.next() & 1U) != 0)
                std::swap(order_[i - 1], order_[i]);
    }

    template <class T>
    void take(const EventBatch& batch, const T*& column, std::vector<T>& into) {
        into.resize(batch.count);
        for (std::size_t i = 0; i < batch.count; ++i)
            into[i] = column[order_[i]];
        column = into.data();
    }

    std::unique_ptr<TraceCursor> inner_;
    std::uint64_t seed_;
    Random random_;
    std::vector<std::size_t> order_;
    std::vector<EventKind> kind_;
    std::vector<std::uint32_t> slot_;
    std::vector<Bytes> size_;
    std::vector<StreamId> stream_;
    std::vector<std::uint32_t> stack_;
    std::vector<std::uint32_t> aux_;
    std::vector<std::uint32_t> tag_;
    std::vector<std::uint16_t> device_;
    std::vector<std::uint8_t> flags_;
    std::vector<std::uint64_t> addresses_;  // zeros
};

}  // namespace

Bytes varied_size(Bytes size, std::uint64_t seed) {
    if (size < kSmallestVaried || size >= kLargestRequest)
        return size;
    Random of_size(size ^ Random(seed).next());
    const double factor = 1 + kVariation * (2 * of_size.unit() - 1);
    return static_cast<Bytes>(static_cast<double>(size) * factor);
}

std::unique_ptr<TraceCursor> VariedTrace::cursor() const {
    return std::make_unique<VariedCursor>(trace_.cursor(), seed_);
}

std::uint64_t VariedTrace::varied(std::uint64_t hash) const {
    return Random(hash ^ Random(seed_).next()).next();
}

}  // namespace tidemark
