// Chooses the cheapest coding of a run of numbers and writes it. Every choice is by whole-number
// arithmetic on the numbers, so it is the same everywhere.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "core/base/check.h"
#include "traces/tmk/number_stream.h"

namespace tidemark::tmk {
namespace {

using Numbers = std::span<const std::uint64_t>;

constexpr std::size_t kPatchBits = 80;     // a patch: position (u16) and number (u64)
constexpr std::size_t kHashSlots = 32768;  // twice the most entries of a dictionary
constexpr std::size_t kMostDistinct = kHashSlots / 2;
// Levels above the first save a twentieth of the bytes and cost 10 % of the time.
constexpr int kLevel = 1;

// A byte that zstd must reproduce costs as much as a quarter of a byte in the file: unpacking bits
// is several times as fast, and that is worth some space.
constexpr std::size_t kDecompressionPrice = 4;

struct Width {
    unsigned bits = 0;
    std::size_t cost = 0;
};

WidthCensus census_of(Numbers numbers) {
    std::array<WidthCensus, 4>
        counts{};  // four, so that equal neighbours do not wait for each other
    for (std::size_t i = 0; i < numbers.size(); ++i)
        ++counts[i % 4][static_cast<std::size_t>(std::bit_width(numbers[i]))];
    for (std::size_t bits = 0; bits < counts[0].size(); ++bits)
        counts[0][bits] += counts[1][bits] + counts[2][bits] + counts[3][bits];
    return counts[0];
}

bool is_whole_bytes(unsigned bits) {
    return bits == 8 || bits == 16 || bits == 32;
}

// The width that makes the numbers smallest, patches included.
Width best_width(const WidthCensus& census, std::size_t count, bool whole_bytes) {
    Width best{64, count * 64};
    std::size_t wider = 0;
    for (unsigned bits = 64; bits-- > 0;) {
        wider += census[bits + 1];
        const std::size_t cost = count * bits + wider * kPatchBits;
        if ((whole_bytes ? is_whole_bytes(bits) : bits <= kWidestPacked) && cost <= best.cost)
            best = {bits, cost};
    }
    return best;
}

// The number that undoes multiplication by `odd`, modulo 2^64 (Newton's method). For a multiple of
// `odd`, multiplying by it divides; for any other number it gives more than 2^64 / odd.
std::uint64_t inverse_of(std::uint64_t odd) {
    std::uint64_t inverse = odd;  // right in the lowest 3 bits, then in twice as many each time
    for (int bits = 3; bits < 64; bits *= 2)
        inverse *= 2 - odd * inverse;
    return inverse;
}

// The greatest common divisor of all `numbers`; 1 if all are 0.
std::uint64_t common_unit(Numbers numbers) {
    std::uint64_t all_bits = 0;
    for (const std::uint64_t number : numbers)
        all_bits |= number;
    if (all_bits == 0)
        return 1;
    const int twos = std::countr_zero(all_bits);
    std::uint64_t odd = 0;
    std::uint64_t inverse = 0;
    std::uint64_t most = 0;  // the largest quotient by `odd`
    for (const std::uint64_t number : numbers) {
        const std::uint64_t rest = number >> twos;
        if (rest * inverse <= most && odd != 0)
            continue;
        odd = std::gcd(odd, rest);
        if (odd == 0)
            continue;
        odd >>= std::countr_zero(odd);
        if (odd == 1)
            break;
        inverse = inverse_of(odd);
        most = std::numeric_limits<std::uint64_t>::max() / odd;
    }
    return odd << twos;
}

// All `numbers` are multiples of `unit`.
void divide(std::vector<std::uint64_t>& numbers, std::uint64_t unit) {
    const int twos = std::countr_zero(unit);
    const std::uint64_t inverse = inverse_of(unit >> twos);
    if (unit == 1)
        return;
    for (std::uint64_t& number : numbers)
        number = (number >> twos) * inverse;
}

constexpr std::uint64_t low_bits(unsigned width) {
    return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

// The number to count from: the smallest, unless a few numbers are so far below all others that
// patching them in is better (their distance wraps around and fits no width).
std::uint64_t best_bias(Numbers numbers) {
    const std::uint64_t smallest = *std::ranges::min_element(numbers);
    constexpr std::size_t kSamples = 256;
    std::uint64_t low = numbers[0];
    std::uint64_t high = numbers[0];
    for (std::size_t i = 0; i < numbers.size(); i += 1 + numbers.size() / kSamples) {
        low = std::min(low, numbers[i]);
        high = std::max(high, numbers[i]);
    }
    const std::uint64_t span = high - low;
    if (low - smallest <= span)
        return smallest;
    std::size_t below = 0;
    std::uint64_t bias = low;
    for (const std::uint64_t number : numbers) {
        if (number < low - span)
            ++below;
        else
            bias = std::min(bias, number);
    }
    const auto saved =
        static_cast<std::size_t>(std::bit_width(high - smallest) - std::bit_width(high - bias));
    return below * kPatchBits < numbers.size() * saved ? bias : smallest;
}

template <class Packed>
void pack_whole(Numbers numbers, std::byte* out) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::uint64_t number = numbers[i];
        const auto packed =
            static_cast<Packed>(number <= low_bits(8 * sizeof(Packed)) ? number : 0);
        std::memcpy(out + i * sizeof packed, &packed, sizeof packed);
    }
}

void pack_bits(Numbers numbers, unsigned width, std::byte* out) {
    const std::uint64_t mask = low_bits(width);
    std::uint64_t word = 0;
    unsigned filled = 0;
    for (const std::uint64_t number : numbers) {
        const std::uint64_t fitting = number <= mask ? number : 0;
        word |= fitting << filled;
        filled += width;
        if (filled >= 64) {
            std::memcpy(out, &word, sizeof word);
            out += sizeof word;
            filled -= 64;
            word = filled == 0 ? 0 : fitting >> (width - filled);
        }
    }
    std::memcpy(out, &word, sizeof word);
}

// Packs the numbers that fit, and kSlack zeros; a patched one leaves zeros.
void pack(Numbers numbers, unsigned width, std::vector<std::byte>& target) {
    target.assign(packed_size(numbers.size(), width) + kSlack, std::byte{0});
    if (width == 8)
        pack_whole<std::uint8_t>(numbers, target.data());
    else if (width == 16)
        pack_whole<std::uint16_t>(numbers, target.data());
    else if (width == 32)
        pack_whole<std::uint32_t>(numbers, target.data());
    else if (width == 64)
        pack_whole<std::uint64_t>(numbers, target.data());
    else if (width != 0)
        pack_bits(numbers, width, target.data());
}

// The numbers that do not fit: positions (u16), then numbers (u64).
std::uint32_t put_patches(Numbers numbers, unsigned width, ByteWriter& target) {
    const std::uint64_t most = low_bits(width);
    std::vector<std::uint64_t> patches;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] > most) {
            target.put(static_cast<std::uint16_t>(i));
            patches.push_back(numbers[i]);
        }
    }
    target.put_bytes(std::as_bytes(std::span(patches)));
    return static_cast<std::uint32_t>(patches.size());
}

}  // namespace

StreamEncoder::StreamEncoder() : table_(kHashSlots) {}

void StreamEncoder::plan_width(Plan& plan) {
    plan.unit = common_unit(plan.small);
    divide(plan.small, plan.unit);
    plan.census = census_of(plan.small);
    const Width width = best_width(plan.census, plan.small.size(), false);
    plan.width = width.bits;
    plan.cost = width.cost;
}

void StreamEncoder::plan_frame(Numbers numbers, Plan& plan) {
    plan.bias = best_bias(numbers);
    plan.small.resize(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
        plan.small[i] = numbers[i] - plan.bias;
    plan_width(plan);
}

void StreamEncoder::plan_delta(Numbers numbers, Plan& plan) {
    plan.coding = Coding::delta;
    plan.start = numbers[0];
    if (numbers.size() > 1)  // as if there had been a first step before: no odd one out
        plan.start -= numbers[1] - numbers[0];
    plan.small.resize(numbers.size());
    std::uint64_t before = plan.start;
    auto smallest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        plan.small[i] = numbers[i] - before;
        before = numbers[i];
        smallest = std::min(smallest, static_cast<std::int64_t>(plan.small[i]));
    }
    plan.bias = static_cast<std::uint64_t>(smallest);
    for (std::uint64_t& number : plan.small)
        number -= plan.bias;
    plan_width(plan);
}

bool StreamEncoder::collect_distinct(Numbers numbers, std::size_t most) {
    std::ranges::fill(table_, 0U);
    distinct_.clear();
    dictionary_.small.resize(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::uint64_t number = numbers[i];
        std::size_t slot = (number * 0x9e3779b97f4a7c15U) >> (64 - std::bit_width(kHashSlots - 1));
        while (table_[slot] != 0 && distinct_[table_[slot] - 1] != number)
            slot = (slot + 1) % kHashSlots;
        if (table_[slot] == 0) {
            if (distinct_.size() == most)
                return false;
            distinct_.push_back(number);
            table_[slot] = static_cast<std::uint32_t>(distinct_.size());
        }
        dictionary_.small[i] = table_[slot] - 1;
    }
    return true;
}

bool StreamEncoder::plan_dictionary(Numbers numbers) {
    if (!collect_distinct(numbers, std::min(kMostDistinct, numbers.size() / 3)))
        return false;
    // From order of appearance to order of size, which makes the dictionary itself small.
    std::vector<std::uint32_t> order(distinct_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [this](std::uint32_t index) { return distinct_[index]; });
    std::vector<std::uint64_t> rank(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        rank[order[i]] = i;
    for (std::uint64_t& number : dictionary_.small)
        number = rank[number];
    std::ranges::sort(distinct_);
    plan_delta(distinct_, entries_);
    dictionary_.coding = Coding::dictionary;
    dictionary_.census = census_of(dictionary_.small);
    dictionary_.width = static_cast<unsigned>(std::bit_width(distinct_.size() - 1));
    dictionary_.cost =
        numbers.size() * dictionary_.width + entries_.cost + sizeof(StreamHeader) * 8;
    return true;
}

std::span<const std::byte> StreamEncoder::try_zstd(const Plan& plan, unsigned width) {
    const std::size_t bits_size = packed_size(plan.small.size(), plan.width);
    const std::size_t bytes_size = packed_size(plan.small.size(), width);
    constexpr std::size_t kWorthTrying = 64;
    if (bits_size < kWorthTrying || bytes_size / kDecompressionPrice >= bits_size)
        return {};
    pack(plan.small, width, packed_);
    const auto bytes = std::span<const std::byte>(packed_).first(bytes_size);
    const auto pays = [&](std::size_t compressed, std::size_t raw) {
        return (compressed + raw / kDecompressionPrice) * bytes_size < bits_size * raw;
    };
    // A piece from the middle shows whether the rest is worth the time.
    constexpr std::size_t kSample = std::size_t{1} << 14U;
    if (bytes_size > 2 * kSample) {
        const auto sample = bytes.subspan((bytes_size - kSample) / 2, kSample);
        if (!pays(compressor_.compress(sample, kLevel).size(), kSample))
            return {};
    }
    const auto compressed = compressor_.compress(bytes, kLevel);
    return pays(compressed.size(), bytes_size) ? compressed : std::span<const std::byte>{};
}

// Bits or bytes: whichever is smaller, with a charge for the time to undo zstd.
void StreamEncoder::write(const Plan& plan, ByteWriter& target) {
    StreamHeader header{.coding = plan.coding,
                        .count = static_cast<std::uint32_t>(plan.small.size()),
                        .start = plan.start,
                        .bias = plan.bias,
                        .unit = plan.unit};
    const std::size_t header_at = target.size();
    target.put(header);
    if (plan.coding == Coding::dictionary)
        write(entries_, target);
    const Width whole = best_width(plan.census, plan.small.size(), true);
    const std::span<const std::byte> compressed = try_zstd(plan, whole.bits);
    header.packing = compressed.empty() ? Packing::bits : Packing::zstd;
    header.width = static_cast<std::uint8_t>(compressed.empty() ? plan.width : whole.bits);
    header.patches = put_patches(plan.small, header.width, target);
    if (!compressed.empty()) {
        header.stored = static_cast<std::uint32_t>(compressed.size());
        target.put_bytes(compressed);
    } else if (plan.width != 0) {
        header.stored = static_cast<std::uint32_t>(packed_size(plan.small.size(), plan.width));
        pack(plan.small, plan.width, packed_);
        target.put_bytes(packed_);
    }
    target.set(header_at, header);
}

void StreamEncoder::encode(Numbers numbers, Attempts attempts, ByteWriter& target) {
    TM_CHECK(numbers.size() <= kChunkEvents);
    if (numbers.empty()) {
        target.put(StreamHeader{});
        return;
    }
    plan_frame(numbers, frame_);
    const Plan* best = &frame_;
    if (attempts.delta) {
        plan_delta(numbers, delta_);
        if (delta_.cost < best->cost)
            best = &delta_;
    }
    constexpr std::size_t kWorthTrying = 2;  // bits a number: below it a dictionary saves little
    if (attempts.dictionary && best->cost > numbers.size() * kWorthTrying &&
        plan_dictionary(numbers) && dictionary_.cost < best->cost)
        best = &dictionary_;
    write(*best, target);
}

}  // namespace tidemark::tmk
