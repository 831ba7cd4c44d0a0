#include "weights/filter_levels.hpp"

#include <utility>

namespace trellis {

// At level 1 every label is a node, and all pairs are arcs. Above it, the arcs of the level below are nodes, and an arc connects
// two nodes if the first ends in the lower node that the second begins with.
void LevelSentence::open(std::size_t level, const LabelSets& sets, std::size_t n) {
  level_ = level, n_ = n;
  lattice_.clear();
  const auto add_node = [&](std::int32_t label, std::int64_t first, std::int64_t last) {
    for (std::int64_t from = first; from < last; ++from) lattice_.from.push_back(static_cast<std::int32_t>(from));
    lattice_.node_labels.push_back(label);
    lattice_.in_starts.push_back(static_cast<std::int64_t>(lattice_.from.size()));
  };
  const Lattice& below = sets.lattice;
  for (std::size_t t = 0; t < n; ++t) {
    const ListedLabels labels = labels_of(sets, t);
    for (std::size_t j = 0; level == 1 && j < labels.n; ++j)
      add_node(labels.labels[j], 0, t ? static_cast<std::int64_t>(labels_of(sets, t - 1).n) : 1);
    const std::int32_t set = sets.set_of_token[t];
    for (std::int64_t v = level > 1 ? below.starts[set] : 0; level > 1 && v < below.starts[set + 1]; ++v)
      for (std::int64_t arc = below.in_starts[v]; arc < below.in_starts[v + 1]; ++arc) {
        if (t == 0) {
          add_node(below.labels[v], 0, 1);
          continue;
        }
        const std::int64_t first = below.starts[sets.set_of_token[t - 1]], u = first + below.from[arc];
        add_node(below.labels[v], below.in_starts[u] - below.in_starts[first], below.in_starts[u + 1] - below.in_starts[first]);
      }
    lattice_.end_token();
  }
  view_ = lattice_.view();
}

void LevelSentence::lay_out(const FilterLevels& levels) {
  ngrams_ = {&levels.ngrams, levels.scores.data()};
  const LabelTables<double> tables{levels.n_labels, levels.stride, levels.edge.data(), nullptr,
                                   levels.end.empty() ? nullptr : levels.end.data(), &ngrams_};
  chain_ = {tables, n_, emit_.data(), nullptr, &view_};
  trellis::lay_out(chain_, work_, level_);
}

void LevelSentence::find_arcs(const std::int32_t* path) {
  const Lattice& lattice = view_.lattice;
  arcs_.assign(n_, kNoArc);
  std::int32_t before = 0;
  for (std::size_t t = 0; t < n_; ++t) {
    const std::int64_t first = lattice.starts[t];
    for (std::int64_t v = first; v < lattice.starts[t + 1]; ++v)
      for (std::int64_t arc = lattice.in_starts[v]; lattice.labels[v] == path[t] && arc < lattice.in_starts[v + 1]; ++arc)
        if (lattice.from[arc] == before) {
          arcs_[t] = static_cast<std::uint32_t>(arc - lattice.in_starts[first]);
          before = static_cast<std::int32_t>(v - first);
          v = lattice.starts[t + 1] - 1;
          break;
        }
  }
}

void LevelSentence::prune(double margin, bool keep, TokenSets& to) {
  const Lattice& lattice = view_.lattice;
  kept_.assign(lattice_.from.size(), 0);
  const auto first_arc = [&](std::size_t t) { return static_cast<std::size_t>(lattice.in_starts[lattice.starts[t]]); };
  if (step_gaps(chain_, work_, gaps_)) {
    for (std::size_t t = 0; t < n_; ++t) {
      for (std::size_t i = work_.step_starts[t]; i < work_.step_starts[t + 1]; ++i)
        if (gaps_[i] <= margin) kept_[first_arc(t) + work_.steps[i].arc] = 1;
      if (keep && arcs_[t] != kNoArc) kept_[first_arc(t) + arcs_[t]] = 1;
    }
  } else {
    std::fill(kept_.begin(), kept_.end(), 1);
  }
  number_.assign(1, 0);  // NULL before the first token
  for (std::size_t t = 0; t < n_; ++t) {
    std::int32_t n_nodes = 0;
    next_.clear();
    for (std::int64_t v = lattice.starts[t]; v < lattice.starts[t + 1]; ++v) {
      const std::size_t n_arcs = to.from.size();
      for (std::int64_t arc = lattice.in_starts[v]; arc < lattice.in_starts[v + 1]; ++arc)
        if (kept_[static_cast<std::size_t>(arc)])
          if (const std::int32_t from = number_[static_cast<std::size_t>(lattice.from[arc])]; from >= 0) to.from.push_back(from);
      next_.push_back(to.from.size() > n_arcs ? n_nodes++ : -1);
      if (to.from.size() == n_arcs) continue;
      if (n_nodes == 1 || to.node_labels.back() != lattice.labels[v]) to.labels.push_back(lattice.labels[v]);
      to.node_labels.push_back(lattice.labels[v]);
      to.in_starts.push_back(static_cast<std::int64_t>(to.from.size()));
    }
    number_.swap(next_);
    to.end_token();
  }
}

}  // namespace trellis
