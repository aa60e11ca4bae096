// The assumptions of preload/ about this torch, checked by the compiler. The hooks know torch by
// its exported names alone, which state parameters, but neither results nor how classes are passed.
// Nothing here is called.
#include <type_traits>
#include <vector>

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/autograd/engine.h>

namespace peakline::torch_part {
namespace {

// Small plain classes travel in registers, and so do the types that a hook declares instead.
template <class T>
inline constexpr bool kTravelsInRegisters =
    std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && sizeof(T) <= 16;

template <class Function, class Signature>
inline constexpr bool kIs = std::is_same_v<Function, Signature*>;

// torch_hooks.cpp: the type of the device in the low byte, its index in the high one.
static_assert(kTravelsInRegisters<c10::Device> && sizeof(c10::Device) == 2);
static_assert(sizeof(c10::DeviceType) == 1 && static_cast<int>(c10::DeviceType::CUDA) == 1);
static_assert(std::is_same_v<c10::DeviceIndex, int8_t>);
static_assert(kIs<decltype(&c10::reportMemoryUsageToProfiler),
                  void(void*, int64_t, size_t, size_t, c10::Device)>);
static_assert(kIs<decltype(&at::sequence_number::get_and_increment), uint64_t()>);
static_assert(kIs<decltype(&at::RecordFunction::currentThreadId), uint64_t()>);

// stream_hook.cpp: device and id of the stream, a word each.
static_assert(kTravelsInRegisters<c10::cuda::CUDAStream> && sizeof(c10::cuda::CUDAStream) == 16);
static_assert(sizeof(c10::Stream) == 16 && sizeof(c10::StreamId) == 8);
static_assert(kIs<decltype(&c10::cuda::setCurrentCUDAStream), void(c10::cuda::CUDAStream)>);

// segment_hooks.cpp; bootstrap.cpp reads the lowest byte of its count.
static_assert(kIs<decltype(&c10::cuda::current_device), c10::DeviceIndex()>);
static_assert(kIs<decltype(&c10::cuda::device_count_ensure_non_zero), c10::DeviceIndex()>);

// engine_hook.cpp. A vector is returned through a hidden pointer, the first argument. The other
// function there, Engine::evaluate_function, is private: only its mangled name shows its
// parameters.
using torch::autograd::edge_list;
using torch::autograd::Engine;
using torch::autograd::variable_list;
static_assert(std::is_same_v<variable_list, std::vector<at::Tensor>> &&
              !kTravelsInRegisters<variable_list>);
static_assert(std::is_same_v<
              decltype(&Engine::execute),
              variable_list (Engine::*)(
                  const edge_list&, const variable_list&, bool, bool, bool, const edge_list&)>);

}  // namespace
}  // namespace peakline::torch_part
