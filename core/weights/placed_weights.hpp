// Weights of attributes of placed sites (text/places.hpp), a table of keys per template: growing in training, or frozen
// in a model.
//
// A template has one column of weights (of the site) or one per label of the site. A weight is identified by its template and by
// attribute · columns + column.
#pragma once
#include <stdexcept>

#include "text/places.hpp"
#include "weights/growing_rows.hpp"

namespace trellis {

struct GrowingPlaces : GrowingVocabulary {
  std::vector<std::uint32_t> columns;  // [n_templates]
  std::vector<LearntTable> values;     // [n_templates] of [attributes, columns]

  GrowingPlaces(const Plan& plan, std::vector<std::uint32_t> columns_, bool variances)
      : GrowingVocabulary(empty_vocabulary(plan)), columns(std::move(columns_)),
        values(tables.size(), LearntTable(0, variances)) {}

  // Interface of Steps.
  LearntWeight find(std::uint32_t row, std::uint32_t place) { return values[row].at(place); }
  LearntWeight make(std::uint32_t row, std::uint32_t place) { return values[row].at(place); }

  // The attribute of a key, created with zero weights if missing.
  std::uint32_t make_attribute(std::size_t t, std::uint64_t key) {
    const auto id = static_cast<std::uint32_t>(tables[t].find_or_add(key));
    if (const std::size_t n = static_cast<std::size_t>(tables[t].size()) * columns[t]; n > values[t].weights.size()) {
      if (n >= 0xffffffff) throw std::length_error("a template has more than 2^32 weights; use fewer templates or labels");
      values[t].resize(n);
    }
    return id;
  }

  // Interface for scoring, with the number of a fold: the location of an attribute's weights, null if it has none.
  void prefetch(std::size_t t, std::uint64_t key) const { tables[t].prefetch(key); }
  const float* row(std::size_t t, std::uint64_t key) const {
    const std::int32_t id = tables[t].find(key);
    return id < 0 ? nullptr : values[t].weights.data() + static_cast<std::size_t>(id) * columns[t];
  }
};

// Weights in one vector, of a model or of a batch learner: attribute i of template t has
// values[first[t] + i · columns[t] ...].
template <class Keys, class Real>
struct FixedPlaces {
  Keys keys;                           // a vocabulary, or a reference to one
  std::vector<std::uint32_t> columns;  // [n_templates]
  std::vector<std::size_t> first;      // [n_templates]
  const Real* values = nullptr;

  auto known_folds() const { return keys.known_folds(); }
  void prefetch(std::size_t t, std::uint64_t key) const { keys.tables[t].prefetch(key); }
  const Real* row(std::size_t t, std::uint64_t key) const {
    const std::int32_t id = keys.tables[t].find(key);
    return id < 0 ? nullptr : values + first[t] + static_cast<std::size_t>(id) * columns[t];
  }
};
using FrozenPlaces = FixedPlaces<FrozenVocabulary, float>;

}  // namespace trellis
