// The PyTorch operator that a thread runs, and the shapes of its arguments. tracker.cpp records it
// before each allocation. Compiled by _compiled.py against the installed PyTorch, separately from
// the tracker because these headers take longer.
//
// PyTorch calls the start and end functions of an operator on its own thread, without the
// allocator's lock. tidemark_operator is called with that lock held: it calls only the recorder.
#ifndef NDEBUG
#define NDEBUG  // as in PyTorch's build: without it, RecordFunction has other members
#endif
#include <ATen/record_function.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using PutString = std::uint32_t (*)(void* recorder, const char* text);

constexpr std::size_t kMostArguments = 16;  // foreach operators have lists of hundreds
constexpr std::size_t kMostDims = 64;

// Kinds of arguments; in `shapes`, they precede the numbers.
constexpr std::int64_t kTensor = 0, kList = 1, kNumber = 2;

struct Operator {
    const char* name;
    std::size_t begin;  // where its arguments start in `shapes`
};

thread_local std::vector<Operator> operators;        // running ones, outermost first
thread_local std::vector<std::int64_t> shapes;       // of all of them: kind, count, numbers

std::mutex guard;  // guards the following
std::unordered_map<std::string, std::uint32_t> names;  // the recorder's ids
void* recorder = nullptr;
PutString put_string = nullptr;

template <class Numbers>
void put(std::int64_t kind, const Numbers& numbers) {
    const std::size_t count = std::min<std::size_t>(numbers.size(), kMostDims);
    shapes.push_back(kind);
    shapes.push_back(static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < count; ++i)
        shapes.push_back(numbers[i]);
}

void put(const at::Tensor& tensor) {
    if (tensor.defined() && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
        !tensor.is_nested())
        put(kTensor, tensor.sizes());
}

// The number of tensors or numbers.
std::size_t put(const c10::IValue& value, std::size_t room) {
    if (value.isTensor()) {
        put(value.toTensor());
        return 1;
    }
    if (value.isTensorList()) {
        std::size_t count = 0;
        for (const at::Tensor tensor : value.toTensorList()) {
            if (count == room)
                break;
            put(tensor);
            ++count;
        }
        return count;
    }
    if (value.isIntList())
        put(kList, value.toIntVector());
    else if (value.isInt())
        put(kNumber, std::vector<std::int64_t>{value.toInt()});
    return 1;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    operators.push_back({function.name(), shapes.size()});
    try {
        std::size_t room = kMostArguments;
        for (const c10::IValue& value : function.inputs()) {
            if (room == 0)
                break;
            room -= std::min(room, put(value, room));
        }
    } catch (...) {  // a kind of tensor without sizes: leave it out
        shapes.resize(operators.back().begin);
    }
    return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {
    if (operators.empty())
        return;
    shapes.resize(operators.back().begin);
    operators.pop_back();
}

// "aten::addmm [768] [8192, 768] [768, 3072] 1": tensors, (lists) and numbers.
std::string text_of(const Operator& one) {
    std::string text = one.name;
    for (std::size_t at = one.begin; at < shapes.size();) {
        const std::int64_t kind = shapes[at++];
        const auto count = static_cast<std::size_t>(shapes[at++]);
        text += kind == kTensor ? " [" : kind == kList ? " (" : " ";
        for (std::size_t i = 0; i < count; ++i)
            text += (i == 0 ? "" : ", ") + std::to_string(shapes[at++]);
        text += kind == kTensor ? "]" : kind == kList ? ")" : "";
    }
    return text;
}

at::CallbackHandle handle = 0;

}  // namespace

extern "C" {

// Follows operators from now on, with their texts as strings of `new_recorder`; null ends it.
void tidemark_operators(void* new_recorder, PutString put_text) {
    if (handle != 0)
        at::removeCallback(handle);
    handle = 0;
    const std::lock_guard lock(guard);
    names.clear();
    recorder = new_recorder;
    put_string = put_text;
    if (recorder != nullptr)
        handle = at::addGlobalCallback(at::RecordFunctionCallback(begin, end)
                                           .needsInputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

// The recorder's string for the operator that this thread runs; 0 if it isn't known.
std::uint32_t tidemark_operator() {
    if (operators.empty())
        return 0;
    const std::string text = text_of(operators.back());
    const std::lock_guard lock(guard);
    if (recorder == nullptr)
        return 0;
    const auto [known, is_new] = names.try_emplace(text, 0);
    if (is_new)
        known->second = put_string(recorder, text.c_str());
    return known->second;
}

}  // extern "C"
