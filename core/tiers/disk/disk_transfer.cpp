// The retry loop around a BlockQueue.
#include "core/tiers/disk/disk_transfer.h"

#include <algorithm>
#include <cerrno>

#include "core/base/check.h"

namespace tidemark {
namespace {

// A file that moves nothing this often in a row never will. An interruption is not a failure, but a
// kernel that reports nothing else must not hang us.
constexpr unsigned kFruitlessMost = 64;
constexpr unsigned kInterruptedMost = 100'000;

constexpr int kAgain = -2;  // of outcome(): not at its end yet

}  // namespace

WholeTransfers::WholeTransfers(std::unique_ptr<BlockQueue> queue)
    : queue_(std::move(queue)), slots_(queue_->depth()), completions_(queue_->depth()) {}

WholeTransfers::~WholeTransfers() {
    TM_CHECK(in_flight_ == 0);
}

void WholeTransfers::start(unsigned index, const BlockTransfer& transfer, Bytes alignment) {
    Slot& slot = slots_[index];
    TM_CHECK(!slot.busy && transfer.pieces.size() <= kMaxPieces);
    slot.transfer = transfer;
    slot.transfer.tag = index;
    slot.pieces.assign(transfer.pieces.begin(), transfer.pieces.end());
    slot.first = 0;
    slot.alignment = alignment;
    slot.left = 0;
    for (const MemoryPiece& piece : slot.pieces)
        slot.left += piece.size;
    TM_CHECK(slot.left > 0);
    slot.moved = 0;
    slot.fruitless = 0;
    slot.busy = true;
    ++in_flight_;
    submit(index);
}

WholeTransfers::End WholeTransfers::wait() {
    TM_CHECK(in_flight_ > 0);
    while (true) {
        if (next_ == filled_) {
            next_ = 0;
            filled_ = queue_->wait(completions_);
        }
        const BlockCompletion completion = completions_[next_++];
        const auto index = static_cast<unsigned>(completion.tag);
        Slot& slot = slots_[index];
        const int error = outcome(slot, completion);
        if (error == kAgain) {
            submit(index);
            continue;
        }
        slot.busy = false;
        --in_flight_;
        return {index, error, slot.moved};
    }
}

void WholeTransfers::submit(unsigned index) {
    Slot& slot = slots_[index];
    slot.transfer.pieces = std::span(slot.pieces).subspan(slot.first);
    queue_->submit(std::span(&slot.transfer, 1));
}

// The meaning of a completion: 0, an error, or kAgain for the rest.
int WholeTransfers::outcome(Slot& slot, const BlockCompletion& completion) const {
    if (completion.error == EINTR || completion.error == EAGAIN)
        return ++slot.fruitless < kInterruptedMost ? kAgain : completion.error;
    if (completion.error != 0)
        return completion.error;
    TM_CHECK(completion.moved <= slot.left);
    if (completion.moved == slot.left) {
        slot.moved += slot.left;
        return 0;
    }
    const bool reads = slot.transfer.kind == BlockTransfer::Kind::read;
    if (completion.moved == 0 && reads)
        return WholeTransfers::kEndOfFile;
    // The rest must start where a direct transfer can: bytes after that point are moved again.
    const Bytes kept = completion.moved & ~(slot.alignment - 1);
    if (kept == 0)
        return ++slot.fruitless < kFruitlessMost ? kAgain : (reads ? kEndOfFile : EIO);
    slot.fruitless = 0;
    advance(slot, kept);
    return kAgain;
}

void WholeTransfers::advance(Slot& slot, Bytes moved) const {
    slot.transfer.offset += moved;
    slot.left -= moved;
    slot.moved += moved;
    while (moved > 0) {
        MemoryPiece& piece = slot.pieces[slot.first];
        const Bytes part = std::min(moved, piece.size);
        piece.data += part;
        piece.size -= part;
        moved -= part;
        if (piece.size == 0)
            ++slot.first;
    }
}

}  // namespace tidemark
