#include "input_sizes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "report/attribute/operators/operator_search.h"

namespace peakline::report {
namespace {

constexpr std::string_view kInputOperators[] = {
    "aten::_to_copy", "aten::randint", "aten::randint.low", "aten::randn", "aten::rand"};
constexpr size_t kMostInputs = 4;

int64_t elements_of(const TensorType& type) {
    uint64_t elements = type.dtype == 0 ? 0 : 1;
    for (const uint64_t size : type.shape) {
        elements =
            size >= kMaxBlockBytes ? kMaxBlockBytes : std::min(elements * size, kMaxBlockBytes - 1);
    }
    return static_cast<int64_t>(std::min(elements, kMaxBlockBytes));
}

uint64_t product(const std::vector<uint64_t>& sizes, size_t begin, size_t end) {
    uint64_t result = 1;
    for (size_t i = begin; i < end; ++i) {
        result *= sizes[i];
    }
    return result;
}

bool is_of_integers(std::string_view dtype) {
    return dtype == "int64" || dtype == "int32";
}

// The only dimension that differs between all samples of a range; nullopt: there are several.
std::optional<size_t> varying_dimension(const Definitions& definitions,
                                        const StepInputs& inputs,
                                        size_t from,
                                        size_t to) {
    const std::vector<uint64_t>& last = definitions.tensor_type(inputs.types[to]).shape;
    std::optional<size_t> found;
    for (size_t sample = from; sample < to; ++sample) {
        const std::vector<uint64_t>& shape = definitions.tensor_type(inputs.types[sample]).shape;
        if (shape.size() != last.size()) {
            return std::nullopt;
        }
        for (size_t i = 0; i < shape.size(); ++i) {
            if (shape[i] != last[i] && found.value_or(i) != i) {
                return std::nullopt;
            }
            found = shape[i] != last[i] ? i : found;
        }
    }
    return found;
}

}  // namespace

InputRise describe_rise(const Definitions& definitions,
                        const StepInputs& inputs,
                        size_t from_sample,
                        size_t to_sample) {
    const TensorType& first = definitions.tensor_type(inputs.types[from_sample]);
    const TensorType& last = definitions.tensor_type(inputs.types[to_sample]);
    const std::optional<size_t> at = varying_dimension(definitions, inputs, from_sample, to_sample);
    InputRise rise;
    if (!at || last.shape.size() > 3) {
        rise.noun = "inputs";
        rise.unit = "element";
        rise.from_count = static_cast<uint64_t>(inputs.elements[from_sample]);
        rise.to_count = static_cast<uint64_t>(inputs.elements[to_sample]);
        return rise;
    }
    const bool is_of_rows = *at == 0 && last.shape.size() > 1;
    const bool has_tokens = is_of_integers(definitions.text(last.dtype));
    rise.noun = is_of_rows ? "inputs" : "lengths";
    rise.unit = is_of_rows ? "row" : has_tokens ? "token" : "position";
    rise.from_count = first.shape[*at];
    rise.to_count = last.shape[*at];
    rise.elements_per_unit = product(last.shape, *at + 1, last.shape.size());
    rise.batch = product(last.shape, 0, *at);
    return rise;
}

bool has_length_of(const Definitions& definitions, uint32_t type, const InputRise& rise) {
    const std::vector<uint64_t>& shape = definitions.tensor_type(type).shape;
    return std::any_of(shape.begin(), shape.end(), [&rise](uint64_t size) {
        return size == rise.to_count || size == rise.to_count * rise.batch;
    });
}

bool may_make_inputs(StackLookup& stacks, uint32_t context) {
    const std::vector<ContextPhase>& phases = stacks.phase_rules().contexts;
    const Phase phase = context < phases.size() ? phases[context].phase : Phase::kNone;
    const bool is_beside = phase == Phase::kOther || phase == Phase::kData;
    return is_beside && std::find(std::begin(kInputOperators),
                                  std::end(kInputOperators),
                                  operator_of(stacks, context)) != std::end(kInputOperators);
}

InputSampler::InputSampler(StackLookup& stacks,
                           std::vector<uint64_t> bounds,
                           size_t earlier_count,
                           std::optional<uint32_t> device)
    : stacks_(stacks),
      definitions_(stacks.definitions()),
      bounds_(std::move(bounds)),
      earlier_count_(earlier_count),
      device_(device) {
    std::map<std::vector<uint64_t>, uint32_t> numbers;
    shape_of_type_.push_back(0);
    for (const TensorType& type : definitions_.tensor_types) {
        const auto next = static_cast<uint32_t>(numbers.size() + 1);
        shape_of_type_.push_back(numbers.try_emplace(type.shape, next).first->second);
    }
    live_of_shape_.resize(numbers.size() + 1);
}

void InputSampler::restore(const Checkpoint& checkpoint) {
    for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
        if (!checkpoint.blocks[ordinal].is_deferred) {
            add(ordinal, checkpoint.blocks[ordinal].shape);
        }
    }
}

void InputSampler::add(uint64_t ordinal, const AllocationShape& shape) {
    const uint32_t type = definitions_.type_of(ordinal);
    if (is_over_ || type == 0 || !is_counted(device_, shape.device)) {
        return;
    }
    uint64_t& live = live_of_shape_[shape_of_type_[type]];
    if (role_of(shape.context) != Role::kInput) {
        ++live;
        return;
    }
    Candidate& candidate = candidates_[shape.context];
    candidate.type = type;
    ++candidate.made_count;
    candidate.copied_count += live != 0 ? 1 : 0;
}

void InputSampler::remove(uint64_t ordinal, const AllocationShape& shape) {
    const uint32_t type = definitions_.type_of(ordinal);
    if (is_over_ || type == 0 || !is_counted(device_, shape.device) ||
        role_of(shape.context) == Role::kInput) {
        return;
    }
    uint64_t& live = live_of_shape_[shape_of_type_[type]];
    live -= live != 0 ? 1 : 0;
}

InputSampler::Role InputSampler::role_of(uint32_t context) {
    roles_.resize(std::max<size_t>(roles_.size(), context + size_t{1}), Role::kUnknown);
    if (roles_[context] == Role::kUnknown) {
        roles_[context] = may_make_inputs(stacks_, context) ? Role::kInput : Role::kOther;
    }
    return roles_[context];
}

void InputSampler::end_sample() {
    for (auto& [context, candidate] : candidates_) {
        candidate.inputs.types.resize(earlier_count_ + sample_);
        candidate.inputs.types.push_back(std::exchange(candidate.type, 0));
    }
    ++sample_;
}

std::vector<StepInputs> InputSampler::finish(EventTime end) {
    before_event(end);
    std::vector<StepInputs> found;
    for (auto& [context, candidate] : candidates_) {
        StepInputs& inputs = candidate.inputs;
        inputs.context = context;
        inputs.types.resize(earlier_count_ + sample_);
        for (const uint32_t type : inputs.types) {
            inputs.elements.push_back(elements_of(definitions_.tensor_type(type)));
        }
        const std::vector<int64_t>& elements = inputs.elements;
        const bool is_known =
            elements.size() > 1 && std::count(elements.begin() + 1, elements.end(), 0) == 0;
        const bool varies =
            is_known && std::count(elements.begin() + 1, elements.end(), elements.back()) + 1 !=
                            static_cast<int64_t>(elements.size());
        if (varies && candidate.copied_count * 2 < candidate.made_count) {
            found.push_back(std::move(inputs));
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.elements.back() > b.elements.back();
    });
    found.resize(std::min(found.size(), kMostInputs));
    return found;
}

}  // namespace peakline::report
