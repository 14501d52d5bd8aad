// Spec: a policy as text, "name" or "name:key=value,key=value" (PyTorch's "key:value" too). If a
// policy models a system that is configured by an environment variable, you may paste the
// assignment as it is: "torch:PYTORCH_ALLOC_CONF=expandable_segments:True", with or without the
// policy's name, "export" and quotes.
//
// Every policy also has the options of wrapper_options(): frees in batches, as Numba makes them
// (deferring_allocator.h), and the caches that SharedAllocator (core/concurrent) puts in front of
// it in a program with many threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/allocator/allocator.h"
#include "core/allocator/deferring_allocator.h"

namespace tidemark {

// A policy that has been found, with every option set. Cheap to copy; thread-safe.
struct PolicySpec {
    const PolicyInfo* policy = nullptr;
    Options options;
    Options wrappers;  // of wrapper_options()

    // "torch:max_split_size_mb=128": the name and the options that differ from their defaults.
    // Parsing it (parse_policy) gives an equal spec.
    std::string text() const;

    // Whether the policy has an option `limit`, and so enforces a limit on reserved bytes itself.
    bool keeps_limit() const;

    // This spec with a limit on reserved bytes (0: none) that the policy enforces itself, if it has
    // an option for that. Otherwise unchanged, and the device must enforce the limit. Errors
    // (bad_option): the spec has another limit already.
    Result<PolicySpec> with_limit(Bytes limit) const;

    // When delayed frees are made; a count of 0: no free is delayed.
    DeferredFrees deferred_frees(const Device& device) const;

    // A fresh allocator of this policy on `device`, which must outlive it.
    Result<std::unique_ptr<Allocator>> make(Device& device) const;
};

// "defer_frees" (0: none), "defer_share", "threads" (0: no caches) and "thread_cache". O(1),
// thread-safe.
std::span<const OptionInfo> wrapper_options();

// Errors (bad_option): unknown policy or option, with the nearest name; a bad value.
Result<PolicySpec> parse_policy(std::string_view text);

}  // namespace tidemark
