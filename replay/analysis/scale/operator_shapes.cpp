// Products of dimensions that give a request's size.
#include "replay/analysis/scale/operator_shapes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

namespace tidemark {
namespace {

using Argument = OperatorShapes::Argument;

constexpr std::array<Bytes, 4> kItemSizes{2, 4, 1, 8};  // the usual ones first
constexpr double kNearlyAll = 0.9;                      // of bytes
constexpr double kSome = 0.05;                          // the same
constexpr double kRival = 0.1;                          // the same: a second length

// The product of dimensions; 0 of none, or if it is too large to be a size.
Bytes product(std::span<const std::int64_t> dims) {
    Bytes all = dims.empty() ? 0 : 1;
    for (const std::int64_t dim : dims) {
        if (dim <= 0 || all > kLargestRequest / static_cast<Bytes>(dim))
            return 0;
        all *= static_cast<Bytes>(dim);
    }
    return all;
}

// A weight, or the gradient of one.
bool is_weight(const Argument& argument, std::span<const Bytes> lasting) {
    return is_as_large_as_lasting(lasting, 4 * product(argument.dims));
}

// How many of the first dimensions make `elements`; 0: none.
std::size_t prefix_of(const Argument& argument, Bytes elements) {
    for (std::size_t count = argument.dims.size(); count > 0; --count)
        if (elements > 1 && product(std::span(argument.dims).first(count)) == elements)
            return count;
    return 0;
}

bool near(std::int64_t dim, std::int64_t length) {
    return length > 2 && dim >= length - 1 && dim <= length + 1;  // labels are shifted by one
}

// Powers of a first dimension: the batch times what may have the length in it.
AxisPowers first_powers(std::int64_t dim, const BatchShape& step) {
    if (dim % step.batch != 0)
        return {0, static_cast<std::uint8_t>(near(dim, step.length))};
    const std::int64_t rest = dim / step.batch;
    const bool has_length = near(rest, step.length) || (step.length > 2 && rest % step.length == 0);
    return {1, static_cast<std::uint8_t>(has_length)};
}

// Which no weight has, even if it is as large by chance.
bool has_batch_and_length(const Argument& argument, const BatchShape& step) {
    return step.batch > 1 && argument.dims.size() > 2 && argument.dims.front() % step.batch == 0 &&
           std::ranges::any_of(argument.dims, [&](auto dim) { return near(dim, step.length); });
}

bool is_fixed(const Argument& argument, const BatchShape& step, std::span<const Bytes> lasting) {
    return !has_batch_and_length(argument, step) && is_weight(argument, lasting);
}

// Of the first `count` dimensions of an argument.
AxisPowers prefix_powers(const Argument& argument, std::size_t count, const BatchShape& step,
                         bool length_is_width) {
    AxisPowers powers = first_powers(argument.dims.front(), step);
    for (std::size_t i = 1; i < count; ++i) {
        const bool is_width = length_is_width && i + 1 == argument.dims.size() &&
                              (argument.dims.size() < 3 || argument.dims.front() == step.batch) &&
                              argument.dims.size() < 4;
        if (near(argument.dims[i], step.length) && !is_width)
            ++powers.length;
    }
    return powers;
}

// Convolutions and pools: the batch, as many channels as an argument has, and an image of another
// size. Only where there is no length that the image may have.
std::optional<AxisPowers> of_image(const ShapedRequest& request, const BatchShape& step,
                                   std::span<const Bytes> lasting) {
    constexpr std::size_t kImageDims = 4;
    constexpr std::int64_t kFewChannels = 8;
    if (step.length > 0)
        return std::nullopt;
    const std::vector<Argument>& arguments = request.shapes->arguments;
    const bool of_images = std::ranges::any_of(arguments, [&](const Argument& argument) {
        return argument.dims.size() >= kImageDims && argument.dims.front() == step.batch &&
               !is_weight(argument, lasting);
    });
    const auto batch = static_cast<Bytes>(step.batch);
    const Bytes each = request.size % batch == 0 ? request.size / batch : 1;
    const bool has_channels = std::ranges::any_of(arguments, [&](const Argument& argument) {
        return std::ranges::any_of(argument.dims, [&](std::int64_t dim) {
            return dim >= kFewChannels && each % static_cast<Bytes>(dim) == 0;
        });
    });
    return of_images && has_channels ? std::optional(AxisPowers{1, 0}) : std::nullopt;
}

// The most common of `weights`, and whether another has more than a part of it.
std::pair<std::int64_t, bool> most_common(const std::map<std::int64_t, double>& weights) {
    const auto most =
        std::ranges::max_element(weights, {}, [](const auto& entry) { return entry.second; });
    const bool rivalled = std::ranges::any_of(weights, [&](const auto& entry) {
        return !near(entry.first, most->first) && entry.second > kRival * most->second;
    });
    return {most->first, rivalled};
}

class ArgumentReader {
  public:
    explicit ArgumentReader(std::string_view text) : text_(text) {}

    OperatorShapes read() {
        OperatorShapes found;
        found.name = text_.substr(0, text_.find(' '));
        at_ = std::min(found.name.size(), text_.size());
        while (at_ < text_.size()) {
            if (!skip(" ") || at_ == text_.size())
                return {};
            const char opening = text_[at_];
            const bool list = opening == '[' || opening == '(';
            at_ += list ? 1 : 0;
            Argument argument{opening == '[', {}};
            while (number(argument.dims) && list && skip(", ")) {
            }
            if (list && !(skip("]") || skip(")")))
                return {};
            if (!list && argument.dims.empty())
                return {};
            found.arguments.push_back(std::move(argument));
        }
        return found;
    }

  private:
    bool skip(std::string_view what) {
        const bool there = text_.substr(at_).starts_with(what);
        at_ += there ? what.size() : 0;
        return there;
    }

    bool number(std::vector<std::int64_t>& into) {
        std::int64_t value = 0;
        const char* const begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (error != std::errc{})
            return false;
        into.push_back(value);
        at_ += static_cast<std::size_t>(end - begin);
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

bool is_as_large_as_lasting(std::span<const Bytes> lasting, Bytes size) {
    const auto lasts = [&](Bytes as) { return std::ranges::binary_search(lasting, as); };
    return lasts(size) || lasts(2 * size) || (size % 2 == 0 && lasts(size / 2));
}

OperatorShapes parse_operator(std::string_view text) {
    return ArgumentReader(text).read();
}

bool works_on_weights(const OperatorShapes& shapes, std::span<const Bytes> lasting) {
    bool some = false;
    for (const Argument& argument : shapes.arguments) {
        if (!argument.is_tensor || product(argument.dims) == 0)
            continue;
        if (!is_weight(argument, lasting))
            return false;
        some = true;
    }
    return some;
}

BatchShape find_batch(std::span<const ShapedRequest> requests, std::span<const Bytes> lasting) {
    std::map<std::int64_t, double> firsts;
    double all = 0;
    const auto each = [&](auto&& take) {
        for (const auto& [size, shapes] : requests)
            if (shapes != nullptr && !is_as_large_as_lasting(lasting, size))
                for (const Argument& argument : shapes->arguments)
                    if (argument.is_tensor && argument.dims.size() >= 3 &&
                        product(argument.dims) > 0 && !is_weight(argument, lasting))
                        take(argument, static_cast<double>(size));
    };
    each([&](const Argument& argument, double bytes) {
        firsts[argument.dims.front()] += bytes;
        all += bytes;
    });
    BatchShape found;
    for (const auto& [dim, bytes] : firsts) {
        double multiples = 0;
        for (const auto& [other, weight] : firsts)
            multiples += other % dim == 0 ? weight : 0;
        if (bytes >= kSome * all && multiples >= kNearlyAll * all)
            found.batch = dim;  // the largest
    }
    if (found.batch == 0)
        return {};
    std::map<std::int64_t, double> seconds;
    each([&](const Argument& argument, double bytes) {
        if (argument.dims.size() == 3 && argument.dims.front() == found.batch)
            seconds[argument.dims[1]] += bytes;
    });
    if (!seconds.empty())
        if (const auto [length, rivalled] = most_common(seconds); !rivalled && length > 2)
            found.length = length;
    return found;
}

std::optional<AxisPowers> powers_of(const ShapedRequest& request, const BatchShape& step,
                                    std::span<const Bytes> lasting) {
    if (request.shapes == nullptr || step.batch == 0)
        return std::nullopt;
    const bool length_is_width =
        step.length > 0 && is_as_large_as_lasting(lasting, 4 * static_cast<Bytes>(step.length));
    const std::vector<Argument>& arguments = request.shapes->arguments;
    const bool as_large_as_work = std::ranges::any_of(arguments, [&](const Argument& argument) {
        return has_batch_and_length(argument, step) &&
               std::ranges::any_of(kItemSizes, [&](Bytes item) {
                   return product(argument.dims) * item == request.size;
               });
    });
    if (!as_large_as_work && is_as_large_as_lasting(lasting, request.size))
        return AxisPowers{};
    const auto works_on = [&](const Argument& argument) {
        return !argument.dims.empty() && !is_fixed(argument, step, lasting);
    };
    // As large as the first dimensions of one of them, alone or with a dimension of another, as
    // products of matrices are.
    for (const Bytes item : kItemSizes) {
        if (request.size % item != 0)
            continue;
        const Bytes count = request.size / item;
        for (const Argument& argument : arguments)
            if (const std::size_t dims = works_on(argument) ? prefix_of(argument, count) : 0;
                dims > 0)
                return prefix_powers(argument, dims, step, length_is_width);
        for (const Argument& argument : arguments)
            for (const Argument& other : arguments)
                for (const std::int64_t dim : other.dims) {
                    if (&other == &argument || dim < 2 || !argument.is_tensor ||
                        !works_on(argument) || count % static_cast<Bytes>(dim) != 0)
                        continue;
                    const std::size_t dims = prefix_of(argument, count / static_cast<Bytes>(dim));
                    if (dims == 0)
                        continue;
                    AxisPowers powers = prefix_powers(argument, dims, step, length_is_width);
                    if (near(dim, step.length) && other.dims.size() > 2 && works_on(other))
                        ++powers.length;
                    return powers;
                }
    }
    return of_image(request, step, lasting);
}

}  // namespace tidemark
