// A small random training problem of chains: every part that one can have.
#pragma once
#include <memory>
#include <random>
#include <vector>

#include "weights/layout.hpp"
#include "weights/seen_ngrams.hpp"

namespace trellis::testing {

struct RandomProblem {
  std::size_t L;
  std::vector<std::int64_t> starts, item_starts{0}, edge_item_starts{0}, set_starts{0};
  std::vector<std::int32_t> ids, edge_ids, gold, sets, set_labels, edge_places, tri_places;
  std::vector<float> values, edge_values, edge_base, end_base;
  std::vector<std::uint32_t> row_starts{0}, edge_row_starts{0}, edge_row_labels;
  std::vector<std::uint16_t> row_labels;
  Layout layout;
  ChainData data;
  std::shared_ptr<Ngrams> ngrams;  // above order 2: those of gold
  std::mt19937 random;

  RandomProblem(std::size_t n_labels, int order, bool edges, bool with_sets, bool with_values, bool with_base, unsigned seed,
                std::vector<std::int64_t> starts_)
      : L(n_labels), starts(std::move(starts_)), random(seed) {
    const auto number = [&] { return static_cast<float>(random() % 2001) / 1000 - 1; };
    const std::size_t stride = padded(L), n = starts.back(), n_attributes = 5, n_edge_attributes = edges ? 3 : 0;
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t a = 0; a < n_attributes; ++a)
        if (random() % 2) ids.push_back(static_cast<std::int32_t>(a));
      item_starts.push_back(static_cast<std::int64_t>(ids.size()));
      for (std::size_t a = 0; a < n_edge_attributes; ++a)
        if (random() % 2) edge_ids.push_back(static_cast<std::int32_t>(a));
      edge_item_starts.push_back(static_cast<std::int64_t>(edge_ids.size()));
      gold.push_back(static_cast<std::int32_t>(random() % L));
      sets.push_back(static_cast<std::int32_t>(t));
      for (std::size_t z = 0; z < L; ++z)
        if (z == static_cast<std::size_t>(gold[t]) || (L > 20 ? random() % 16 == 0 : random() % 2))
          set_labels.push_back(static_cast<std::int32_t>(z));
      set_starts.push_back(static_cast<std::int64_t>(set_labels.size()));
    }
    for (std::size_t i = 0; with_values && i < ids.size(); ++i) values.push_back(number());
    for (std::size_t i = 0; with_values && i < edge_ids.size(); ++i) edge_values.push_back(number());
    for (std::size_t a = 0; a < n_attributes; ++a) {
      for (std::size_t z = 0; z < L; ++z)
        if (a == 0 || random() % 2) row_labels.push_back(static_cast<std::uint16_t>(z));
      row_starts.push_back(static_cast<std::uint32_t>(row_labels.size()));
    }
    for (std::size_t a = 0; a < n_edge_attributes; ++a) {
      for (std::size_t y = 0; y <= L; ++y) edge_row_labels.push_back(static_cast<std::uint32_t>(y * stride + random() % L));
      edge_row_starts.push_back(static_cast<std::uint32_t>(edge_row_labels.size()));
    }
    for (std::size_t y = 0; y <= L; ++y)
      for (std::size_t z = 0; z < L; ++z) edge_places.push_back(static_cast<std::int32_t>(y * stride + z));
    for (std::size_t x = 0; order == 2 && x <= L; ++x)
      for (std::size_t y = 0; y <= L; ++y)
        for (std::size_t z = 0; z < L; ++z)
          if (x == L || y < L) tri_places.push_back(static_cast<std::int32_t>((x * (L + 1) + y) * stride + z));
    if (order > 2) {
      ngrams = std::make_shared<Ngrams>(L, static_cast<std::size_t>(order));
      add_seen(*ngrams, gold.data(), starts.data(), starts.size() - 1, true, nullptr);
      for (std::uint32_t g = 0; g < ngrams->size(); ++g)
        if (ngrams->length(g) > 2) tri_places.push_back(static_cast<std::int32_t>(g));
      layout.ngrams = ngrams.get();
    }
    edge_base.assign((L + 1) * stride, 0);
    if (with_base) {
      for (float& score : edge_base) score = number();
      for (std::size_t z = 0; z < stride; ++z) end_base.push_back(number());
    }
    layout.n_labels = L, layout.n_attributes = n_attributes;
    layout.n_edge_attributes = n_edge_attributes, layout.order = order;
    layout.row_starts = row_starts, layout.row_labels = row_labels;
    layout.edge_row_starts = edge_row_starts, layout.edge_row_labels = edge_row_labels;
    layout.edge_places = edge_places, layout.tri_places = tri_places;
    layout.edge_base = edge_base, layout.end_base = end_base;
    data.attributes = {item_starts.data(), ids.data(), with_values ? values.data() : nullptr};
    if (edges) data.edge_attributes = {edge_item_starts.data(), edge_ids.data(), with_values ? edge_values.data() : nullptr};
    if (with_sets) data.sets = {sets.data(), set_starts.data(), set_labels.data()};
  }
};

}  // namespace trellis::testing
