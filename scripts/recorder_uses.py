"""The proof of scripts/prove_recorder.py about what kernels and copies use. As a program, it trains:
recorder_uses.py FOLDER writes where its tensors are."""
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys

from recorder_checks import NO_GPU_ADDRESS, has, record, tidemark
from recorder_cost import cupti_of, empty_library

STEPS, REPLAYS, TURNS = 5, 3, 5
MOST_PER_LAUNCH = 1000  # ns that --kernels may add, with CUPTI's part
MOST_TIMED = 5000       # and with the GPU's times, which come from CUPTI
MOST_WITHOUT = 200      # ns that a launch may cost if they aren't recorded
SLACK = 1_000_000       # ns by which a kernel may seem to start before its call returned
OVERLAP = 2_000         # and before the previous one in its stream has ended

# Ten pointers that nobody follows: the time until a launch returns.
LAUNCHES = r"""
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>
#include <dlfcn.h>
template <class... Args> int call(const char* name, Args... args) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<int (*)(Args...)>(dlsym(driver, name))(args...);
}
int main() {
    void *context = nullptr, *module = nullptr, *function = nullptr;
    std::string code = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry ten(";
    for (int i = 0; i < 10; ++i)
        code += (i == 0 ? ".param .u64 p" : ", .param .u64 p") + std::to_string(i);
    code += ") { ret; }\n";
    if (call("cuInit", 0U) || call("cuDevicePrimaryCtxRetain", &context, 0) ||
        call("cuCtxSetCurrent", context) || call("cuModuleLoadData", &module, code.c_str()) ||
        call("cuModuleGetFunction", &function, module, "ten"))
        return 1;
    unsigned long long blocks[10];
    void* arguments[10];
    for (int i = 0; i < 10; ++i) {
        call("cuMemAlloc_v2", &blocks[i], size_t{4096});
        arguments[i] = &blocks[i];
    }
    using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, void*, void**, void**);
    const auto launch = reinterpret_cast<Launch>(dlsym(dlopen("libcuda.so.1", RTLD_NOW),
                                                       "cuLaunchKernel"));
    constexpr int kLaunches = 200;  // fewer than a stream's queue takes
    std::vector<double> each;
    for (int batch = 0; batch < 220; ++batch) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < kLaunches; ++i)
            if (launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr)) return 1;
        const std::chrono::duration<double, std::nano> all = std::chrono::steady_clock::now() - begin;
        if (batch >= 20) each.push_back(all.count() / kLaunches);
        call("cuCtxSynchronize");
    }
    std::sort(each.begin(), each.end());
    printf("%f %f\n", each[each.size() / 2], each[each.size() / 10]);
}
"""


def allocations(torch):
    """(address, bytes, location in the program) of each tensor."""
    return [(each["addr"], each["size"],
             [f"{pathlib.Path(frame['filename']).name}:{frame['line']} {frame['name']}"
              for frame in each.get("frames", [])[:3]])
            for traced in torch.cuda.memory._snapshot()["device_traces"] for each in traced
            if each["action"] == "alloc"]


def segments_of(torch, allocated):
    """(address, bytes) of each segment; and of those that never had a tensor: workspaces of
    libraries, which kernels need not touch."""
    tensors = {each.untyped_storage().data_ptr() for each in gc.get_objects()
               if isinstance(each, torch.Tensor) and each.is_cuda}
    segments, workspaces = [], []
    for each in torch.cuda.memory_snapshot():
        begin, size = each["address"], each["total_size"]
        active = {block["address"] for block in each["blocks"] if "active" in block["state"]}
        ever = [one for one, *_ in allocated if begin <= one < begin + size]
        is_workspace = bool(active) and len(ever) == len(active) and not active & tensors
        (workspaces if is_workspace else segments).append((begin, size))
    return segments, workspaces


def train(folder):
    import torch

    nvtx = torch.cuda.nvtx
    torch.cuda.memory._record_memory_history(context="alloc", stacks="python")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(),
                                torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(STEPS):
        with nvtx.range(f"step {step}"):
            batch = torch.randn(2048, 1024).pin_memory().to("cuda", non_blocking=True)
            with nvtx.range("forward"):
                loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    products = {}
    for name in ("float32", "bfloat16"):  # each tensor in a segment of its own
        one, two, result = (torch.zeros(8192, 4096 if name == "float32" else 8192, device="cuda",
                                        dtype=getattr(torch, name)) for _ in range(3))
        two = two.t()
        result = torch.zeros(8192, 8192, device="cuda", dtype=one.dtype)
        torch.mm(one, two, out=result)  # it allocates other memory here once, and keeps it
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        nvtx.mark(f"begin {name}")
        begin.record()
        torch.mm(one, two, out=result)
        end.record()
        nvtx.mark(f"end {name}")
        torch.cuda.synchronize()
        products[name] = [each.data_ptr() for each in (one, two, result)]
        products[name].append(1e6 * begin.elapsed_time(end))
    allocated = allocations(torch)
    segments, workspaces = segments_of(torch, allocated)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result.add_(1)
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()
    (folder / "tensors.json").write_text(json.dumps([segments, products, allocated, workspaces]))


def blocks_of(events):
    """The location of a segment in the recording: {address: block}, also of mapped ones."""
    found = {}
    for event in events:
        if event.kind == "allocate" and event.address < NO_GPU_ADDRESS:
            found[event.address, event.size] = event.address
        elif event.kind == "map":
            found[event.address, event.size] = event.extra
    return found


def block_at(blocks, address):
    return next((block for (begin, size), block in blocks.items()
                 if begin <= address < begin + size), None)


def product_events(events, name):
    """What was launched between the marks; None without marks."""
    tags = [event.tag if event.kind == "mark" else "" for event in events]
    if f"begin {name}" not in tags or f"end {name}" not in tags:
        return None
    between = events[tags.index(f"begin {name}"):tags.index(f"end {name}")]
    return [event for event in between if event.kind == "use"]


def product_uses(events, name):
    """Flags by block, of what was launched between the marks; None without marks."""
    between = product_events(events, name)
    return None if between is None else {each.address: (each.size, each.tag) for each in between}


def check_executions(events, products):
    """When the GPU ran what was launched: each after its launch, in the order of its stream, and for
    as long as CUDA's own events say."""
    launched = {}
    for event in events:
        if event.kind == "use":
            launched.setdefault(event.extra, event)
    executions = [event for event in events if event.kind == "execution"]
    strangers = [each for each in executions if each.extra not in launched]
    # Captured work runs as its graph, several kernels of one launch.
    single = [each for each in executions
              if each.extra in launched and launched[each.extra].tag != "cuGraphLaunch"]
    untimed = set(launched) - {each.extra for each in executions}
    # A copy may have ended when its call returns.
    early = [each for each in single if not each.tag.startswith("cuMemcpy")
             and each.address + SLACK < launched[each.extra].time]
    late = [each for each in executions if each.address + each.size > each.time + SLACK]
    overlaps, ends = 0, {}
    for each in sorted(single, key=lambda each: each.extra):
        overlaps += each.address + OVERLAP < ends.get(each.stream, 0)
        ends[each.stream] = each.address + each.size
    print(f"kernels: {len(executions)} executions of {len(launched)} launches, {len(untimed)} of "
          f"these have none; {len(strangers)} of no launch, {len(early)} before it, {len(late)} "
          f"reported before they ended, {overlaps} before the previous one in their stream")
    good = bool(executions) and not (strangers or early or late or overlaps) \
        and len(untimed) <= 0.01 * len(launched)
    for name, (*_, measured) in products.items():
        numbers = {each.extra for each in product_events(events, name) or []}
        summed = sum(each.size for each in executions if each.extra in numbers)
        print(f"kernels {name} product: executions sum to {summed / 1e6:.3f} ms, CUDA's events "
              f"measured {measured / 1e6:.3f} ms")
        good = good and 0.8 * measured <= summed <= 1.05 * measured
    return good


def check_products(events, products):
    good = True
    for name, (*addresses, _) in products.items():
        uses, blocks = product_uses(events, name), blocks_of(events)
        wanted = [block_at(blocks, address) for address in addresses]
        found = [block in (uses or {}) for block in wanted]
        print(f"kernels {name} product: {sorted({tag for _, tag in (uses or {}).values()})}; its "
              f"tensors found {found}, {sum(size >= 4 for size, _ in (uses or {}).values())} of "
              f"{len(uses or {})} uses possible")
        # Only the driver knows what the tensor maps of bfloat16's kernels contain.
        good = good and uses is not None and (all(found) or name != "float32")
    return good


def answer(*words):
    said = subprocess.run([tidemark(), *words, "--json"], capture_output=True, text=True,
                          check=False)
    if said.returncode != 0:
        print(f"  tidemark {words[0]}: exit code {said.returncode}, {said.stderr.strip()[:300]}")
    return json.loads(said.stdout) if said.returncode == 0 else {}


def check_recording(path, events, segments, products, allocated):
    blocks, used = blocks_of(events), {event.address for event in events if event.kind == "use"}
    # A mapped segment consists of many pieces; a pointer to a tensor only refers to the first.
    pieces = [(address, size) for address, size in segments if (address, size) in blocks]
    lonely = [address for address, _ in pieces if block_at(blocks, address) not in used]
    print(f"kernels: {len(segments)} segments of PyTorch, {len(pieces)} of them in one piece, "
          f"{len(lonely)} of these without a use "
          f"{[size for address, size in pieces if address in lonely]}")
    for address, size in (each for each in pieces if each[0] in lonely):
        held = [each for each in allocated if address <= each[0] < address + size]
        print(f"kernels: without a use, {size} bytes; what was allocated there: {held[:4]}")
    names = [event.tag for event in events if event.kind == "range_begin"]
    ends = [event.tag for event in events if event.kind == "range_end"]
    steps = [f"step {step}" for step in range(STEPS)]
    ranges = [name for name in names if name in steps] == steps and names.count("forward") == STEPS \
        and sorted(names) == sorted(ends)
    info = answer("info", str(path))
    counts = [info.get(key) for key in ("launches", "unknown_launches", "uses", "possible_uses",
                                        "unmatched")]
    print(f"kernels: launches, unknown, uses, possible, unmatched {counts}; ranges "
          f"{'as they were' if ranges else names}")
    spilled = {share: answer("replay", str(path), "--gpu-memory", share, "--spill", "lru")
               for share in ("100%", "70%")}
    print("kernels: replayed over tiers " + ", ".join(
        f"with {share} {run.get('kernels')} kernels, slowdown {run.get('slowdown')}"
        for share, run in spilled.items()))
    return bool(segments) and bool(used) and not lonely and ranges and counts[1] == REPLAYS and counts[4] == 0 \
        and check_products(events, products) and check_executions(events, products) and all(run.get("kernels") for run in spilled.values())


def prove_cost_of_launches(folder):
    source, program = folder / "launches.cpp", folder / "launches"
    source.write_text(LAUNCHES)
    subprocess.run(["g++", "-std=c++17", "-O2", "-o", str(program), str(source), "-ldl"], check=True)
    path = folder / "cost.tml"
    recorder = [tidemark(), "record", "-o", str(path), "--force"]
    subprocess.run([*recorder, "--", str(program)], check=True, capture_output=True)
    empty = {"CUDA_INJECTION64_PATH": empty_library(folder, cupti_of(path))}
    modes = {"none": ([], {}), "CUPTI alone": ([], empty), "recorded": ([*recorder, "--"], {}),
             "with --kernels --no-gpu-times": ([*recorder, "--kernels", "--no-gpu-times", "--"], {}),
             "with --kernels": ([*recorder, "--kernels", "--"], {})}
    figures = {mode: [] for mode in modes}
    for _ in range(TURNS):
        for mode, (prefix, variables) in modes.items():
            said = subprocess.run([*prefix, str(program)], capture_output=True, text=True,
                                  check=True, env={**os.environ, **variables}).stdout
            figures[mode].append([float(figure) for figure in said.split()])
    for mode, each in figures.items():
        medians = [median for median, _ in each]
        print(f"kernels: a launch of ten arguments, {mode}: {statistics.median(medians):.0f} ns "
              f"({min(medians):.0f} to {max(medians):.0f}), in batches that were left alone "
              f"{min(quick for _, quick in each):.0f} ns")
    none, alone, without, recorded, timed = (min(quick for _, quick in each)
                                             for each in figures.values())
    print(f"kernels: of that CUPTI's {alone - none:.0f} ns, ours {recorded - alone:.0f} ns")
    return without - none <= MOST_WITHOUT and recorded - none <= MOST_PER_LAUNCH \
        and timed - none <= MOST_TIMED


def prove_kernels(folder):
    good = prove_cost_of_launches(folder)
    if not has("torch"):
        return good
    for name, conf in (("plain", ""), ("mapped", "expandable_segments:True")):
        done, events = record(
            folder, name, [sys.executable, "-B", __file__, str(folder)], ["--kernels", "--ranges"],
            {"PYTORCH_CUDA_ALLOC_CONF": conf})
        if done.returncode != 0:
            print(f"kernels {name}: exit code {done.returncode}, {done.stderr[-500:]}")
            return False
        segments, products, allocated, workspaces = json.loads(
            (folder / "tensors.json").read_text())
        print(f"kernels: {name} segments; also workspaces of {[each[1] for each in workspaces]} "
              "bytes")
        good = check_recording(folder / f"{name}.tml", events, segments, products,
                               allocated) and good
    return good


if __name__ == "__main__":
    train(pathlib.Path(sys.argv[1]))
