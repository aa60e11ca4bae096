#include "plan_report.h"

#include <cstdlib>

#include "report/render/format/device_json.h"
#include "report/render/format/format_bytes.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "report/views/advice/rules/attempts.h"

namespace peakline::report {
namespace {

// "h.4" follows "h.3".
bool follows(const std::string& before, const std::string& layer) {
    const size_t dot = layer.rfind('.');
    return dot != std::string::npos && before.compare(0, dot + 1, layer, 0, dot + 1) == 0 &&
           std::atoi(before.c_str() + dot + 1) + 1 == std::atoi(layer.c_str() + dot + 1);
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ",") + word;
    }
    return text;
}

std::optional<double> share_of(const Plan& plan, uint64_t cost) {
    const bool is_known = plan.step_cost.has_value() && *plan.step_cost != 0;
    return is_known
               ? std::optional(static_cast<double>(cost) / static_cast<double>(*plan.step_cost))
               : std::nullopt;
}

std::string cost_text(const Plan& plan, uint64_t cost) {
    if (const auto share = share_of(plan, cost)) {
        return (plan.is_step_measured ? "" : "about ") + words_of(share_cell(*share)) +
               " of the step's FLOPs";
    }
    return plan.cost_unit == PlanCost::kBytes
               ? "layers that make " + format_bytes(cost) + " (FLOPs are not known)"
               : words_of(count_cell(cost)) + " FLOPs";
}

uint64_t in_blocks(const Plan& plan, uint64_t requested) {
    return requested + plan.rounding_bytes;
}

// Without a budget the layers are given.
std::string head_of(const PlanReport& report) {
    const Plan& plan = report.plan;
    const uint64_t budget = report.text.budget_bytes;
    return (plan.is_cut_off ? "Peak so far: " : "Peak now: ") +
           format_bytes(in_blocks(plan, plan.baseline_bytes)) +
           (budget != 0 ? ". Budget: " + format_bytes(budget) : "") +
           (report.text.budget_of == "device" ? " (the device, less what others take)" : "");
}

std::string prediction_of(const Plan& plan) {
    const std::string bytes = format_bytes(in_blocks(plan, plan.found.peak_bytes));
    return plan.found.layers.empty() && plan.free_changes.empty() ? "Peak: " + bytes
           : plan.is_composed ? "Peak then: about " + bytes + ", from two recorded runs"
                              : "Peak then: about " + bytes + ", from one recording";
}

std::string proof_of(const Plan& plan) {
    const std::string nodes = "search nodes: " + words_of(count_cell(plan.proof.nodes));
    if (!plan.proof.is_proved) {
        return "The search ended early (" + nodes + "): a cheaper set may exist.";
    }
    return "No cheaper set of whole layers fits in this model (" + nodes + ").";
}

void say_plan(Document& document, const Plan& plan) {
    for (const FreeChange& one : plan.free_changes) {
        document.say("Without a cost: " + one.change + ".");
    }
    if (!plan.found.layers.empty()) {
        document.say("Checkpoint " + std::to_string(plan.found.layers.size()) + " of " +
                     std::to_string(plan.layers.size()) +
                     " layers: " + layer_ranges(plan.found.layers));
        document.say("Cost: recomputes " + cost_text(plan, plan.found.cost));
    }
    document.say(prediction_of(plan));
}

void say_rest(Document& document, const Plan& plan) {
    document.show_empty_line();
    document.say("The rest at that peak:");
    DocumentTable table(
        document, nullptr, {{nullptr, "Held"}, {nullptr, "Category", Align::kLeft}}, 2);
    for (const PlanHolder& one : plan.rest) {
        table.add({bytes_cell(one.bytes), cell(one.category)});
    }
}

// "+11.9 %"
std::string added_cost(const Plan& plan, uint64_t cost) {
    const auto share = share_of(plan, cost);
    return share                                ? "+" + words_of(share_cell(*share))
           : plan.cost_unit == PlanCost::kBytes ? "+" + format_bytes(cost)
                                                : "+" + words_of(count_cell(cost));
}

void show_frontier(Document& document, const Plan& plan) {
    document.show_empty_line();
    DocumentTable table(document,
                        nullptr,
                        {{nullptr, "Peak"},
                         {nullptr, plan.cost_unit == PlanCost::kFlops ? "FLOPs" : "Made again"},
                         {nullptr, "Layers"},
                         {nullptr, "Checkpointed", Align::kWrapped}});
    for (const PlanPoint& point : plan.frontier) {
        table.add({bytes_cell(in_blocks(plan, point.peak_bytes)),
                   cell(added_cost(plan, point.cost)),
                   count_cell(point.layers.size()),
                   cell(layer_ranges(point.layers))});
    }
}

std::string edited_peak(const Plan& plan, const PlanEdit& edit) {
    const std::string most = format_bytes(in_blocks(plan, edit.peak_bytes));
    const std::string least = format_bytes(in_blocks(plan, edit.least_bytes));
    return least == most ? most : least + " to " + most;
}

void show_edits(Document& document, const Plan& plan) {
    if (plan.edits.empty()) {
        return;
    }
    document.show_empty_line();
    document.say("With an edit of the program, and the layers that it still needs at most:");
    DocumentTable table(document,
                        nullptr,
                        {{nullptr, "Edit alone"},
                         {nullptr, "Layers"},
                         {nullptr, plan.cost_unit == PlanCost::kFlops ? "FLOPs" : "Made again"},
                         {nullptr, "Edit", Align::kLeft}});
    for (const PlanEdit& edit : plan.edits) {
        table.add({cell(edited_peak(plan, edit)),
                   edit.found ? count_cell(edit.found->layers.size()) : cell("does not fit"),
                   cell(edit.found ? added_cost(plan, edit.found->cost) : "-"),
                   cell(edit.name)});
    }
}

void say_for_people(Document& document, const PlanReport& report) {
    const Plan& plan = report.plan;
    document.say_lines(head_text(report.reader));
    document.say(head_of(report));
    if (!plan.refusal.empty() && !plan.fits_as_it_is) {
        document.say("No plan: " + plan.refusal, Tone::kWarning);
        return;
    }
    for (const std::string& sentence : plan.left_out) {
        document.say(sentence);
    }
    if (plan.fits_as_it_is) {
        document.say("It fits as it is.", Tone::kAnswer);
        return;
    }
    document.show_empty_line();
    const bool is_search = report.text.layers.empty();
    if (is_search && !plan.is_feasible) {
        document.say("No set of layers fits: the lowest peak is " +
                         format_bytes(in_blocks(plan, plan.found.peak_bytes)) + ".",
                     Tone::kAnswer);
    }
    say_plan(document, plan);
    if (is_search && plan.is_feasible) {
        document.say(proof_of(plan));
    }
    say_rest(document, plan);
    if (is_search) {
        show_edits(document, plan);
        show_frontier(document, plan);
    }
}

void put_point(JsonWriter& json, const Plan& plan, const PlanPoint& point) {
    json.begin_object().field(
        "cost_flops",
        plan.cost_unit == PlanCost::kFlops ? std::optional(point.cost) : std::nullopt);
    json.field("cost_share", share_of(plan, point.cost)).field("peak_bytes", point.peak_bytes);
    json.key("layers").begin_array();
    for (const std::string& layer : point.layers) {
        json.value(layer);
    }
    json.end_array().end_object();
}

void put_point_or_null(JsonWriter& json, const Plan& plan, const std::optional<PlanPoint>& point) {
    if (point.has_value()) {
        put_point(json, plan, *point);
    } else {
        json.null();
    }
}

void put_changes(JsonWriter& json, const Plan& plan) {
    json.key("plan").begin_array();
    for (const FreeChange& one : plan.free_changes) {
        json.begin_object().field("change", one.attempt).key("layers").begin_array().end_array();
        json.field("cost_flops", uint64_t{0}).field("cost_share", 0.0).end_object();
    }
    if (!plan.found.layers.empty()) {
        json.begin_object().field(
            "change", std::string(attempts::kCheckpoint) + "=" + joined(plan.found.layers));
        json.key("layers").begin_array();
        for (const std::string& layer : plan.found.layers) {
            json.value(layer);
        }
        json.end_array();
        json.field(
            "cost_flops",
            plan.cost_unit == PlanCost::kFlops ? std::optional(plan.found.cost) : std::nullopt);
        json.field("cost_share", share_of(plan, plan.found.cost)).end_object();
    }
    json.end_array();
}

void put_proof(JsonWriter& json, const Plan& plan) {
    json.key("proof").begin_object();
    json.field("optimal", plan.is_feasible && plan.proof.is_proved);
    json.field("nodes", plan.proof.nodes).field("bound_cost", plan.proof.bound_cost);
    json.key("next_cheaper");
    put_point_or_null(json, plan, plan.cheaper);
    json.end_object();
}

void put_for_programs(JsonWriter& json, const PlanReport& report) {
    const Plan& plan = report.plan;
    json.field("schema_version", 1).field("file", report.reader.name());
    put_device(json, plan.device.device, scope_of(false));
    json.field("budget_bytes", report.text.budget_bytes).field("budget_of", report.text.budget_of);
    json.text_or_null("refusal", plan.refusal);
    json.field("feasible", plan.is_feasible).field("fits_as_it_is", plan.fits_as_it_is);
    json.field("baseline_bytes", plan.baseline_bytes);
    json.field("rounding_bytes", plan.rounding_bytes);
    json.field("lowest_bytes",
               plan.frontier.empty() ? std::optional<uint64_t>()
                                     : std::optional(plan.frontier.back().peak_bytes));
    put_changes(json, plan);
    json.key("predicted").begin_object().field("requested_bytes", plan.found.peak_bytes);
    json.field("is_exact", plan.fits_as_it_is);
    // An input that the recording cannot see makes a prediction too low.
    json.field("is_upper_bound", plan.fits_as_it_is).end_object();
    json.field("recordings", uint64_t{plan.is_composed ? 2U : 1U});
    json.field("step_flops", plan.step_cost);
    put_proof(json, plan);
    json.key("all_layers").begin_array();
    for (const std::string& layer : plan.layers) {
        json.value(layer);
    }
    json.end_array().key("left_out").begin_array();
    for (const std::string& sentence : plan.left_out) {
        json.value(sentence);
    }
    json.end_array().key("rest").begin_array();
    for (const PlanHolder& one : plan.rest) {
        json.begin_object().field("category", one.category).field("bytes", one.bytes).end_object();
    }
    json.end_array().key("edits").begin_array();
    for (const PlanEdit& edit : plan.edits) {
        json.begin_object().field("rule", edit.rule).field("name", edit.name);
        json.field("change", edit.change);
        json.field("peak_bytes", edit.peak_bytes).field("least_bytes", edit.least_bytes);
        json.key("found");
        put_point_or_null(json, plan, edit.found);
        json.end_object();
    }
    json.end_array().key("frontier").begin_array();
    for (const PlanPoint& point : plan.frontier) {
        put_point(json, plan, point);
    }
    json.end_array().key("run").null();
}

}  // namespace

std::string layer_ranges(const std::vector<std::string>& layers) {
    std::string text;
    for (size_t first = 0; first < layers.size();) {
        size_t last = first;
        while (last + 1 < layers.size() && follows(layers[last], layers[last + 1])) {
            ++last;
        }
        text += (text.empty() ? "" : ", ") + layers[first];
        text += last == first       ? ""
                : last == first + 1 ? ", " + layers[last]
                                    : " to " + layers[last];
        first = last + 1;
    }
    return text;
}

void put_plan(Document& document, const PlanReport& report) {
    put_for_programs(document.fields(), report);
    say_for_people(document, report);
    put_coverage_and_health(document, report.reader, report.plan.health);
}

}  // namespace peakline::report
