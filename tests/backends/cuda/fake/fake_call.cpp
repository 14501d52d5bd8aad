// Which calls are let in.
#include "tests/backends/cuda/fake/fake_call.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/backends/cuda/fake/fake_config.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::fake {
namespace {

// A program that nobody configured by hand gets what its environment says.
void configure_once() {
    if (state().configured)
        return;
    Config config;
    Plan plan;
    if (const char* const text = std::getenv("TIDEMARK_FAKE_CUDA_CONFIG"))
        read_config(text, config, plan);
    begin_anew(config);
    state().plan = plan;
}

void lose_all(Code code) {
    for (auto& [id, context] : state().contexts)
        context.lost = code;
}

// The failure that the test asked for, if it is this call's turn.
Code planned(std::string_view name) {
    Plan& plan = state().plan;
    if (plan.nth == 0 || (!plan.call.empty() && plan.call != name))
        return Code::success;
    ++plan.seen;
    const bool strikes = plan.how == Failure::all ? plan.seen >= plan.nth : plan.seen == plan.nth;
    if (!strikes)
        return Code::success;
    ++plan.struck;
    if (plan.how == Failure::lost)
        lose_all(plan.code);
    return plan.code;
}

// Calls that only say what is known: they are neither counted as the driver's work nor made to
// fail, because nobody can do without their answers.
bool queries_only(const char* name) {
    return std::strncmp(name, "cuGetError", 10) == 0;
}

Code admit_context() {
    const Thread& thread = this_thread();
    if (thread.contexts.empty())
        return Code::invalid_context;
    const Context* const context = current_context();
    return context == nullptr ? Code::context_is_destroyed : context->lost;
}

}  // namespace

Code admit(const char* name, unsigned needs) {
    configure_once();
    if (queries_only(name))
        return Code::success;
    ++state().calls[name];
    if (const Code code = planned(name); code != Code::success)
        return code;
    if ((needs & (kStarted | kContext)) != 0 && !state().started)
        return Code::not_initialized;
    if ((needs & kContext) != 0) {
        if (const Code code = admit_context(); code != Code::success)
            return code;
    }
    return (needs & kUncaptured) != 0 ? refuse_in_capture() : Code::success;
}

}  // namespace tidemark::fake
