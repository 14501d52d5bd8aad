// StreamDecoder: decodes a NumberStream, in pieces of any size. Its input may be anything: open()
// checks everything that later steps rely on, and reads only memory that exists.
//
// T is the type of the decoded numbers (an integer or an enum); higher bits are dropped.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>

#include "traces/tmk/number_stream.h"

namespace tidemark::tmk {

// The packed numbers of a stream, before they are decoded. Not thread-safe.
class PackedNumbers {
  public:
    // Takes a stream's patches and payload from `in`, whose header has been read. The payload may
    // be used in place, so it must outlive this. False if anything is wrong.
    bool open(const StreamHeader& header, ByteReader& in, Decompressor& decompressor);

    // Calls `use(i, number)` for the next `count` numbers, i = 0, 1, ... The caller knows that this
    // many are left.
    template <class Use>
    void read(std::size_t count, Use use) {
        std::size_t done = 0;
        while (done < count) {
            const std::size_t until = std::min(next_patch_ - position_, count - done);
            unpack(done, until, use);
            done += until;
            position_ += until;
            if (position_ == next_patch_ && done < count) {
                use(done, patch_numbers_[patch_]);
                ++done;
                ++position_;
                advance_patch();
            }
        }
    }

    std::size_t left() const { return count_ - position_; }

    // Back to the first number.
    void rewind();

    // No number is above it.
    std::uint64_t bound() const { return bound_; }

  private:
    void advance_patch();

    static std::uint64_t load(const std::byte* from) {
        std::uint64_t word = 0;
        std::memcpy(&word, from, sizeof word);
        return word;
    }

    template <class Packed, class Use>
    void unpack_whole(std::size_t offset, std::size_t count, Use use) const {
        const std::byte* from = data_ + position_ * sizeof(Packed);
        for (std::size_t i = 0; i < count; ++i) {
            Packed number = 0;
            std::memcpy(&number, from + i * sizeof number, sizeof number);
            use(offset + i, std::uint64_t{number});
        }
    }

    template <class Use>
    void unpack(std::size_t offset, std::size_t count, Use use) const {
        switch (width_) {
            case 0:
                for (std::size_t i = 0; i < count; ++i)
                    use(offset + i, std::uint64_t{0});
                return;
            case 8:
                return unpack_whole<std::uint8_t>(offset, count, use);
            case 16:
                return unpack_whole<std::uint16_t>(offset, count, use);
            case 32:
                return unpack_whole<std::uint32_t>(offset, count, use);
            case 64:
                return unpack_whole<std::uint64_t>(offset, count, use);
            default:
                break;
        }
        const std::uint64_t mask = (std::uint64_t{1} << width_) - 1;
        std::size_t bit = position_ * width_;
        for (std::size_t i = 0; i < count; ++i) {
            use(offset + i, (load(data_ + bit / 8) >> (bit % 8)) & mask);
            bit += width_;
        }
    }

    const std::byte* data_ = nullptr;
    unsigned width_ = 0;
    std::size_t count_ = 0;
    std::size_t position_ = 0;
    std::size_t patch_ = 0;
    std::size_t next_patch_ = 0;
    std::uint64_t bound_ = 0;
    std::vector<std::uint16_t> patch_positions_;
    std::vector<std::uint64_t> patch_numbers_;
    std::vector<std::byte> unpacked_;  // what zstd gave
};

template <class T>
class StreamDecoder {
  public:
    // Takes a stream of at most `most` numbers from `in`. False if anything is wrong.
    bool open(ByteReader& in, Decompressor& decompressor, std::size_t most) {
        header_ = in.get<StreamHeader>();
        if (!is_sound(header_, most))
            return false;
        before_ = header_.start;
        if (header_.coding == Coding::dictionary && !open_dictionary(in, decompressor))
            return false;
        if (!packed_.open(header_, in, decompressor))
            return false;
        return header_.coding != Coding::dictionary || header_.count == 0 || indexes_are_sound();
    }

    // The next `count` numbers; the caller knows that this many are left.
    void read(T* target, std::size_t count) {
        const std::uint64_t bias = header_.bias;
        const std::uint64_t unit = header_.unit;
        if (header_.coding == Coding::dictionary) {
            packed_.read(
                count, [target, dictionary = dictionary_.data()](
                           std::size_t i, std::uint64_t index) { target[i] = dictionary[index]; });
        } else if (header_.coding == Coding::delta) {
            std::uint64_t before = before_;
            packed_.read(count, [&](std::size_t i, std::uint64_t number) {
                before += bias + number * unit;
                target[i] = static_cast<T>(before);
            });
            before_ = before;
        } else if (unit == 1) {
            packed_.read(count, [target, bias](std::size_t i, std::uint64_t number) {
                target[i] = static_cast<T>(bias + number);
            });
        } else {
            packed_.read(count, [target, bias, unit](std::size_t i, std::uint64_t number) {
                target[i] = static_cast<T>(bias + number * unit);
            });
        }
    }

    std::size_t left() const { return packed_.left(); }

    // An upper bound of the decoded numbers (as far as is known without reading them all).
    std::uint64_t bound() const {
        constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
        if (header_.count == 0)
            return 0;
        if (header_.coding == Coding::dictionary)
            return static_cast<std::uint64_t>(*std::ranges::max_element(dictionary_));
        std::uint64_t largest = 0;
        if (header_.coding == Coding::delta ||
            __builtin_mul_overflow(packed_.bound(), header_.unit, &largest) ||
            __builtin_add_overflow(largest, header_.bias, &largest))
            return kUnknown;
        return largest;
    }

  private:
    static bool is_sound(const StreamHeader& header, std::size_t most) {
        return header.count <= most && header.coding <= Coding::dictionary &&
               header.packing <= Packing::zstd && header.zero == 0;
    }

    bool open_dictionary(ByteReader& in, Decompressor& decompressor) {
        const auto header = in.get<StreamHeader>();
        if (!is_sound(header, kChunkEvents) || header.coding == Coding::dictionary)
            return false;
        PackedNumbers packed;
        if (!packed.open(header, in, decompressor))
            return false;
        dictionary_.resize(header.count);
        std::uint64_t before = header.start;
        packed.read(header.count, [&](std::size_t i, std::uint64_t number) {
            const std::uint64_t step = header.bias + number * header.unit;
            before = header.coding == Coding::delta ? before + step : step;
            dictionary_[i] = static_cast<T>(before);
        });
        return true;
    }

    // So that read() need not check each index: zeros are appended to the dictionary up to where an
    // index could point, if those are few; otherwise all indexes are checked here.
    bool indexes_are_sound() {
        if (dictionary_.empty())
            return false;
        if (packed_.bound() < 2 * dictionary_.size()) {
            dictionary_.resize(packed_.bound() + 1);
            return true;
        }
        std::uint64_t largest = 0;
        packed_.read(header_.count, [&largest](std::size_t, std::uint64_t index) {
            largest = std::max(largest, index);
        });
        packed_.rewind();
        return largest < dictionary_.size();
    }

    StreamHeader header_;
    PackedNumbers packed_;
    std::uint64_t before_ = 0;
    std::vector<T> dictionary_;
};

}  // namespace tidemark::tmk
