#include "tagger_model.hpp"

using namespace trellis;

namespace {

FrozenStrings strings_from(const StringArrays& arrays) {
  const auto& [data, starts, slots] = arrays;
  FrozenStrings strings{data, starts, slots};
  require(strings.valid(), "invalid table of strings");
  strings.shorten_searches();
  return strings;
}

// With the transitions forbidden by the model itself.
std::shared_ptr<const FilterLevels> levels_from(const LevelArrays& arrays, const LabelWeights& labels) {
  const auto& [edge, ngrams, margins] = arrays;
  const std::size_t L = labels.n_labels, stride = labels.stride;
  require(ngrams->ngrams.n_labels() == L && edge.shape(0) == L + 1 && edge.shape(1) == stride && margins.size() > 0,
          "the filter levels belong to other labels");
  require(are_scores(edge.data(), L + 1, L, stride), "levels: scores must be finite or minus infinity");
  for (double margin : margins) require(margin >= 0, "a filter must keep at least one label");
  auto levels = std::make_shared<FilterLevels>(L, ngrams->ngrams.order());
  levels->ngrams = ngrams->ngrams;
  levels->scores = ngrams->double_scores;
  for (std::size_t i = 0; i < edge.size(); ++i)
    levels->edge[i] = std::isinf(labels.edge[i]) ? kForbidden<double> : static_cast<double>(edge.data()[i]);
  for (std::size_t z = 0; labels.end && z < stride; ++z)
    levels->end.push_back(std::isinf(labels.end[z]) ? kForbidden<double> : 0);
  return levels;
}

ColumnModel column_from(const ColumnArrays& arrays, std::int32_t first_id, std::size_t n_sets) {
  const auto& [values, view_ids, views, set_of, calls, vectors] = arrays;
  ColumnModel column;
  column.values = strings_from(values);
  column.view_ids = view_ids.data();
  column.first_id = first_id;
  for (const auto& view : views) column.views.push_back(view ? strings_from(*view) : FrozenStrings{});
  require(vectors.size() == views.size(), "vectors do not match their views");
  for (std::size_t j = 0; j < views.size(); ++j) {
    column.vectors.push_back(vectors[j] ? WordVectors{vectors[j]->data(), vectors[j]->shape(1)} : WordVectors{});
    require(!vectors[j] || (views[j] && vectors[j]->shape(0) == column.views[j].size() && vectors[j]->shape(1) > 0),
            "the vectors belong to other words");
  }
  require(view_ids.shape(0) == column.values.size() && view_ids.shape(1) == views.size(),
          "view ids do not match their column");
  std::vector<std::uint32_t> n_strings;  // [n_views]
  for (std::size_t j = 0; j < views.size(); ++j)
    n_strings.push_back(static_cast<std::uint32_t>(views[j] ? column.views[j].size() : column.values.size()));
  require(view_ids_fit(view_ids, n_strings, static_cast<std::uint32_t>(first_id)),
          "view id out of range");
  if (set_of) {
    require(set_of->size() == column.values.size(), "label sets do not match their column");
    check_numbers(*set_of, n_sets, "label set out of range");
    column.set_of = set_of->data();
  }
  column.native = calls.size() == views.size();
  for (const auto& view : calls) column.native = column.native && view && column.tree.add(*view);
  return column;
}

void add_filter(TaggerModel& model, const FilterArrays& filter, const Weights& weights) {
  const auto& [rows, margin, most, levels] = filter;
  require(rows.starts.size() == weights.n_attributes + 1, "the filter belongs to other attributes");
  require(margin >= 0 && most > 0, "a filter must keep at least one label");
  model.filter = rows_from(rows, weights.n_labels());
  model.rule = {margin, most};
  if (!levels) return;
  model.levels = levels_from(*levels, weights.core.labels);
  model.margins.assign(levels->margins.begin(), levels->margins.end());
}

}  // namespace

TaggerModel Features::model(const Weights& weights, const std::optional<FilterArrays>& filter) const {
  TaggerModel model;
  static_cast<LinearChain&>(model) = weights.core;
  model.n_attributes = weights.n_attributes;
  model.local = weights.local.value_or(false);
  add_templates(model, weights);
  const std::size_t n_sets = add_sets(model, weights.n_labels());
  for (const auto& column : columns) model.columns.push_back(column_from(column, 2 * model.plan.reach, n_sets));
  check_looks(model);
  add_matchers(model);
  if (bag) add_bag(model, weights);
  if (filter) add_filter(model, *filter, weights);
  return model;
}

void Features::add_templates(TaggerModel& model, const Weights& weights) const {
  model.plan = plan_from(plan);
  model.n_emission = n_emission, model.n_pair = n_pair, model.n_far = n_far;
  const std::size_t n_templates = model.plan.templates.size();
  require(n_emission <= n_templates && n_pair <= n_templates - n_emission && n_far <= n_templates - n_emission - n_pair,
          "more label templates than templates");
  const bool has_runs = n_emission + n_pair + n_far < n_templates;
  require(has_runs ? weights.ngrams && !model.local : !weights.has_runs, "templates and rows have different label n-grams");
  require(tables.starts.size() == static_cast<std::size_t>(model.plan.n_tables) + 1, "tables have inconsistent sizes");
  std::vector<std::int64_t> limits(model.plan.n_tables, std::numeric_limits<std::int32_t>::max());
  for (std::size_t k = 0; k < n_templates; ++k) {
    std::int64_t& limit = limits[model.plan.templates[k].table];
    limit = std::min<std::int64_t>(limit, k < n_emission ? weights.n_attributes : weights.n_edge_attributes);
  }
  model.vocabulary = {tables_from(tables, model.plan.n_tables, limits), tables_from(folds, model.plan.n_folds)};
}

// The tag dictionary and the endings for unknown words; returns the number of its sets.
std::size_t Features::add_sets(TaggerModel& model, std::size_t n_labels) const {
  std::size_t n_sets = 0;
  if (dictionary) {
    const auto& [starts, labels] = *dictionary;
    check_sets(starts, labels, n_labels);
    n_sets = starts.size() - 1;
    require(!columns.empty() && n_sets > 0, "invalid label sets");
    model.sets = {nullptr, starts.data(), labels.data()};
    model.open_set = 0;
  }
  if (endings) {
    model.endings = strings_from(endings->strings);
    require(endings->set_of.size() == model.endings.size(), "label sets do not match their suffixes");
    check_numbers(endings->set_of, n_sets, "suffix without a label set");
    model.ending_sets = endings->set_of.data();
  }
  return n_sets;
}

// Checks that templates refer to existing views, and to vectors alone.
void Features::check_looks(const TaggerModel& model) const {
  for (const auto& [column, view] : model.plan.slots)
    require(column >= 0 && static_cast<std::size_t>(column) < model.columns.size() && view >= 0 &&
                static_cast<std::size_t>(view) < model.columns[column].views.size(),
            "atom without a view");
  for (std::size_t k = 0; k < model.plan.templates.size(); ++k) {
    const Template& shape = model.plan.templates[k];
    for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a) {
      const auto [column, view] = model.plan.view_of(model.plan.atoms[a]);
      require(!model.columns[column].vectors[view].numbers || (k < n_emission && shape.last_atom == shape.first_atom + 1),
              "a word vector cannot be combined with other conditions");
    }
  }
}

void Features::add_bag(TaggerModel& model, const Weights& weights) const {
  const auto& [strings, file, attributes, pairs] = *bag;
  require(strings || file, "attributes without strings");
  if (strings) model.bag = strings_from(*strings);
  else model.bag.file = &file->core.attributes;
  const std::size_t n = strings ? model.bag.size() : model.bag.file->size();
  require(attributes.size() == n && (!pairs || pairs->size() == n),
          "attributes do not match their strings");
  check_numbers(attributes, weights.n_attributes, "attribute out of range", -1);
  model.bag_attributes = attributes.data();
  if (!pairs) return;
  check_numbers(*pairs, weights.n_edge_attributes, "attribute of label pairs out of range", -1);
  model.bag_pairs = pairs->data();
}

void Features::add_matchers(TaggerModel& model) const {
  require(derived.size() <= model.columns.size(), "more derived columns than columns");
  const std::size_t n_read = model.columns.size() - derived.size();
  for (const auto& [dictionary, column, view] : matchers) {
    require(dictionary && column >= 0 && static_cast<std::size_t>(column) < n_read && view >= 0 &&
                static_cast<std::size_t>(view) < model.columns[column].views.size() &&
                dictionary->core->n_symbols() == model.columns[column].views[view].size(),
            "the dictionary belongs to another column");
    model.matchers.push_back({dictionary->core, column, view});
  }
  for (std::size_t i = 0; i < derived.size(); ++i) {
    const auto [matcher, where] = derived[i];
    require(matcher >= 0 && static_cast<std::size_t>(matcher) < matchers.size() && where >= 0 &&
                static_cast<std::size_t>(where) < Dictionary::kWhere,
            "derived column out of range");
    const FrozenStrings& values = model.columns[n_read + i].values;
    require(values.size() == Dictionary::kValues, "a derived column has unexpected values");
    for (std::int32_t value = 0; value < static_cast<std::int32_t>(values.size()); ++value)
      require(values.lookup(values.at(value)) == value, "a derived column has a duplicate value");
    model.derived.push_back({matcher, where});
  }
}
