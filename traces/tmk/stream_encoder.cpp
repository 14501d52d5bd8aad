// Chooses the cheapest coding of a run of numbers and writes it. Every choice is by whole-number
// arithmetic on the numbers, so it is the same everywhere.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <cstdio>

#include "core/base/check.h"
#include "traces/tmk/number_stream.h"

namespace tidemark::tmk {
namespace {

using Numbers = std::span<const std::uint64_t>;

constexpr std::size_t kPatchBits = 80;     // a patch: place (u16) and number (u64)
constexpr std::size_t kHashSlots = 32768;  // twice the most entries of a dictionary
constexpr std::size_t kMostDistinct = kHashSlots / 2;
constexpr int kLevel = 3;

// zstd must save this part of what it has to produce when it is undone: below it, unpacking bits
// is worth more than the bytes.
constexpr std::size_t kDecompressionPenalty = 4;

struct Width {
    unsigned bits = 0;
    std::size_t cost = 0;
};

// The width that makes `numbers` smallest, patches included, among multiples of `step` bits.
Width best_width(Numbers numbers, bool whole_bytes) {
    std::array<std::size_t, 65> counts{};
    for (const std::uint64_t number : numbers)
        ++counts[static_cast<std::size_t>(std::bit_width(number))];
    Width best{64, numbers.size() * 64};
    std::size_t wider = 0;
    for (unsigned bits = 64; bits-- > 0;) {
        wider += counts[bits + 1];
        const bool allowed =
            whole_bytes ? bits == 8 || bits == 16 || bits == 32 : bits <= kWidestPacked;
        const std::size_t cost = numbers.size() * bits + wider * kPatchBits;
        if (allowed && cost <= best.cost)
            best = {bits, cost};
    }
    return best;
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
    for (const std::uint64_t number : numbers) {
        const std::uint64_t rest = number >> twos;
        if (odd == 1)
            break;
        if (odd == 0 || rest % odd != 0)
            odd = std::gcd(odd, rest);
    }
    while (odd % 2 == 0)
        odd /= 2;
    return odd << twos;
}

void divide(std::vector<std::uint64_t>& numbers, std::uint64_t unit) {
    if (unit == 1)
        return;
    if (std::has_single_bit(unit)) {
        const int shift = std::countr_zero(unit);
        for (std::uint64_t& number : numbers)
            number >>= shift;
        return;
    }
    for (std::uint64_t& number : numbers)
        number /= unit;
}

constexpr std::uint64_t low_bits(unsigned width) {
    return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

// Packs the numbers that fit; a patched one leaves zeros.
void pack(Numbers numbers, unsigned width, std::vector<std::byte>& target) {
    target.assign(packed_size(numbers.size(), width) + kSlack, std::byte{0});
    if (width == 0)
        return;
    const std::uint64_t mask = low_bits(width);
    std::byte* const out = target.data();
    std::size_t bit = 0;
    for (const std::uint64_t number : numbers) {
        const std::uint64_t fitting = number <= mask ? number : 0;
        std::uint64_t word = 0;
        std::memcpy(&word, out + bit / 8, sizeof word);
        word |= fitting << (bit % 8);
        std::memcpy(out + bit / 8, &word, sizeof word);
        bit += width;
    }
}

}  // namespace

StreamEncoder::StreamEncoder() : table_(kHashSlots) {}

void StreamEncoder::plan_frame(Numbers numbers, Plan& plan) {
    plan.bias = *std::ranges::min_element(numbers);
    plan.small.resize(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
        plan.small[i] = numbers[i] - plan.bias;
    plan.unit = common_unit(plan.small);
    divide(plan.small, plan.unit);
    const Width width = best_width(plan.small, false);
    plan.width = width.bits;
    plan.cost = width.cost;
}

void StreamEncoder::plan_delta(Numbers numbers, Plan& plan) {
    plan.coding = Coding::delta;
    plan.start = numbers[0];
    if (numbers.size() > 1)  // as if the first step had been taken before: no odd one out
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
    plan.unit = common_unit(plan.small);
    divide(plan.small, plan.unit);
    const Width width = best_width(plan.small, false);
    plan.width = width.bits;
    plan.cost = width.cost;
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
    std::ranges::sort(order, {}, [this](std::uint32_t place) { return distinct_[place]; });
    std::vector<std::uint64_t> rank(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        rank[order[i]] = i;
    for (std::uint64_t& number : dictionary_.small)
        number = rank[number];
    std::ranges::sort(distinct_);
    plan_delta(distinct_, entries_);
    dictionary_.coding = Coding::dictionary;
    dictionary_.width = static_cast<unsigned>(std::bit_width(distinct_.size() - 1));
    dictionary_.cost =
        numbers.size() * dictionary_.width + entries_.cost + sizeof(StreamHeader) * 8;
    return true;
}

// Bits or bytes: whichever is smaller when the time to undo zstd has its price.
void StreamEncoder::write(const Plan& plan, ByteWriter& target) {
    StreamHeader header{.coding = plan.coding,
                        .width = static_cast<std::uint8_t>(plan.width),
                        .count = static_cast<std::uint32_t>(plan.small.size()),
                        .start = plan.start,
                        .bias = plan.bias,
                        .unit = plan.unit};
    const std::size_t header_at = target.size();
    target.put(header);
    if (plan.coding == Coding::dictionary)
        write(entries_, target);
    pack(plan.small, plan.width, packed_bits_);
    const std::size_t bits_size = packed_size(plan.small.size(), plan.width);
    std::span<const std::byte> payload(packed_bits_.data(),
                                       bits_size == 0 ? 0 : bits_size + kSlack);
    header.stored = static_cast<std::uint32_t>(bits_size);
    const Width bytes_width = best_width(plan.small, true);
    const std::size_t bytes_size = packed_size(plan.small.size(), bytes_width.bits);
    constexpr std::size_t kWorthTrying = 64;
    if (bits_size >= kWorthTrying && bytes_size / kDecompressionPenalty < bits_size) {
        pack(plan.small, bytes_width.bits, packed_bytes_);
        const auto compressed =
            compressor_.compress(std::span(packed_bytes_).first(bytes_size), kLevel);
        if (compressed.size() + bytes_size / kDecompressionPenalty < bits_size) {
            header.packing = Packing::zstd;
            header.width = static_cast<std::uint8_t>(bytes_width.bits);
            header.stored = static_cast<std::uint32_t>(compressed.size());
            payload = compressed;
        }
    }
    const std::uint64_t most = low_bits(header.width);
    const auto does_not_fit = [most](std::uint64_t number) { return number > most; };
    header.patches = static_cast<std::uint32_t>(std::ranges::count_if(plan.small, does_not_fit));
    target.set(header_at, header);
    if (plan.small.size()>10000) fprintf(stderr,"stream n=%zu coding %d packing %d width %d (bits %u) patches %u stored %u bits_size %zu bytes_size %zu\n", plan.small.size(), int(plan.coding), int(header.packing), int(header.width), plan.width, header.patches, header.stored, bits_size, bytes_size);
    for (std::size_t i = 0; i < plan.small.size() && header.patches != 0; ++i) {
        if (does_not_fit(plan.small[i]))
            target.put(static_cast<std::uint16_t>(i));
    }
    for (std::size_t i = 0; i < plan.small.size() && header.patches != 0; ++i) {
        if (does_not_fit(plan.small[i]))
            target.put(plan.small[i]);
    }
    target.put_bytes(payload);
}

void StreamEncoder::encode(Numbers numbers, ByteWriter& target) {
    TM_CHECK(numbers.size() <= kChunkEvents);
    if (numbers.empty()) {
        target.put(StreamHeader{});
        return;
    }
    plan_frame(numbers, frame_);
    plan_delta(numbers, delta_);
    const Plan* best = delta_.cost < frame_.cost ? &delta_ : &frame_;
    constexpr std::size_t kWorthTrying = 2;  // bits a number: below it a dictionary saves little
    if (best->cost > numbers.size() * kWorthTrying && plan_dictionary(numbers) &&
        dictionary_.cost < best->cost)
        best = &dictionary_;
    write(*best, target);
}

}  // namespace tidemark::tmk
