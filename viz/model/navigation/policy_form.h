// PolicyForm: a policy with a field for each of its options, as a user fills them in, and the
// resulting setting. All of it is what policies declare (core/allocator/allocator.h), read by the
// parser of the command lines (core/allocator/spec.h). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/allocator/spec.h"

namespace tidemark::viz {

struct PolicyForm {
    // A field for each option: the policy's own, then those that every policy has.
    struct Field {
        const OptionInfo* option = nullptr;
        std::string value;  // as typed; empty: the default
    };

    explicit PolicyForm(const PolicyInfo& info);

    const PolicyInfo* policy;
    std::vector<Field> fields;

    // "vpmm:page=2MiB": what was typed, right or wrong.
    std::string typed() const;

    // The setting. Errors (bad_option): those of parse_policy.
    Result<PolicySpec> read() const { return parse_policy(typed()); }
};

// The policies whose name or sentence has all words of `text`, ignoring case; those whose name
// starts with it first.
std::vector<const PolicyInfo*> policies_with(std::string_view text);

// "--policy vpmm:page=2MiB", in single quotes where a shell needs them.
std::string policy_argument(const std::string& spec);

}  // namespace tidemark::viz
