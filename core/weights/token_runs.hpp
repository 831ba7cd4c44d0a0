// Scores of edge attributes for runs of labels at single tokens. The columns of their rows are the cells of label pairs,
// [L+1, stride], followed by the n-grams, by number. The n-grams have three labels and more: a
// run of two is a pair. A history that reaches beyond the first token begins with NULL, so at the first token all runs are
// pairs of NULL and a label.
#pragma once
#include "engine/ngram_scores.hpp"
#include "weights/sites.hpp"

namespace trellis {

// The n-grams of rows at the tokens of a sentence, without duplicates per token, with their summed scores.
template <class Real>
class TokenRuns {
 public:
  // n_pairs: cells of label pairs; edge [n, n_pairs] if they differ by token, else null: then the scores of pairs at the
  // first token go to emit [stride].
  template <class AnyRows, class Score>
  void fill(const AnyRows& rows, const Sites& at, std::size_t begin, std::size_t end, std::size_t n_nodes,
            std::size_t n_pairs, Score* edge, Score* emit, std::size_t stride) {
    clear(n_nodes);
    for (std::size_t t = begin; t < end; ++t, edge += edge ? n_pairs : 0) {
      at.each(t, [&](std::int32_t a, float value) {
        add_row(rows, a, value, n_pairs, edge, t == begin ? emit : nullptr, stride);
      });
      end_token();
    }
  }

  void clear(std::size_t n_nodes) {
    ngrams.starts.assign(1, 0), ngrams.nodes.clear(), ngrams.scores.clear();
    if (place_.size() < n_nodes) place_.resize(n_nodes, -1);
  }
  // Adds a row at the next token; as above, edge [n_pairs] or null; emit null except at the first token.
  template <class AnyRows, class Score>
  void add_row(const AnyRows& rows, std::int32_t attribute, float value, std::size_t n_pairs, Score* edge, Score* emit,
               std::size_t stride) {
    rows.each_slot(attribute, [&](std::uint32_t column, Score weight) {
      if (column >= n_pairs) add(static_cast<std::uint32_t>(column - n_pairs), value * weight);
      else if (edge) edge[column] += value * weight;
      else if (emit) emit[column % stride] += value * weight;
    });
  }
  void end_token() {
    for (std::size_t i = ngrams.starts.back(); i < ngrams.nodes.size(); ++i) place_[ngrams.nodes[i]] = -1;
    ngrams.starts.push_back(ngrams.nodes.size());
  }

  TokenNgrams<Real> ngrams;

 private:
  void add(std::uint32_t node, Real score) {
    std::int32_t& place = place_[node];
    if (place < 0) {
      place = static_cast<std::int32_t>(ngrams.nodes.size());
      ngrams.nodes.push_back(node), ngrams.scores.push_back(score);
    } else {
      ngrams.scores[static_cast<std::size_t>(place)] += score;
    }
  }

  std::vector<std::int32_t> place_;  // [n_nodes] index of this token's n-grams in ngrams.nodes; -1: none
};

}  // namespace trellis
