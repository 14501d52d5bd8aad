// What cuDNN's plans for a card that isn't there say wrongly of their workspaces.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark::imagined {

// The workspace of a plan of one convolution on the card, where cuDNN without a device says
// `bytes`. `plan` is its JSON (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION); of a plan that isn't
// understood it is `bytes`. Two things are asked of a driver that isn't there, and are told from
// the shapes here:
//   - Hopper's engines that share the last tiles among the multiprocessors (62, 65, 67, 68, 71)
//   want a
//     counter, 131 bytes with its alignment, where there are more tiles than multiprocessors.
//     Gradients of filters had none in any of the plans that cuDNN without a device gave one.
//   - The engines that are cuBLASLt's (58, 63) want descriptors of two or three matrices where
//   there
//     are more tiles than multiprocessors.
// From 444 plans of random convolutions on an H100 (362 right without, 407 with), and held against
// 42 others (31 and 36). Memory for partial tiles isn't known: what is left differs by it.
std::int64_t workspace_on_card(const std::string& plan, std::int64_t bytes, int multiprocessors);

// May `bytes` be wrong, so that it is worth to ask for the plan's JSON?
bool may_differ_on_card(std::int64_t bytes);

}  // namespace tidemark::imagined
