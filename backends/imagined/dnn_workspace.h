// Corrections of the workspaces that cuDNN's plans report for a GPU that doesn't exist.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::imagined {

// The workspace of a plan of one convolution on the GPU, for which cuDNN without a device reports
// `bytes`. `plan` is its JSON (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION). `clusters` is how
// many clusters of 1, 2, ... 8 multiprocessors run at once on the GPU, which only its driver knows.
// If it is empty, or the plan isn't understood, or the rules below don't give `bytes` for the GPU
// that cuDNN assumes, the answer is `bytes`.
//
// - Hopper's engines 62, 65, 67, 68 and 71 compute tiles of the output, a cluster of
//   multiprocessors at a time. Tensors that aren't channels-last have a copy in the workspace. A
//   GPU that computes W tiles at once computes T of them in rounds; where the engine may, it
//   splits each of the T mod W of the last round among P multiprocessors, which add up their parts:
//   P parts of a tile in float32, and a counter for each pair that is added. Above two rounds there
//   is a counter of tiles too. cuDNN without a device assumes the 18 multiprocessors of one group.
//   P has the fewest steps of the inner loop, where each level of adding costs some (kLevels).
// - Engines 58 and 63 are cuBLASLt's, and need descriptors of two or three matrices if there are
//   many tiles. How many is a fit: right for 84 % of 1,717.
//
// From 8,343 plans of 34 networks on an H100, 1,327 of them of the engines that share tiles: of
// these 355 were right without these rules, and 1,158 are with them. P is a fit. Convolutions with
// groups or with other than two dimensions weren't understood: only their counter is corrected.
std::int64_t workspace_on_card(const std::string& plan, std::int64_t bytes,
                               const std::vector<int>& clusters);

}  // namespace tidemark::imagined
