// Kernels that compute few elements from many: sums, extremes, counts, running sums.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/imagined/arithmetic.h"
#include "backends/imagined/elements.h"
#include "backends/imagined/names.h"
#include "backends/imagined/offsets.h"
#include "backends/imagined/operations.h"
#include "core/base/units.h"

namespace tidemark::imagined {
namespace {

// reduce_kernel<_, _, ReduceOp<in, functor, unsigned int, out, ...> >: its only argument is a
// structure, whose first members' sizes depend on the type that it accumulates in.
class Reduction : public Computation {
  public:
    Reduction(Op op, Element from, Element within, Element to)
        : op_(op), from_(from), within_(within), to_(to) {}

    std::size_t arguments() const override { return 1; }

    void run(void** arguments, Contents& contents) const override {
        const auto* const at = static_cast<const std::byte*>(arguments[0]);
        const std::size_t ident = size_of(within_);  // after the functor, which is empty
        const std::size_t config = align_up(2 * ident, sizeof(int));
        constexpr std::size_t kConfig = 64, kInputs = 4, kOutputs = 8;
        const std::size_t input = config + kConfig;
        const std::size_t output = input + Offsets::bytes(1);
        const std::size_t pointers = align_up(output + Offsets::bytes(2), sizeof(std::uint64_t));
        const auto inputs = static_cast<std::uint64_t>(read_as<int>(at + config + kInputs));
        const auto outputs = static_cast<std::uint64_t>(read_as<int>(at + config + kOutputs));
        const Offsets in(at + input, 1);
        const Offsets out(at + output, 2);
        const bool looks_so =
            static_cast<std::size_t>(read_as<int>(at + config)) == size_of(from_) &&
            in.plausible(inputs) && out.plausible(outputs);
        if (!looks_so || inputs * outputs > kMostComputed)
            return;
        const auto source = read_as<std::uint64_t>(at + pointers);
        const auto target = read_as<std::uint64_t>(at + pointers + sizeof source);
        Contents::Reader reader(contents);
        std::vector<Value> results;
        for (std::uint64_t one = 0; one < outputs; ++one)
            results.push_back(reduce(reader, source + out.offset(one, 1), in, inputs));
        for (std::uint64_t one = 0; one < outputs; ++one)
            put_result(target + out.offset(one, 0), results[one], contents);
    }

  private:
    Value reduce(Contents::Reader& reader, std::uint64_t from, const Offsets& in,
                 std::uint64_t inputs) const {
        Value sum;
        for (std::uint64_t index = 0; index < inputs; ++index) {
            std::array<std::byte, sizeof(std::uint64_t)> bytes{};
            Value value;
            if (reader.read(from + in.offset(index, 0), {bytes.data(), size_of(from_)}))
                value = load(from_, bytes.data());
            sum = index == 0 ? value : apply(op_, Element::boolean, {}, sum, value);
            const bool decided = absorbed(op_, Element::boolean, sum).has_value();
            if (decided || (!sum && op_ != Op::logical_and && op_ != Op::logical_or))
                break;
        }
        return sum;
    }

    void put_result(std::uint64_t at, const Value& value, Contents& contents) const {
        std::array<std::byte, sizeof(std::uint64_t)> bytes{};
        if (!value)
            return contents.forget(at, size_of(to_));
        store(to_, *value, bytes.data());
        contents.write(at, {bytes.data(), size_of(to_)});
    }

    Op op_;
    Element from_, within_, to_;
};

// The result of the first of two passes of a count, for the second.
thread_local std::optional<std::int32_t> counted;

// DeviceReduce...Kernel<..., transform_iterator<NonZeroOp<T>, ...> ...>: (input, output, items).
// One pass of one tile, or the first of two, whose output is only the second's input.
class Count : public Computation {
  public:
    // `pointer`: where in the iterator it is.
    Count(Element type, bool whole, std::size_t pointer)
        : type_(type), whole_(whole), pointer_(pointer) {}

    std::size_t arguments() const override { return 3; }

    void run(void** arguments, Contents& contents) const override {
        const auto begin =
            read_as<std::uint64_t>(static_cast<const std::byte*>(arguments[0]) + pointer_);
        const auto number = static_cast<std::uint64_t>(read_as<std::uint32_t>(arguments[2]));
        const std::size_t size = size_of(type_);
        counted.reset();
        if (number <= kMostComputed) {
            Contents::Reader reader(contents);
            std::array<std::byte, sizeof(std::uint64_t)> bytes{};
            std::int32_t found = 0;
            std::uint64_t index = 0;
            while (index < number && reader.read(begin + index * size, {bytes.data(), size})) {
                found += load(type_, bytes.data()) != 0 ? 1 : 0;
                ++index;
            }
            if (index == number)
                counted = found;
        }
        if (whole_)
            give(read_as<std::uint64_t>(arguments[1]), contents);
    }

    static void give(std::uint64_t to, Contents& contents) {
        if (!counted)
            return contents.forget(to, sizeof(std::int32_t));
        contents.write(to, std::as_bytes(std::span(&*counted, 1)));
        counted.reset();
    }

  private:
    Element type_;
    bool whole_;
    std::size_t pointer_;
};

// The second pass.
class CountEnd : public Computation {
  public:
    std::size_t arguments() const override { return 2; }

    void run(void** arguments, Contents& contents) const override {
        Count::give(read_as<std::uint64_t>(arguments[1]), contents);
    }
};

std::unique_ptr<const Computation> count_kernel(std::string_view name) {
    const bool whole = holds(name, "DeviceReduceSingleTileKernel<");
    const std::vector<std::string_view> given = template_arguments(name, "NonZeroOp<");
    if (given.empty())
        return whole ? std::make_unique<CountEnd>() : nullptr;
    const Element type = type_named(given[0]);
    if (type == Element::unknown)
        return nullptr;
    // CUB's own iterator, of CUDA 12, holds the operation first; Thrust's holds the pointer first.
    const bool of_cub = holds(name, "TransformInputIterator<");
    return std::make_unique<Count>(type, whole, of_cub ? sizeof(std::uint64_t) : 0);
}

// Running sums over rows: rows x columns, next to each other along `columns` (or along rows).
struct Scanned {
    std::uint64_t to = 0, from = 0;
    std::uint64_t rows = 0;    // outermost
    std::uint64_t length = 0;  // that is summed over
    std::uint64_t inner = 1;   // elements from one to the next
};

class Scan : public Computation {
  public:
    enum class Form {
        flat,       // DeviceScanKernel: (input, output, _, _, _, _, items)
        innermost,  // tensor_kernel_scan_innermost_dim: (output, input, rows, length, ...)
        outer,      // tensor_kernel_scan_outer_dim: (output, input, rows, inner, length, ...)
    };

    Scan(Form form, Element type) : form_(form), type_(type) {}

    std::size_t arguments() const override {
        return form_ == Form::flat ? 7 : form_ == Form::outer ? 5 : 4;
    }

    void run(void** arguments, Contents& contents) const override {
        const Scanned scan = find(arguments);
        const std::uint64_t elements = scan.rows * scan.length * scan.inner;
        const std::size_t size = size_of(type_);
        std::vector<std::byte> bytes(elements <= kMostComputed ? elements * size : 0);
        if (bytes.empty() || !contents.read(scan.from, bytes))
            return contents.forget(scan.to, elements * size);
        for (std::uint64_t index = 0; index < elements; ++index) {
            if (index / scan.inner % scan.length == 0)
                continue;
            std::byte* const here = &bytes[index * size];
            store(type_, load(type_, here) + load(type_, here - scan.inner * size), here);
        }
        contents.write(scan.to, bytes);
    }

  private:
    Scanned find(void** arguments) const {
        const auto pointer = [&](int one) { return read_as<std::uint64_t>(arguments[one]); };
        const auto number = [&](int one) -> std::uint64_t {
            return read_as<std::uint32_t>(arguments[one]);
        };
        switch (form_) {
            case Form::flat:
                return {pointer(1), pointer(0), 1, number(6), 1};
            case Form::innermost:
                return {pointer(0), pointer(1), number(2), number(3), 1};
            case Form::outer:
                return {pointer(0), pointer(1), number(2), number(4), number(3)};
        }
        return {};
    }

    Form form_;
    Element type_;
};

std::unique_ptr<const Computation> scan_kernel(std::string_view name) {
    if (!holds(name, "std::plus<"))
        return nullptr;
    const auto of = [&](std::string_view text, std::size_t argument,
                        Scan::Form form) -> std::unique_ptr<const Computation> {
        const std::vector<std::string_view> given = template_arguments(name, text);
        if (given.size() <= argument)
            return nullptr;
        const std::string_view type = given[argument];
        const Element element = type_named(type.substr(0, type.find(" const*")));
        return element == Element::unknown ? nullptr : std::make_unique<Scan>(form, element);
    };
    if (auto found = of("::DeviceScanKernel<", 1, Scan::Form::flat))
        return found;
    if (auto found = of("tensor_kernel_scan_innermost_dim<", 0, Scan::Form::innermost))
        return found;
    return of("tensor_kernel_scan_outer_dim<", 0, Scan::Form::outer);
}

std::unique_ptr<const Computation> reduce_kernel(std::string_view name) {
    const std::vector<std::string_view> given = template_arguments(name, "ReduceOp<");
    if (given.size() < 4)
        return nullptr;

    struct Reduces {
        std::string_view text;
        Op op;
    };

    constexpr std::array kReductions{
        Reduces{"MaxNanFunctor<", Op::greatest}, Reduces{"MinNanFunctor<", Op::least},
        Reduces{"and_kernel_cuda", Op::logical_and}, Reduces{"or_kernel_cuda", Op::logical_or},
        Reduces{"sum_functor<", Op::add}};
    const auto* const found =
        std::find_if(kReductions.begin(), kReductions.end(),
                     [&](const Reduces& one) { return holds(given[1], one.text); });
    const Element from = type_named(given[0]);
    const Element to = type_named(given[3]);
    if (found == kReductions.end() || from == Element::unknown || to == Element::unknown)
        return nullptr;
    const Element lambda = lambda_type(given[1]);
    const Element within = lambda == Element::unknown ? to : lambda;
    return std::make_unique<Reduction>(found->op, from, within, to);
}

}  // namespace

std::unique_ptr<const Computation> reduction_of(const std::string& name) {
    if (holds(name, "::reduce_kernel<"))
        return reduce_kernel(name);
    if (holds(name, "DeviceReduce"))
        return count_kernel(name);
    if (holds(name, "DeviceScanKernel") || holds(name, "tensor_kernel_scan"))
        return scan_kernel(name);
    return nullptr;
}

}  // namespace tidemark::imagined
