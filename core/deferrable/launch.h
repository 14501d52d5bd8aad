// launch: calls a function with its arguments. Arguments that are deferrable buffers are pinned
// meanwhile: handles, shared pointers to handles and ranges of handles; all others are passed on as
// they are. When it returns or throws, the buffers may leave after what is queued on `stream` then.
//
//     auto outcome = launch(memory, s, run_layer, s, weights, inputs, 0.5F);
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/deferrable/deferrable_store.h"

namespace tidemark {
namespace launching {

template <class T>
concept Handle = std::same_as<std::remove_cvref_t<T>, Deferrable>;

template <class T>
concept SharedHandle = requires(const std::remove_cvref_t<T>& pointer) {
    { *pointer } -> Handle;
    typename std::remove_cvref_t<T>::element_type;
};

template <class T>
concept HandleRange = std::ranges::forward_range<T> && Handle<std::ranges::range_reference_t<T>>;

template <class T>
void collect(std::vector<DeferrableUse>& uses, const T& argument) {
    if constexpr (Handle<T>) {
        uses.push_back({&argument, true});
    } else if constexpr (HandleRange<const T>) {
        for (const Deferrable& one : argument)
            uses.push_back({&one, true});
    } else if constexpr (SharedHandle<T>) {
        uses.push_back({&*argument, true});
    }
}

}  // namespace launching

// `Result<void>` if the callable gives nothing.
template <class Callable, class... Arguments>
auto launch(DeferrableStore& store, StreamId stream, Callable&& callable, Arguments&&... arguments)
    -> Result<std::invoke_result_t<Callable, Arguments...>> {
    std::vector<DeferrableUse> uses;
    (launching::collect(uses, arguments), ...);
    TM_ASSIGN(std::vector<DeferrablePin> pins, store.pin_all(uses));
    for (DeferrablePin& pin : pins)
        pin.set_stream(stream);
    if constexpr (std::is_void_v<std::invoke_result_t<Callable, Arguments...>>) {
        std::invoke(std::forward<Callable>(callable), std::forward<Arguments>(arguments)...);
        return {};
    } else {
        return std::invoke(std::forward<Callable>(callable), std::forward<Arguments>(arguments)...);
    }
}

}  // namespace tidemark
