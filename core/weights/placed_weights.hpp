// Weights of attributes of placed sites (text/places.hpp), a table of keys per template: in training, where weights come into
// being when they are first touched, and as a model has them.
//
// A template has one column of weights (of the site) or one per label of the site. A weight is named by its template and by
// attribute · columns + column.
#pragma once
#include <array>
#include <stdexcept>

#include "text/places.hpp"
#include "weights/growing_rows.hpp"

namespace trellis {

class GrowingPlaces : public GrowingTables {
 public:
  GrowingPlaces(const Plan& plan, std::vector<std::uint32_t> columns, bool variances) : GrowingTables(plan), columns_(std::move(columns)) {
    for (std::size_t t = 0; t < tables_.size(); ++t) values_.emplace_back(0, variances);
  }

  // What Steps asks for.
  LearntWeight find(std::uint32_t row, std::uint32_t place) { return values_[row].at(place); }
  LearntWeight make(std::uint32_t row, std::uint32_t place) { return values_[row].at(place); }

  // The attribute of a key, made if there is none: its weights begin as zero.
  std::uint32_t make_attribute(std::size_t t, std::uint64_t key) {
    const auto id = static_cast<std::uint32_t>(tables_[t].find_or_add(key));
    if (const std::size_t n = static_cast<std::size_t>(tables_[t].size()) * columns_[t]; n > values_[t].weights.size()) {
      if (n >= 0xffffffff) throw std::length_error("more weights of a template than 2^32; use fewer templates or labels");
      values_[t].resize(n);
    }
    return id;
  }

  // What scores ask for beside the number of a fold: where an attribute's weights begin, null where it has none.
  void prefetch(std::size_t t, std::uint64_t key) const { tables_[t].prefetch(key); }
  const float* row(std::size_t t, std::uint64_t key) const {
    const std::int32_t id = tables_[t].find(key);
    return id < 0 ? nullptr : values_[t].weights.data() + static_cast<std::size_t>(id) * columns_[t];
  }

  std::span<const std::uint32_t> columns() const { return columns_; }
  const std::vector<LearntTable>& values() const { return values_; }
  std::vector<LearntTable>& values() { return values_; }

 private:
  std::vector<std::uint32_t> columns_;  // [n_templates]
  std::vector<LearntTable> values_;     // [n_templates] of [attributes, columns]
};

// out[site] += what is found for a look-up, for all that are asked for; they are forgotten. Tables are too large to lie near:
// of some look-ups at a time first where the weights are, find(one) or null, so that they are on their way, then what they are.
template <class Asked, class Find>
void answer(std::vector<Asked>& asked, std::vector<double>& out, Find find) {
  constexpr std::size_t kAtOnce = 32;
  std::array<decltype(find(asked[0])), kAtOnce> found;
  for (std::size_t first = 0; first < asked.size(); first += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, asked.size() - first);
    for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(found[i] = find(asked[first + i]));
    for (std::size_t i = 0; i < n; ++i)
      if (found[i]) out[asked[first + i].site] += *found[i];
  }
  asked.clear();
}

// As a model has them: attribute i of template t has values[first[t] + i · columns[t] ...].
struct FrozenPlaces : FrozenVocabulary {
  std::vector<std::uint32_t> columns;  // [n_templates]
  std::vector<std::size_t> first;      // [n_templates]
  const float* values = nullptr;

  void prefetch(std::size_t t, std::uint64_t key) const { tables[t].prefetch(key); }
  const float* row(std::size_t t, std::uint64_t key) const {
    const std::int32_t id = tables[t].find(key);
    return id < 0 ? nullptr : values + first[t] + static_cast<std::size_t>(id) * columns[t];
  }
};

}  // namespace trellis
