"""The figures of answers with their types, for editors and type checkers; nothing imports it when
programs run. Sizes are bytes, times ns; docs/json.md explains each figure.

Written by scripts/make_catalogue.py from what `tidemark COMMAND --json` prints: don't edit it.
"""

from __future__ import annotations

from typing import Any, List, Optional

from tidemark.answers import Answer, Record


class InfoAnomalies(Record):
    backward_times: int
    bad_records: int
    double_frees: int
    giant_sizes: int
    reused_live: int
    unknown_actions: int
    unknown_frees: int
    zero_sizes: int


class InfoDevice(Record):
    allocations: int
    name: str
    peak_recorded_reserved: Record
    peak_requested: Record
    total_memory_bytes: int


class InfoLifetimeEvent(Record):
    bytes: int
    count: int


class InfoPeakLive(Record):
    event: int
    time_ns: int
    value: int


class InfoPoolUsage(Record):
    allocated_bytes: int
    allocations: int
    name: str
    peak_requested_bytes: int
    pool: int


class InfoStream(Record):
    allocated_bytes: int
    allocations: int
    events: int
    handle: int
    stream: int


class Info(Answer):
    allocated_bytes: int
    allocations: int
    anomalies: InfoAnomalies
    begins_inside: bool
    cut_off: bool
    devices: List[InfoDevice]
    duration_ns: int
    events: int
    execution_ns: int
    executions: int
    format: str
    kinds: Record
    launches: int
    lifetime_events: List[InfoLifetimeEvent]
    lifetime_ns: List[InfoLifetimeEvent]
    metadata: Record
    never_freed: int
    never_freed_bytes: int
    out_of_memory: int
    peak_live: InfoPeakLive
    peak_recorded_reserved: InfoPeakLive
    peak_requested: InfoPeakLive
    pool_usage: List[InfoPoolUsage]
    pools: List[Any]
    possible_uses: int
    preamble_events: int
    preamble_live: int
    provenance: Record
    range_names: int
    ranges: List[Any]
    settings: Record
    sizes: List[InfoLifetimeEvent]
    source: str
    stacks: int
    start_time_ns: int
    streams: List[InfoStream]
    trace: str
    unknown_launches: int
    unmatched: int
    uses: int
    warnings: List[Any]


class ReplayDevice(Record):
    device: int
    peak_active_bytes: int
    peak_allocated_bytes: int
    peak_requested_bytes: int
    peak_reserved_bytes: int
    peak_reserved_event: int


class ReplayPeakReservedSpread(Record):
    p5: int
    p50: int
    p95: int
    runs: int


class Replay(Answer):
    anomalies: InfoAnomalies
    as_recorded: bool
    calls_address_range: int
    calls_address_range_ns: int
    calls_begin_capture: int
    calls_begin_capture_ns: int
    calls_check_pattern: int
    calls_check_pattern_ns: int
    calls_complete: int
    calls_complete_ns: int
    calls_copy: int
    calls_copy_batch: int
    calls_copy_batch_ns: int
    calls_copy_ns: int
    calls_create: int
    calls_create_ns: int
    calls_destroy_graph: int
    calls_destroy_graph_ns: int
    calls_end_capture: int
    calls_end_capture_ns: int
    calls_fill: int
    calls_fill_ns: int
    calls_free: int
    calls_free_async: int
    calls_free_async_ns: int
    calls_free_ns: int
    calls_host_free: int
    calls_host_free_ns: int
    calls_host_malloc: int
    calls_host_malloc_ns: int
    calls_host_register: int
    calls_host_register_ns: int
    calls_host_unregister: int
    calls_host_unregister_ns: int
    calls_ipc_close: int
    calls_ipc_close_ns: int
    calls_ipc_export: int
    calls_ipc_export_ns: int
    calls_ipc_open: int
    calls_ipc_open_ns: int
    calls_launch: int
    calls_launch_ns: int
    calls_malloc: int
    calls_malloc_async: int
    calls_malloc_async_ns: int
    calls_malloc_ns: int
    calls_map: int
    calls_map_ns: int
    calls_record: int
    calls_record_ns: int
    calls_release: int
    calls_release_ns: int
    calls_reserve: int
    calls_reserve_ns: int
    calls_set_access: int
    calls_set_access_for: int
    calls_set_access_for_ns: int
    calls_set_access_ns: int
    calls_set_pool_threshold: int
    calls_set_pool_threshold_ns: int
    calls_synchronize: int
    calls_synchronize_device: int
    calls_synchronize_device_ns: int
    calls_synchronize_ns: int
    calls_trim_pool: int
    calls_trim_pool_ns: int
    calls_unmap: int
    calls_unmap_ns: int
    calls_unreserve: int
    calls_unreserve_ns: int
    calls_wait: int
    calls_wait_ns: int
    calls_write_pattern: int
    calls_write_pattern_ns: int
    check: bool
    decisions: Any
    decisions_hash: Any
    deferred_flushes: int
    deferred_peak_bytes: int
    device: str
    device_calls: int
    device_leak_bytes: Optional[int]
    device_name: str
    device_peak_bytes: Optional[int]
    devices: List[ReplayDevice]
    driver_ns: int
    elapsed_ns: int
    elapsed_total_ns: int
    end_addresses_bytes: int
    end_hole_bytes: int
    end_requested_bytes: int
    end_reserved_bytes: int
    end_zombie_bytes: int
    events: int
    external_fragmentation_at_peak: float
    external_fragmentation_mean: float
    fetched_bytes: int
    growth_ns: int
    hazard_count: int
    hazards: List[Any]
    internal_fragmentation_at_peak: float
    internal_fragmentation_mean: float
    largest_free_end_bytes: int
    largest_free_min_bytes: int
    limit_bytes: int
    limit_source: str
    live_at_end: int
    makespan_ns: int
    mean_active_bytes: int
    mean_allocated_bytes: int
    mean_requested_bytes: int
    mean_reserved_bytes: int
    memory_bytes: int
    options: Record
    out_of_memory: int
    out_of_memory_cases: List[Any]
    out_of_memory_events: List[Any]
    overhead_bytes: int
    overhead_ratio: float
    peak_active_bytes: int
    peak_allocated_bytes: int
    peak_allocated_event: int
    peak_allocated_time_ns: int
    peak_fullest_event: int
    peak_requested_bytes: int
    peak_reserved_bytes: int
    peak_reserved_event: int
    peak_reserved_spread: ReplayPeakReservedSpread
    peak_reserved_time_ns: int
    plan_departures: int
    policy: str
    private_reserved_end_bytes: int
    private_reserved_peak_bytes: int
    probes_granted: int
    probes_out_of_memory: int
    profile: str
    provenance: Record
    refusals: List[Any]
    replayed: int
    reservation_wait_max_ns: int
    reservation_wait_p50_ns: int
    reservation_wait_p99_ns: int
    reservations: int
    retries: int
    scale: float
    segments_created: int
    segments_released: int
    skipped: int
    spec: str
    spilled_bytes: int
    stall_ns: int
    stop_at_out_of_memory: bool
    stop_at_refusal: bool
    synchronizations: int
    touch: Any
    trace: str
    trace_warnings: List[Any]
    warnings: List[Any]


class CompareRun(Record):
    as_recorded: bool
    baseline: bool
    best: List[Any]
    calls_address_range: int
    calls_address_range_ns: int
    calls_begin_capture: int
    calls_begin_capture_ns: int
    calls_check_pattern: int
    calls_check_pattern_ns: int
    calls_complete: int
    calls_complete_ns: int
    calls_copy: int
    calls_copy_batch: int
    calls_copy_batch_ns: int
    calls_copy_ns: int
    calls_create: int
    calls_create_ns: int
    calls_destroy_graph: int
    calls_destroy_graph_ns: int
    calls_end_capture: int
    calls_end_capture_ns: int
    calls_fill: int
    calls_fill_ns: int
    calls_free: int
    calls_free_async: int
    calls_free_async_ns: int
    calls_free_ns: int
    calls_host_free: int
    calls_host_free_ns: int
    calls_host_malloc: int
    calls_host_malloc_ns: int
    calls_host_register: int
    calls_host_register_ns: int
    calls_host_unregister: int
    calls_host_unregister_ns: int
    calls_ipc_close: int
    calls_ipc_close_ns: int
    calls_ipc_export: int
    calls_ipc_export_ns: int
    calls_ipc_open: int
    calls_ipc_open_ns: int
    calls_launch: int
    calls_launch_ns: int
    calls_malloc: int
    calls_malloc_async: int
    calls_malloc_async_ns: int
    calls_malloc_ns: int
    calls_map: int
    calls_map_ns: int
    calls_record: int
    calls_record_ns: int
    calls_release: int
    calls_release_ns: int
    calls_reserve: int
    calls_reserve_ns: int
    calls_set_access: int
    calls_set_access_for: int
    calls_set_access_for_ns: int
    calls_set_access_ns: int
    calls_set_pool_threshold: int
    calls_set_pool_threshold_ns: int
    calls_synchronize: int
    calls_synchronize_device: int
    calls_synchronize_device_ns: int
    calls_synchronize_ns: int
    calls_trim_pool: int
    calls_trim_pool_ns: int
    calls_unmap: int
    calls_unmap_ns: int
    calls_unreserve: int
    calls_unreserve_ns: int
    calls_wait: int
    calls_wait_ns: int
    calls_write_pattern: int
    calls_write_pattern_ns: int
    change: Record
    check: bool
    deferred_flushes: int
    deferred_peak_bytes: int
    device: str
    device_calls: int
    device_leak_bytes: Optional[int]
    device_name: str
    device_peak_bytes: Optional[int]
    devices: List[Record]
    driver_ns: int
    elapsed_ns: int
    end_addresses_bytes: int
    end_hole_bytes: int
    end_requested_bytes: int
    end_reserved_bytes: int
    end_zombie_bytes: int
    events: int
    external_fragmentation_at_peak: float
    external_fragmentation_mean: float
    fetched_bytes: int
    growth_ns: int
    hazard_count: int
    hazards: List[Any]
    internal_fragmentation_at_peak: float
    internal_fragmentation_mean: float
    jitter: Any
    label: str
    largest_free_end_bytes: int
    largest_free_min_bytes: int
    limit_bytes: int
    limit_source: str
    live_at_end: int
    makespan_ns: int
    mean_active_bytes: int
    mean_allocated_bytes: int
    mean_requested_bytes: int
    mean_reserved_bytes: int
    memory_bytes: int
    options: Record
    other_allocator: bool
    out_of_memory: int
    out_of_memory_events: List[Any]
    overhead_bytes: int
    overhead_ratio: float
    pareto: bool
    peak_active_bytes: int
    peak_allocated_bytes: int
    peak_allocated_event: int
    peak_allocated_time_ns: int
    peak_fullest_event: int
    peak_requested_bytes: int
    peak_reserved_bytes: int
    peak_reserved_event: int
    peak_reserved_spread: Any
    peak_reserved_time_ns: int
    plan_departures: int
    policy: str
    private_reserved_end_bytes: int
    private_reserved_peak_bytes: int
    probes_granted: int
    probes_out_of_memory: int
    profile: str
    recommended: bool
    refusals: List[Any]
    replayed: int
    reservation_wait_max_ns: int
    reservation_wait_p50_ns: int
    reservation_wait_p99_ns: int
    reservations: int
    retries: int
    scale: float
    segments_created: int
    segments_released: int
    skipped: int
    spec: str
    spilled_bytes: int
    stall_ns: int
    stop_at_out_of_memory: bool
    stop_at_refusal: bool
    synchronizations: int
    trace: str
    warnings: List[Any]


class CompareTrace(Record):
    events: int
    notes: List[Any]
    recorded_run: Record
    trace: str
    trace_hash: str
    verdict: str


class Compare(Answer):
    interrupted: bool
    provenance: Record
    ranks: Any
    runs: List[CompareRun]
    totals: List[Any]
    traces: List[CompareTrace]
    verdict: str


class AdviceBefore(Record):
    conf: str
    device_calls: int
    devices: List[Any]
    driver_ns: int
    export: str
    growth_ns: int
    largest_graph_first: bool
    line: str
    name: str
    one_graph_pool: bool
    out_of_memory: int
    peak_active_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    peak_reserved_spread: Record
    policy: str
    prime_bytes: int
    retries: int
    stall_ns: int


class AdviceCard(Record):
    event: int
    free_bytes: int
    most_room_bytes: int
    reserved_bytes: int
    room_bytes: int
    total_bytes: int


class AdviceFinding(Record):
    command: str
    detail: str
    event: int
    figures: Record
    kind: str
    parts: List[Any]
    place: str
    run: str
    severity: str
    time_ns: Optional[int]
    title: str


class AdviceGaps(Record):
    asked_bytes: int
    count: int
    event: int
    free_bytes: int
    largest_bytes: int
    other_pools_bytes: int
    other_sizes_bytes: int
    other_streams_bytes: int
    reachable_bytes: int
    requested_bytes: int
    time_ns: int
    whole_segments_bytes: int


class AdviceHolder(Record):
    allocated_peak_bytes: int
    blocks: int
    by: str
    largest_bytes: int
    name: str
    reserved_peak_bytes: int
    stack: List[Any]


class AdviceMemory(Record):
    cached_bytes: int
    fragmentation_bytes: int
    in_use_bytes: int
    pending_free_bytes: int
    reserved_bytes: int
    rounding_bytes: int
    unused_bytes: int
    waiting_bytes: int


class AdviceOtherPolicie(Record):
    driver_ns: int
    out_of_memory: int
    peak_reserved_bytes: int
    policy: str


class AdvicePin(Record):
    block_bytes: int
    blocks: int
    born_event: int
    born_time_ns: int
    ends_event: Optional[int]
    ends_time_ns: Optional[int]
    free_bytes: int
    in_use_bytes: int
    largest_gap_bytes: int
    name: str
    segments: int
    stack: List[Any]


class AdviceRecordedRun(Record):
    out_of_memory: int
    peak_reserved_bytes: int
    placements: int
    placements_out_of_memory: int
    retries: int


class AdviceRunnerUp(Record):
    acceptable_price: bool
    conf: str
    device_calls: int
    devices: List[Any]
    driver_ns: int
    export: str
    growth_ns: int
    largest_graph_first: bool
    line: str
    name: str
    one_graph_pool: bool
    out_of_memory: int
    peak_active_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    peak_reserved_spread: Record
    policy: str
    prime_bytes: int
    retries: int
    stall_ns: int


class AdviceSteps(Record):
    allocated: Record
    fullest: Record
    reserved: Record


class Advice(Answer):
    allocator: str
    before: AdviceBefore
    best: AdviceBefore
    card: AdviceCard
    device_memory_bytes: int
    events: int
    findings: List[AdviceFinding]
    floor_bytes: int
    from_torch: bool
    gaps: AdviceGaps
    gpu: Any
    gpus: List[Any]
    has_stacks: bool
    holders: List[AdviceHolder]
    improves: bool
    interrupted: bool
    is_state: bool
    largest_steps: List[Any]
    limit_bytes: int
    limit_is_inferred: bool
    limit_source: str
    memory: AdviceMemory
    notes: List[Any]
    offline_bound_bytes: Optional[int]
    offline_lower_bytes: int
    other_policies: List[AdviceOtherPolicie]
    out_of_memory: int
    out_of_memory_cases: List[Any]
    overhead_bytes: int
    peak_requested_bytes: int
    pins: List[AdvicePin]
    provenance: Record
    recorded_out_of_memory: int
    recorded_peak_reserved_bytes: int
    recorded_run: AdviceRecordedRun
    runner_ups: List[AdviceRunnerUp]
    spread_verdict: str
    steps: AdviceSteps
    trace: str
    trace_warnings: List[Any]
    trials: int
    verdict: str
    warnings: List[Any]


class FitCandidate(Record):
    costs: Record
    costs_at_smallest: Record
    devices: List[Any]
    died_at: Any
    granted_runs: int
    no_worse_than_recorded: bool
    out_of_memory: int
    peak: Record
    peak_allocated_bytes: int
    peak_event: int
    peak_requested_bytes: int
    peak_reserved_bytes: int
    peak_reserved_spread: Record
    policy: str
    recorded: bool
    replays: int
    smallest_bytes: int
    smallest_bytes_no_worse: int
    smallest_limit_bytes: int
    smallest_limit_bytes_no_worse: int
    survives: bool


class Fit(Answer):
    begins_inside: bool
    candidates: List[FitCandidate]
    cut_off: bool
    died_at: Any
    events: int
    interrupted: bool
    largest_steps: List[Any]
    limit_bytes: Optional[int]
    limit_source: str
    memory_bytes: int
    no_worse_than_recorded: bool
    notes: List[Any]
    offline_bound_bytes: Optional[int]
    offline_lower_bytes: int
    overhead_bytes: int
    policy: str
    profile: str
    provenance: Record
    recorded_out_of_memory: int
    recorded_refusals: int
    resolution_bytes: int
    smallest_bytes: int
    smallest_bytes_no_worse: int
    smallest_limit_bytes: int
    smallest_limit_bytes_no_worse: int
    survives: bool
    trace: str
    trace_warnings: List[Any]


class BoundDevice(Record):
    device: int
    gap: float
    intervals: int
    iterations: int
    lower_bytes: int
    packed_bytes: int
    recorded_reserved_bytes: int


class Bound(Answer):
    capacity_bytes: int
    devices: List[BoundDevice]
    fits: bool
    interrupted: bool
    provenance: Record
    seed: int
    trace: str


class VerifiedDevice(Record):
    peak: Record


class VerifiedPeak(Record):
    active_bytes: int
    allocated_bytes: int
    mapped_bytes: int
    reserved_bytes: int


class Verified(Answer):
    compares: bool
    decisions: int
    devices: List[VerifiedDevice]
    events: int
    facts: List[Any]
    final_blocks: int
    first_mismatch: Any
    inferred_trims: int
    maps: int
    mismatches: int
    not_inferable: int
    notes: List[Any]
    out_of_memory: int
    peak: VerifiedPeak
    policy: str
    provenance: Record
    retries: int
    segments_created: int
    segments_released: int
    synchronizations: int
    ties: int
    trace: str
    unmaps: int
