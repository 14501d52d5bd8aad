// The driver's codes, sorted by what they mean for the caller.
#include "backends/cuda/errors.h"

namespace tidemark {

using cuda::CUresult;

DeviceStatus to_status(CUresult code, DeviceCall call) {
    switch (code) {
        case CUresult::out_of_memory:
            return call == DeviceCall::reserve ? DeviceStatus::address_space
                                               : DeviceStatus::out_of_memory;
        case CUresult::invalid_value:
        case CUresult::invalid_device:
        case CUresult::invalid_handle:
        case CUresult::illegal_state:
        case CUresult::not_mapped:
        case CUresult::already_mapped:
        case CUresult::not_found:
        case CUresult::host_memory_already_registered:
        case CUresult::host_memory_not_registered:
            return DeviceStatus::invalid_value;
        case CUresult::not_supported:
        case CUresult::peer_access_unsupported:
            return DeviceStatus::not_supported;
        case CUresult::stream_capture_unsupported:
        case CUresult::stream_capture_invalidated:
        case CUresult::stream_capture_merge:
        case CUresult::stream_capture_unmatched:
        case CUresult::stream_capture_unjoined:
        case CUresult::stream_capture_isolation:
        case CUresult::stream_capture_implicit:
        case CUresult::captured_event:
        case CUresult::stream_capture_wrong_thread:
            return DeviceStatus::not_permitted;
        case CUresult::deinitialized:
        case CUresult::ecc_uncorrectable:
        case CUresult::nvlink_uncorrectable:
        case CUresult::contained:
        case CUresult::illegal_address:
        case CUresult::launch_timeout:
        case CUresult::context_is_destroyed:
        case CUresult::assert_failed:
        case CUresult::hardware_stack_error:
        case CUresult::illegal_instruction:
        case CUresult::misaligned_address:
        case CUresult::invalid_address_space:
        case CUresult::invalid_pc:
        case CUresult::launch_failed:
        case CUresult::tensor_memory_leak:
        case CUresult::mps_client_terminated:
            return DeviceStatus::lost;
        default:
            return DeviceStatus::fault;
    }
}

std::string_view hint_for(CUresult code) {
    switch (code) {
        case CUresult::out_of_memory:
            return "free memory, or end other processes that hold some: `nvidia-smi` lists them";
        case CUresult::illegal_address:
        case CUresult::misaligned_address:
        case CUresult::invalid_address_space:
            return "a kernel used an invalid address: compute-sanitizer finds the kernel; the "
                   "process cannot continue to use CUDA";
        case CUresult::assert_failed:
        case CUresult::hardware_stack_error:
        case CUresult::illegal_instruction:
        case CUresult::invalid_pc:
        case CUresult::launch_failed:
            return "a kernel failed: compute-sanitizer finds it; the process cannot continue to "
                   "use CUDA";
        case CUresult::launch_timeout:
            return "a kernel ran longer than the display's watchdog allows; the process cannot "
                   "continue to use CUDA";
        case CUresult::deinitialized:
            return "the driver is shutting down: the process is about to end";
        case CUresult::invalid_context:
        case CUresult::context_is_destroyed:
            return "something reset the device (cudaDeviceReset) while it was in use";
        case CUresult::ecc_uncorrectable:
        case CUresult::nvlink_uncorrectable:
        case CUresult::contained:
            return "the hardware reported an error: see `nvidia-smi -q` and the kernel's log (Xid)";
        case CUresult::stream_capture_wrong_thread:
            return "end a capture on the thread that began it";
        case CUresult::stream_capture_unsupported:
        case CUresult::stream_capture_implicit:
            return "a capture forbids this call, and the default stream cannot take part in one: "
                   "end the capture first, or use another stream";
        case CUresult::stream_capture_unjoined:
            return "let the captured stream wait for every stream that it forked to before the "
                   "capture ends";
        case CUresult::stream_capture_invalidated:
        case CUresult::stream_capture_isolation:
        case CUresult::captured_event:
            return "a call that a capture forbids was made during it: start the capture again";
        case CUresult::invalid_ptx:
        case CUresult::unsupported_ptx_version:
        case CUresult::jit_compiler_not_found:
        case CUresult::jit_compilation_disabled:
        case CUresult::no_binary_for_gpu:
            return "the driver could not compile one of our kernels: check that its PTX compiler "
                   "is installed and CUDA_DISABLE_PTX_JIT is not set";
        case CUresult::map_failed:
            return "the process may have too many mappings: see /proc/sys/vm/max_map_count";
        case CUresult::operating_system:
            return "the system refused: see the limits of open files and locked memory (ulimit)";
        case CUresult::not_supported:
            return "this device or driver lacks it: `tidemark devices` lists what is available";
        default:
            return "";
    }
}

}  // namespace tidemark
