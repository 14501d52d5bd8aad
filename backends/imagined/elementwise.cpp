// Kernels that compute each element of their output from the same element of their inputs.
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

// How a kernel takes its arguments.
enum class Form {
    plain,            // (n, functor, pointers)
    casting,          // (n, functor, pointers, _, _, types of inputs, type of the output)
    strided,          // (n, {offsets, pointers, functor})
    strided_casting,  // (n, {offsets, pointers, functor, types of all})
};

bool is_strided(Form form) {
    return form == Form::strided || form == Form::strided_casting;
}

// Where a launch has its tensors' elements, and of what type.
struct Tensors {
    std::array<std::uint64_t, 3> begin{};
    std::array<Element, 3> types{};
    std::optional<Offsets> strided;

    std::uint64_t at(std::uint64_t index, std::size_t tensor) const {
        return begin[tensor] +
               (strided ? strided->offset(index, tensor) : index * size_of(types[tensor]));
    }
};

class Elementwise : public Computation {
  public:
    Elementwise(Form form, Operation operation) : form_(form), operation_(operation) {}

    std::size_t arguments() const override {
        return form_ == Form::casting ? 7 : is_strided(form_) ? 2 : 3;
    }

    void run(void** arguments, Contents& contents) const override {
        const int elements = read_as<int>(arguments[0]);
        Tensors tensors;
        const std::byte* const functor = find(arguments, tensors, elements);
        if (elements <= 0 || functor == nullptr)
            return;
        const auto count = static_cast<std::uint64_t>(elements);
        if (count > kMostComputed || nothing_known(tensors, count, contents)) {
            const std::uint64_t end = tensors.at(count - 1, 0) + size_of(tensors.types[0]);
            return contents.forget(tensors.begin[0], end - tensors.begin[0]);
        }
        compute(tensors, count, functor, contents);
    }

  private:
    // Fills `tensors`; returns the functor, or null if the launch doesn't look as expected.
    const std::byte* find(void** arguments, Tensors& tensors, int elements) const {
        const std::size_t number = operation_.tensors();
        tensors.types = {operation_.result, operation_.inputs[0], operation_.inputs[1]};
        const auto* functor = static_cast<const std::byte*>(arguments[1]);
        const std::byte* pointers = nullptr;
        if (is_strided(form_)) {
            tensors.strided.emplace(functor, number);
            if (!tensors.strided->plausible(static_cast<std::uint64_t>(elements)))
                return nullptr;
            pointers = functor + align_up(Offsets::bytes(number), sizeof(std::uint64_t));
            functor = pointers + number * sizeof(std::uint64_t);
        } else {
            pointers = static_cast<const std::byte*>(arguments[2]);
        }
        for (std::size_t one = 0; one < number; ++one)
            tensors.begin[one] = read_as<std::uint64_t>(pointers + one * sizeof(std::uint64_t));
        if (form_ == Form::casting) {
            read_types(static_cast<const std::byte*>(arguments[5]), 1, tensors);
            read_types(static_cast<const std::byte*>(arguments[6]), 0, tensors);
        }
        if (form_ == Form::strided_casting)
            read_types(functor + operation_.size(), 0, tensors);
        const std::span read(tensors.types.data(), number);
        const bool whole = std::find(read.begin(), read.end(), Element::unknown) == read.end();
        return whole ? functor : nullptr;
    }

    // c10::ScalarType, a byte each, of the tensors from `first` on; only of the output if the
    // argument holds nothing else.
    void read_types(const std::byte* at, std::size_t first, Tensors& tensors) const {
        const bool alone = form_ == Form::casting && first == 0;
        const std::size_t end = alone ? 1 : operation_.tensors();
        for (std::size_t one = first; one < end; ++one)
            tensors.types[one] = type_numbered(read_as<std::int8_t>(at + one - first));
    }

    bool nothing_known(const Tensors& tensors, std::uint64_t count,
                       const Contents& contents) const {
        if (operation_.op == Op::fill)
            return false;
        for (std::size_t one = 1; one < operation_.tensors(); ++one) {
            const std::uint64_t end = tensors.at(count - 1, one) + size_of(tensors.types[one]);
            if (contents.any(tensors.begin[one], end - tensors.begin[one]))
                return false;
        }
        return true;
    }

    void compute(const Tensors& tensors, std::uint64_t count, const std::byte* functor,
                 Contents& contents) const {
        const Functor held = operation_.read_functor(functor);
        const Value scalar = operation_.read_scalar(functor);
        const bool one_held = operation_.scalar != Element::unknown;
        const std::size_t size = size_of(tensors.types[0]);
        std::array readers{Contents::Reader(contents), Contents::Reader(contents)};
        // All are read before any is written: the output may be an input.
        std::vector<std::byte> results(count * size);
        std::vector<bool> known(count);
        const std::uint64_t computed = operation_.op == Op::fill ? 1 : count;
        for (std::uint64_t index = 0; index < computed; ++index) {
            std::array operands{scalar, scalar};
            std::size_t next = one_held ? 1 - operation_.scalar_operand : 0;
            for (std::size_t one = 1; one < operation_.tensors(); ++one)
                operands[next++] = element(readers[one - 1], tensors, index, one);
            if (!one_held && operation_.tensors() == 2)
                operands[1] = operands[0];
            const Value result =
                apply(operation_.op, operation_.result, held, operands[0], operands[1]);
            known[index] = result.has_value();
            if (result)
                store(tensors.types[0], *result, &results[index * size]);
        }
        for (std::uint64_t index = computed; index < count; ++index) {
            known[index] = known[0];
            std::copy_n(results.begin(), size,
                        results.begin() + static_cast<std::ptrdiff_t>(index * size));
        }
        write(tensors, results, known, size, contents);
    }

    static Value element(Contents::Reader& reader, const Tensors& tensors, std::uint64_t index,
                         std::size_t tensor) {
        std::array<std::byte, sizeof(std::uint64_t)> bytes{};
        const Element type = tensors.types[tensor];
        if (!reader.read(tensors.at(index, tensor), {bytes.data(), size_of(type)}))
            return {};
        return load(type, bytes.data());
    }

    // Elements in the order of their addresses if they fill a range; otherwise only where values
    // are known already, so that there are few pieces.
    static void write(const Tensors& tensors, const std::vector<std::byte>& results,
                      const std::vector<bool>& known, std::size_t size, Contents& contents) {
        const std::uint64_t begin = tensors.begin[0];
        const std::uint64_t span = tensors.at(known.size() - 1, 0) + size - begin;
        if (span != results.size()) {
            const bool all = std::find(known.begin(), known.end(), false) == known.end();
            if (!all || !contents.in_one_piece(begin, span))
                return contents.forget(begin, span);
            for (std::uint64_t index = 0; index < known.size(); ++index)
                contents.write(tensors.at(index, 0), {&results[index * size], size});
            return;
        }
        if (!tensors.strided)
            return write_in_order(begin, results, known, size, contents);
        std::vector<std::byte> ordered(results.size());
        std::vector<bool> known_there(known.size());
        for (std::uint64_t index = 0; index < known.size(); ++index) {
            const std::uint64_t offset = tensors.at(index, 0) - begin;
            known_there[offset / size] = known[index];
            std::copy_n(&results[index * size], size, &ordered[offset]);
        }
        write_in_order(begin, ordered, known_there, size, contents);
    }

    static void write_in_order(std::uint64_t begin, std::span<const std::byte> results,
                               const std::vector<bool>& known, std::size_t size,
                               Contents& contents) {
        for (std::size_t from = 0, to = 0; from < known.size(); from = to) {
            while (to < known.size() && known[to] == known[from])
                ++to;
            const auto row = results.subspan(from * size, (to - from) * size);
            if (known[from])
                contents.write(begin + from * size, row);
            else
                contents.forget(begin + from * size, row.size());
        }
    }

    Form form_;
    Operation operation_;
};

// A functor that isn't computed: its output is unknown.
class Overwriting : public Computation {
  public:
    Overwriting(Form form, std::size_t size) : form_(form), size_(size) {}

    std::size_t arguments() const override { return is_strided(form_) ? 2 : 3; }

    void run(void** arguments, Contents& contents) const override {
        const int elements = read_as<int>(arguments[0]);
        // For a strided one, nothing known here has the number of tensors.
        if (elements > 0 && !is_strided(form_))
            contents.forget(read_as<std::uint64_t>(arguments[2]),
                            static_cast<std::size_t>(elements) * size_);
    }

  private:
    Form form_;
    std::size_t size_;
};

// elementwise_kernel_with_index<int, arange...>: (n, {begin, step}, output).
class Arange : public Computation {
  public:
    explicit Arange(Element type) : type_(type) {}

    std::size_t arguments() const override { return 3; }

    void run(void** arguments, Contents& contents) const override {
        const int elements = read_as<int>(arguments[0]);
        const auto* const functor = static_cast<const std::byte*>(arguments[1]);
        if (elements <= 0 || static_cast<std::size_t>(elements) > kMostComputed)
            return;
        const std::size_t size = size_of(type_);
        // It computes in a wider type: int64 for integers.
        const bool floats = type_ == Element::f32 || type_ == Element::f64;
        const Element wide = floats ? type_ : Element::i64;
        const Number begin = load(wide, functor);
        const Number step = load(wide, functor + size_of(wide));
        std::vector<std::byte> results(static_cast<std::size_t>(elements) * size);
        for (std::size_t index = 0; index < static_cast<std::size_t>(elements); ++index)
            store(type_, begin + step * static_cast<Number>(index), &results[index * size]);
        contents.write(read_as<std::uint64_t>(arguments[2]), results);
    }

  private:
    Element type_;
};

std::unique_ptr<const Computation> of_functor(Form form, std::string_view functor) {
    if (const std::optional<Operation> operation = operation_of(functor))
        return std::make_unique<Elementwise>(form, *operation);
    return std::make_unique<Overwriting>(form, result_size(functor));
}

}  // namespace

std::unique_ptr<const Computation> elementwise_of(const std::string& name) {
    if (const auto given = template_arguments(name, "::vectorized_elementwise_kernel<");
        given.size() == 3)
        return of_functor(Form::plain, given[1]);
    if (const auto given = template_arguments(name, "::unrolled_elementwise_kernel<");
        given.size() >= 6) {
        const bool casts = holds(given[given.size() - 2], "LoadWithCast<");
        const bool rows = given[given.size() - 4].starts_with("TrivialOffsetCalculator<") &&
                          given[given.size() - 3].starts_with("TrivialOffsetCalculator<");
        if (!rows || casts != holds(given[given.size() - 1], "StoreWithCast<"))
            return nullptr;
        return of_functor(casts ? Form::casting : Form::plain, given[0]);
    }
    if (const auto given = template_arguments(name, "::elementwise_kernel<"); given.size() == 3) {
        if (const auto inner = template_arguments(given[2], "gpu_kernel_impl_nocast<");
            inner.size() == 1)
            return of_functor(Form::strided, inner[0]);
        if (const auto inner = template_arguments(given[2], "gpu_kernel_impl<"); inner.size() == 1)
            return of_functor(Form::strided_casting, inner[0]);
    }
    if (holds(name, "elementwise_kernel_with_index<int, at::native::arange_cuda_out")) {
        const Element type = dispatched_type(name);
        return type == Element::unknown ? nullptr : std::make_unique<Arange>(type);
    }
    return nullptr;
}

}  // namespace tidemark::imagined
