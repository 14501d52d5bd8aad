// Questions as people ask them, each with a small recording like theirs: what the first screen must
// say to them, and what it must not. Numbers are those of public reports.
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/cli/command_line.h"

using namespace tidemark;
using support::contains;

namespace {

// A program whose blocks grow a little from step to step, so that none fits the hole of the last.
std::string growing(const std::string& header, const std::string& stack = {}) {
    std::string text =
        fmt::format("{{\"type\": \"header\", \"version\": 1, \"unit\": \"us\"{}}}\n", header);
    const auto add = [&text](int time, const char* what, int id, unsigned bytes,
                             const std::string& more) {
        text += fmt::format("{{\"t\": {}, \"op\": \"{}\", \"id\": {}{}{}}}\n", time, what, id,
                            bytes > 0 ? fmt::format(", \"bytes\": {}", bytes) : "", more);
    };
    add(0, "alloc", 0, 64U << 20U, stack);
    for (int i = 1; i <= 12; ++i) {
        add(100'000 * i, "alloc", i, (40U + 2U * static_cast<unsigned>(i)) << 20U, {});
        add(100'000 * i + 50'000, "free", i, 0, {});
    }
    return text;
}

std::string torch(const char* version) {
    return growing(
        fmt::format(", \"settings\": {{\"allocator\": \"torch\", \"torch\": \"{}\"}}", version));
}

std::string torch_with_frame(const char* function, const char* file) {
    return growing(", \"settings\": {\"allocator\": \"torch\", \"torch\": \"2.11.0\"}",
                   fmt::format(", \"stack\": [\"{} {}:3\"]", function, file));
}

// rmm #1421: queries come and go, and each keeps a block.
std::string rmm(bool leaks) {
    std::string text = "Thread,Time,Action,Pointer,Size,Stream\n";
    std::uint64_t next = 0x7f0000000000;
    int time = 0;
    const auto add = [&](const char* action, std::uint64_t pointer, std::uint64_t size) {
        text += fmt::format("1,{:02}:{:02}:{:02}:{:06},{},{:#x},{},0x0\n", time / 36'000 % 24,
                            time / 600 % 60, time / 10 % 60, time % 10 * 100'000, action, pointer,
                            size);
        ++time;
    };
    std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
    for (std::uint64_t i = 0; i < 800; ++i) {
        const std::uint64_t size = (1 + i * 7919 % 61) << 20U;
        add("allocate", next, size);
        live.emplace_back(next, size);
        next += std::uint64_t{1} << 30U;
        if (leaks && i % 8 == 0) {
            add("allocate", next, 3U << 20U);
            next += std::uint64_t{1} << 30U;
        }
        if (live.size() > 9) {
            const std::size_t which = i * 31 % live.size();
            add("free", live[which].first, live[which].second);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
    }
    return text;
}

// rf-detr #1490: each graph, of the largest batch first, is captured into a pool of its own;
// tokenspeed #1065: all into one, of the smallest batch first.
std::string graphs(bool one_pool = false) {
    std::string text = "{\"type\": \"header\", \"version\": 1, \"unit\": \"us\"}\n";
    int time = 0;
    int id = 0;
    for (unsigned graph = 0; graph < 8; ++graph) {
        const unsigned pool = one_pool ? 0 : graph;
        const unsigned smaller = one_pool ? 7 - graph : graph;
        text += fmt::format("{{\"t\": {}, \"op\": \"pool_begin\", \"pool\": \"graph{}\"}}\n",
                            time++, pool);
        for (int block = 0; block < 4; ++block)
            text += fmt::format("{{\"t\": {}, \"op\": \"alloc\", \"id\": {}, \"bytes\": {}}}\n",
                                time++, id + block, (360U - 20U * smaller) << 20U);
        for (int block = 0; block < 4; ++block)
            text +=
                fmt::format("{{\"t\": {}, \"op\": \"free\", \"id\": {}}}\n", time++, id + block);
        text += fmt::format("{{\"t\": {}, \"op\": \"pool_end\", \"pool\": \"graph{}\"}}\n", time++,
                            pool);
        id += 4;
    }
    return text;
}

// nanoGPT #618: an evaluation now and then takes far more than steps do.
std::string evaluations() {
    std::string text = "{\"type\": \"header\", \"version\": 1, \"unit\": \"us\"}\n";
    int time = 0;
    int id = 0;
    const auto block = [&](unsigned megabytes, const char* tag) {
        text += fmt::format(
            "{{\"t\": {}, \"op\": \"alloc\", \"id\": {}, \"bytes\": {}, \"tag\": \"{}\"}}\n"
            "{{\"t\": {}, \"op\": \"free\", \"id\": {}}}\n",
            time, id, std::uint64_t{megabytes} << 20U, tag, time + 5, id);
        time += 10;
        ++id;
    };
    for (int step = 0; step < 60; ++step) {
        if (step % 20 == 0)
            block(4096, "eval_logits");
        block(300, "activations");
    }
    return text;
}

// pytorch #159674: a MemPool that doesn't give back what the next request in it could have.
std::string pool_without_retry() {
    return "{\"type\": \"header\", \"version\": 1, \"unit\": \"us\"}\n"
           "{\"t\": 0, \"op\": \"pool_begin\", \"pool\": \"p\"}\n"
           "{\"t\": 1, \"op\": \"alloc\", \"id\": 0, \"bytes\": 42949672960}\n"
           "{\"t\": 2, \"op\": \"free\", \"id\": 0}\n"
           "{\"t\": 3, \"op\": \"alloc\", \"id\": 1, \"bytes\": 53687091200}\n"
           "{\"t\": 4, \"op\": \"free\", \"id\": 1}\n"
           "{\"t\": 5, \"op\": \"pool_end\", \"pool\": \"p\"}\n";
}

std::string cupy() {
    std::string text;
    for (unsigned i = 0; i < 12; ++i) {
        const unsigned size = (64U + 8U * i) << 20U;
        text += fmt::format(
            "{{\"hook\":\"malloc\",\"device_id\":0,\"size\":{0},\"mem_size\":{0},"
            "\"mem_ptr\":{1},\"pmem_id\":\"{1:#x}\"}}\n",
            size, (i + 1) * 0x100000000ULL);
        text += fmt::format(
            "{{\"hook\":\"free\",\"device_id\":0,\"mem_size\":{0},"
            "\"mem_ptr\":{1},\"pmem_id\":\"{1:#x}\"}}\n",
            size, (i + 1) * 0x100000000ULL);
    }
    return text;
}

struct Question {
    const char* name;
    std::string recording;
    const char* file;
    std::vector<std::string> command;  // before the file
    std::vector<std::string> must;
    std::vector<std::string> must_not;
};

std::vector<Question> questions() {
    const std::string kOld = "PYTORCH_CUDA_ALLOC_CONF=";
    const std::string kNew = " PYTORCH_ALLOC_CONF=";
    return {
        {"2.8 knows the old name only",
         torch("2.8.0+cu126"),
         "a.jsonl",
         {"advise"},
         {"Set expandable_segments:True", kOld},
         {kNew}},
        {"2.9.1 ignores the new name (pytorch #183387)",
         torch("2.9.1+cu128"),
         "a.jsonl",
         {"advise"},
         {kOld},
         {kNew}},
        {"2.11 reads the new name",
         torch("2.11.0"),
         "a.jsonl",
         {"advise"},
         {kNew, "set elsewhere takes precedence"},
         {" PYTORCH_CUDA_ALLOC_CONF="}},
        {"idle after an evaluation (nanoGPT #618)",
         evaluations(),
         "a.jsonl",
         {"advise"},
         {"is idle from event", "after eval_logits held 4.00 GiB",
          "torch.cuda.empty_cache() there releases it"},
         {}},
        {"no retry inside a MemPool (pytorch #159674)",
         pool_without_retry(),
         "a.jsonl",
         {"advise", "--memory", "80GiB"},
         {"Requested for a private pool", "doesn't ask it again",
          "torch.cuda.empty_cache() just before it: still out of memory"},
         {}},
        {"ROCm reads another name, and has no drop-in",
         torch("2.8.0+rocm6.4"),
         "a.jsonl",
         {"advise"},
         {"PYTORCH_HIP_ALLOC_CONF=", "warning: expandable_segments and ROCm before 7"},
         {"tidemark.torch.use", "CUDA_ALLOC_CONF"}},
        {"what the drop-in costs is said with it",
         torch("2.11.0"),
         "a.jsonl",
         {"advise"},
         {"tidemark.torch.use(\"extent\") needs", "the first use needs a C++ compiler"},
         {}},
        {"tensors for other processes (pytorch #130330)",
         torch_with_frame("reduce_tensor", "_new_shared_cuda"),
         "a.jsonl",
         {"advise"},
         {"warning: expandable_segments and tensors that processes share by CUDA IPC",
          "warning: tidemark.torch.use and tensors that processes share"},
         {}},
        {"torch_memory_saver (radixark/miles #2852)",
         torch_with_frame("pause", "/site-packages/torch_memory_saver/entrypoint.py"),
         "a.jsonl",
         {"advise"},
         {"warning: expandable_segments and torch_memory_saver"},
         {}},
        {"will it fit",
         torch("2.11.0"),
         "a.jsonl",
         {"fit", "--memory", "1GiB"},
         {"Yes: torch (as recorded) survives", "on a card with 896 MiB or more"},
         {}},
        {"a model that was only read says so",
         torch("2.11.0"),
         "a.jsonl",
         {"replay", "-p", "quick-pool"},
         {"no recording of such a system has been compared with it"},
         {}},
        {"one that was measured doesn't",
         torch("2.11.0"),
         "a.jsonl",
         {"replay", "-p", "cupy"},
         {},
         {"compared with"}},
        {"2.0 has no expandable segments",
         torch("2.0.1"),
         "a.jsonl",
         {"advise"},
         {},
         {"expandable_segments"}},
        {"2.8 has no large_segment_size_mb",
         torch("2.8.0"),
         "a.jsonl",
         {"advise"},
         {},
         {"large_segment_size_mb"}},
        {"without virtual memory",
         torch("2.11.0"),
         "a.jsonl",
         {"advise", "--without", "vmm"},
         {"at the start and free it immediately: peak", "torch.empty("},
         {"expandable_segments", "use(\"extent\")"}},
        {"priming stands beside the setting",
         torch("2.11.0"),
         "a.jsonl",
         {"advise"},
         {"torch.empty(", "dtype=torch.uint8, device=\"cuda\")"},
         {}},
        {"NIXL (ai-dynamo/nixl #1754)",
         torch_with_frame("register", "/site-packages/nixl/_api.py"),
         "a.jsonl",
         {"advise"},
         {"warning: expandable_segments and transfers that register memory", "--without vmm"},
         {}},
        {"vLLM's sleep mode (vllm #14189)",
         torch_with_frame("use", "/site-packages/vllm/device_allocator/cumem.py"),
         "a.jsonl",
         {"advise"},
         {"warning: expandable_segments and vLLM's sleep mode"},
         {}},
        {"a clean program isn't warned",
         torch_with_frame("forward", "/app/model.py"),
         "a.jsonl",
         {"advise"},
         {"note: expandable_segments is unsuitable for Windows"},
         {"warning: expandable"}},
        {"RMM's user gets RMM's choices",
         rmm(false),
         "a.csv",
         {"advise"},
         {"under rmm-pool", "the log doesn't name the resource"},
         {"ALLOC_CONF", "_record_memory_history", "empty_cache", "Leak", "as recorded"}},
        {"a leak goes first (rmm #1421)",
         rmm(true),
         "a.csv",
         {"advise"},
         {"Find the leak first: live memory in blocks of 2.00 MiB to 4.00 MiB", "Leak: "},
         {"ALLOC_CONF"}},
        {"compare offers RMM's resources",
         rmm(false),
         "a.csv",
         {"compare"},
         {"rmm-arena", "rmm-binning", "rmm-cuda-async", "cuda-malloc", "extent (other)"},
         {"torch", "buddy", "bump", "cupy", "as recorded"}},
        {"fit offers them too",
         rmm(false),
         "a.csv",
         {"fit"},
         {"rmm-arena", "rmm-pool", "extent"},
         {"torch", "as recorded"}},
        {"compare --all has the others",
         rmm(false),
         "a.csv",
         {"compare", "--all"},
         {"torch (other)", "buddy (other)"},
         {}},
        {"JAX's user gets JAX's choices",
         growing(", \"settings\": {\"allocator\": \"bfc\"}"),
         "a.jsonl",
         {"advise"},
         {"under bfc"},
         {"ALLOC_CONF=expandable", "_record_memory_history"}},
        {"nothing can be set of best-fit",
         growing(""),
         "a.jsonl",
         {"advise", "-p", "best-fit"},
         {"has no settings to try", "tidemark compare", "Where it went"},
         {"export"}},
        {"settings in the header say whose it is (pytorch #123548)",
         growing(", \"settings\": {\"PYTORCH_CUDA_ALLOC_CONF\": "
                 "\"max_split_size_mb:128,expandable_segments:True\"}"),
         "a.jsonl",
         {"advise"},
         {"under expandable_segments:True,max_split_size_mb:128"},
         {"Set expandable_segments:True"}},
        {"a pool for each graph (rf-detr #1490)",
         graphs(),
         "a.jsonl",
         {"advise"},
         {"one pool for all graphs", "torch.cuda.graph_pool_handle()"},
         {}},
        {"graphs from the smallest on (tokenspeed #1065)",
         graphs(true),
         "a.jsonl",
         {"advise", "--without", "vmm"},
         {"Capture the largest graph first: peak 1.41 GiB instead of 9.06 GiB",
          "sorted(sizes, reverse=True)"},
         {}},
        {"CuPy's user gets CuPy's choices",
         cupy(),
         "a.jsonl",
         {"advise"},
         {"under cupy", "cupy."},
         {"ALLOC_CONF", "_record_memory_history", "torch.empty("}},
        {"nobody knows whose it is",
         growing(""),
         "a.jsonl",
         {"advise"},
         {"this is what PyTorch's allocator would do with it"},
         {"_record_memory_history"}},
    };
}

}  // namespace

TEST_CASE("questions of users get an answer on the first screen", "[cli][questions]") {
    const support::Folder folder;
    std::size_t right = 0;
    const std::vector<Question> all = questions();
    for (const Question& question : all) {
        const std::string path = folder / question.file;
        support::write_file(path, question.recording);
        std::vector<std::string> command = question.command;
        command.insert(command.begin() + 1, path);
        const support::Said said = support::tidemark(command);
        INFO(question.name << "\n" << said.out << said.err);
        CHECK(said.code == 0);
        bool all_said = said.code == 0;
        for (const std::string& part : question.must) {
            INFO("must say: " << part);
            CHECK(contains(said.out, part));
            all_said = all_said && contains(said.out, part);
        }
        for (const std::string& part : question.must_not) {
            INFO("must not say: " << part);
            CHECK_FALSE(contains(said.out, part));
            all_said = all_said && !contains(said.out, part);
        }
        right += all_said ? 1 : 0;
    }
    CHECK(right == all.size());
}
