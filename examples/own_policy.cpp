// A policy of your own, in a library that Tidemark loads:
//
//     tidemark replay snapshot.pickle -p ./libown_policy.so:largest=64MiB
//     tidemark compare snapshot.pickle -p torch -p ./libown_policy.so
//     check_policy ./libown_policy.so            (examples/check_policy.cpp: is it correct?)
//
// This policy rounds sizes up to powers of two, and keeps freed blocks for the next request of that
// size on the same stream. Blocks that another stream has used are released to the device, whose
// `free` waits for all work.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include <tidemark/core/allocator/policy_file.h>

namespace {

using namespace tidemark;

constexpr Bytes kSmallest = 512;  // the alignment that every device guarantees

class PowersOfTwo final : public Allocator {
  public:
    PowersOfTwo(Device& device, Bytes largest) : device_(device), largest_(largest) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest)
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes size = std::bit_ceil(std::max({request.size, request.alignment, kSmallest}));
        if (auto& list = free_[{request.stream, size}]; !list.empty()) {
            const std::uint32_t node = list.back();
            list.pop_back();
            return grant(node);
        }
        DeviceResult<Address> begin = device_.malloc(size);
        if (!begin) {
            ++stats_.retries;
            trim(TrimLevel::all);
            begin = device_.malloc(size);
        }
        if (!begin)
            return refuse(refused_by(begin.error()));
        usage_.reserved += size;
        usage_.mapped += size;
        ++stats_.segments_created;
        return grant(new_piece({{*begin, size}, request.stream, State::granted, false}));
    }

    void deallocate(const Allocation& allocation, StreamId stream) override {
        Piece& piece = pieces_[allocation.node];
        count_deallocated(allocation);
        if (!piece.shared && stream == piece.stream && piece.range.size <= largest_) {
            piece.state = State::cached;
            free_[{piece.stream, piece.range.size}].push_back(allocation.node);
        } else {
            give_back(allocation.node);
        }
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        Piece& piece = pieces_[allocation.node];
        piece.shared = piece.shared || stream != piece.stream;
    }

    void trim(TrimLevel /*level*/) override {
        for (auto& [key, list] : free_) {
            for (const std::uint32_t node : std::exchange(list, {}))
                give_back(node);
        }
        for (const std::uint32_t node : std::exchange(kept_, {}))
            give_back(node);
    }

    Bytes largest_free() const override {
        Bytes largest = 0;
        for (const auto& [key, list] : free_)
            largest = std::max(largest, list.empty() ? 0 : key.second);
        return largest;
    }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        for (const Piece& piece : pieces_) {
            if (piece.state == State::gone)
                continue;
            const auto state = piece.state == State::cached ? Region::State::free
                               : piece.state == State::kept ? Region::State::hole
                                                            : Region::State::allocated;
            visit({piece.range, piece.range, state, piece.stream});
        }
    }

  private:
    enum class State { granted, cached, kept, gone };  // kept: the device failed to release it

    struct Piece {
        Range range;
        StreamId stream = StreamId::default_stream;
        State state = State::gone;
        bool shared = false;  // another stream has used it
    };

    tl::unexpected<OutOfMemory> refuse(OutOfMemory why) {
        ++stats_.out_of_memory;
        return tl::make_unexpected(why);
    }

    std::uint32_t new_piece(const Piece& piece) {
        if (vacant_.empty()) {
            pieces_.push_back(piece);
            return static_cast<std::uint32_t>(pieces_.size() - 1);
        }
        const std::uint32_t node = vacant_.back();
        vacant_.pop_back();
        pieces_[node] = piece;
        return node;
    }

    Allocation grant(std::uint32_t node) {
        Piece& piece = pieces_[node];
        piece.state = State::granted;
        count_allocated(piece.range.size);
        return {piece.range.begin, piece.range.size, node};
    }

    void give_back(std::uint32_t node) {
        Piece& piece = pieces_[node];
        if (!device_.free(piece.range.begin)) {
            piece.state = State::kept;  // no memory is lost: a later trim tries again
            kept_.push_back(node);
            return;
        }
        usage_.reserved -= piece.range.size;
        usage_.mapped -= piece.range.size;
        ++stats_.segments_released;
        piece.state = State::gone;
        vacant_.push_back(node);
    }

    Device& device_;
    Bytes largest_;
    std::vector<Piece> pieces_;  // by the node of their allocation
    std::vector<std::uint32_t> vacant_;
    std::vector<std::uint32_t> kept_;
    std::map<std::pair<StreamId, Bytes>, std::vector<std::uint32_t>> free_;
};

constexpr std::array kOptions{
    OptionInfo{.name = "largest",
               .type = OptionType::bytes,
               .unit = "bytes",
               .default_value = "1GiB",
               .minimum = "512",
               .summary = "larger pieces are not kept when they are freed"},
};

Result<std::unique_ptr<Allocator>> make(Device& device, const Options& options) {
    return std::make_unique<PowersOfTwo>(device, options.bytes("largest"));
}

}  // namespace

TIDEMARK_POLICY_FILE({.name = "powers-of-two",
                      .summary = "sizes rounded up to powers of two, kept for each stream",
                      .source = "an example",
                      .options = kOptions,
                      .make = make})
