// TierOptions: the options of replays over GPU, host and disk memory. Any of them makes `replay`
// and `compare` go over tiers instead of allocator policies.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"
#include "replay/analysis/tiers/compare_tiers.h"
#include "replay/cli/command.h"
#include "replay/cli_support/arguments.h"
#include "replay/tiers/tier_run.h"
#include "traces/model/trace.h"

namespace tidemark {

// An option that means nothing over tiers, and what to say instead.
struct ForeignOption {
    std::string_view name;
    std::string_view hint;
};

class TierOptions {
  public:
    // `several`: sizes and victim policies are lists. `arguments` must outlive this.
    void declare(Arguments& arguments, bool several);

    // Whether any option of tiers was given. After parsing.
    bool wanted() const;

    // Errors (bad_option): one of the others was given as well.
    Result<void> refuse(std::span<const ForeignOption> others) const;

    // What belongs to every run: all but victim policies and sizes of GPU memory. Errors: values
    // that are none.
    Result<TierScenario> scenario() const;

    // Errors: those of open_machine.
    Result<MachineSpec> machine() const;

    // Of one run: nothing if no size was given, so that the machine's own counts; lru.
    // Errors (bad_option): several; a value that is none.
    Result<GpuMemory> memory(Front& front) const;
    Result<std::string> policy() const;

    // Of several runs, in the order given. Without any: 80, 60, 40 and 20 %; all policies.
    Result<std::vector<GpuMemory>> memories(Front& front) const;
    Result<std::vector<std::string>> policies() const;

  private:
    Result<std::vector<GpuMemory>> given_memories(Front& front) const;

    const Arguments* arguments_ = nullptr;
    std::string machine_ = "h200-node";
    std::vector<std::string> memories_;
    std::vector<std::string> policies_;
    Bytes host_memory_ = 0;
    std::string prefetch_ = "auto";
    std::string reservation_ = "wait";
    std::string over_reservation_ = "ignore";
    std::string spill_start_, padding_, reservation_limit_;
    std::string spill_stop_;
    bool forget_copies_ = false;
    bool beyond_limit_ = false;
};

// `trace`, scaled if `scale` isn't 1, as a program for tiers. Errors: those of make_tier_program,
// with the trace's path; a scale out of bounds.
Result<TierProgram> tier_program(const Trace& trace, double scale, const std::string& path);

}  // namespace tidemark
