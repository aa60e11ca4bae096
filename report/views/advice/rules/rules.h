// The rules of `advise`: one function each, which makes the rule for one run. The list in
// advice.cpp has all of them.
#pragma once

#include <memory>

#include "rule.h"

namespace peakline::report {

using MakeRule = std::unique_ptr<AdviceRule>(const RunFacts&);

MakeRule make_late_zero_grad;    // gradients that are zeroed only after the next forward pass
MakeRule make_kept_gradients;    // zero_grad(set_to_none=False)
MakeRule make_optimizer_lists;   // temporaries of foreach optimizers
MakeRule make_optimizer_state;   // state that could live elsewhere
MakeRule make_held_values;       // a variable still holds the value of the previous step
MakeRule make_kept_values;       // every step keeps more
MakeRule make_joined_values;     // a tensor that each pass appends to
MakeRule make_unused_graphs;     // graphs that no backward pass uses
MakeRule make_repeated_layers;   // activations that checkpointing would recompute
MakeRule make_whole_logits;      // the loss of all tokens at once
MakeRule make_attention_matrix;  // scores of every pair of tokens
MakeRule make_copies;            // the same values in another dtype or layout
MakeRule make_generation_cache;  // keys and values of generate()
MakeRule make_recomputed_whole;  // one checkpoint over many layers
MakeRule make_rounding;          // the allocator's rounding
MakeRule make_compiling;         // memory that compiling takes
// Lines that none of the rules above explains.
MakeRule make_large_lines;

}  // namespace peakline::report
