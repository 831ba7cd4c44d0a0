// Labels with parts: NOUN|Number=Sing shares NOUN with some labels and Number=Sing with others. Rows of weights then have
// a column per label and, after those, one per part:
//
//   emit[z] = row[z] + sum over parts p of z of row[p]
//
// Gradients are mapped by the transpose:  residual[p] = sum over labels z with part p of residual[z].
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "engine/simd.hpp"

namespace trellis {

class LabelParts {
 public:
  LabelParts() = default;
  // Label z has the ascending columns columns[starts[z] .. starts[z + 1]).
  LabelParts(std::span<const std::int64_t> starts, std::span<const std::int32_t> columns)
      : n_labels_(starts.size() - 1), n_columns_(n_labels_), starts_(starts.begin(), starts.end()),
        columns_(columns.begin(), columns.end()) {
    for (std::uint32_t column : columns_) n_columns_ = std::max<std::size_t>(n_columns_, column + 1);
    for (std::size_t n_parts = 1; links_.size() < columns_.size(); ++n_parts) {
      groups_.push_back({n_parts, {}});
      for (std::size_t z = 0; z < n_labels_; ++z)
        if (of(z).size() == n_parts) {
          groups_.back().labels.push_back(static_cast<std::uint32_t>(z));
          links_.insert(links_.end(), of(z).begin(), of(z).end());
        }
    }
  }

  bool any() const { return !starts_.empty(); }
  std::size_t stride() const { return padded(n_columns_); }
  // The number of columns of rows, of labels with or without parts.
  std::size_t width(std::size_t labels) const { return any() ? n_columns_ : labels; }
  // NULL has no parts.
  std::span<const std::uint32_t> of(std::size_t z) const {
    if (z == n_labels_) return {};
    return {columns_.data() + starts_[z], columns_.data() + starts_[z + 1]};
  }

  // Rows over all columns, [n, stride()], become rows over labels, [n, padded(n_labels)], in place.
  template <class Real>
  void fold(std::size_t n, Real* rows) const {
    for (std::size_t t = 0; any() && t < n; ++t) {
      const Real* from = rows + t * stride();
      Real* to = rows + t * padded(n_labels_);  // never beyond `from`
      std::memmove(to, from, n_labels_ * sizeof(Real));
      each_label([&](std::uint32_t z, std::span<const std::uint32_t> parts) {
        Real sum = to[z];
        for (std::uint32_t p : parts) sum += from[p];
        to[z] = sum;
      });
      std::fill(to + n_labels_, to + padded(n_labels_), Real(0));
    }
  }

  // The same for some labels of each row, labels_at(t), which ascend; entries of other labels are undefined.
  template <class Real, class LabelsAt>
  void fold_listed(std::size_t n, Real* rows, LabelsAt labels_at) const {
    for (std::size_t t = 0; any() && t < n; ++t) {
      const Real* from = rows + t * stride();
      Real* to = rows + t * padded(n_labels_);
      for (const std::int32_t z : labels_at(t)) {
        Real sum = from[z];
        for (std::uint32_t p : of(static_cast<std::size_t>(z))) sum += from[p];
        to[z] = sum;
      }
    }
  }

  // The columns of ascending labels: the labels themselves, then their parts; stored in `scratch`.
  std::span<const std::int32_t> columns_of(std::span<const std::int32_t> labels, std::vector<std::int32_t>& scratch) const {
    if (!any()) return labels;
    scratch.assign(labels.begin(), labels.end());
    for (const std::int32_t z : labels) {
      const auto parts = of(static_cast<std::size_t>(z));
      scratch.insert(scratch.end(), parts.begin(), parts.end());
    }
    const auto first = scratch.begin() + static_cast<std::ptrdiff_t>(labels.size());
    std::sort(first, scratch.end());
    scratch.erase(std::unique(first, scratch.end()), scratch.end());
    return scratch;
  }

  // The transpose: rows over labels become rows over all columns.
  template <class Real>
  void spread(std::size_t n, Real* rows) const {
    for (std::size_t t = any() ? n : 0; t-- > 0;) {
      const Real* from = rows + t * padded(n_labels_);
      Real* to = rows + t * stride();
      std::memmove(to, from, n_labels_ * sizeof(Real));
      std::fill(to + n_labels_, to + stride(), Real(0));
      each_label([&](std::uint32_t z, std::span<const std::uint32_t> parts) {
        for (std::uint32_t p : parts) to[p] += to[z];
      });
    }
  }

 private:
  // Labels with the same number of parts are grouped: loops with the same trip count are predicted
  // well.
  template <class Visit>
  TRELLIS_INLINE void each_label(Visit visit) const {
    const std::uint32_t* link = links_.data();
    for (const Group& group : groups_)
      for (std::uint32_t z : group.labels) visit(z, std::span(link, group.n_parts)), link += group.n_parts;
  }
  struct Group {
    std::size_t n_parts;
    std::vector<std::uint32_t> labels;
  };
  std::size_t n_labels_ = 0, n_columns_ = 0;  // labels alone; labels and parts
  std::vector<std::uint32_t> starts_;         // [n_labels + 1]; empty: labels have no parts
  std::vector<std::uint32_t> columns_;        // [n_links]
  std::vector<Group> groups_;                 // by n_parts
  std::vector<std::uint32_t> links_;          // [n_links] the same columns in the order of groups
};

}  // namespace trellis
