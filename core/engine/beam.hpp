// Beam search from left to right for chains with features of labels further back than the previous one.
//
//   score(path) = score of the chain + sum_t sum over kinds and over the labels y that a kind selects at t of far_t[kind][y][z]
//
// A state is all that later scores depend on in the labels so far. Hypotheses with the same state are merged, and the k best of
// each state survive, so a beam as wide as the number of states is exact. Forbidden labels never enter the beam, nor do dead
// ends. With lists of labels, hypotheses use listed labels only. The arcs of a lattice (lattice.hpp) are ignored, so
// training rejects pruning levels combined with a beam. The beam of a chain without such features is another algorithm: it
// ranks states by prefix score plus a bound on the rest of the path (HistoryStates in history_states.hpp).
#pragma once
#include <map>
#include <span>

#include "engine/ngram_scores.hpp"

namespace trellis {

// The kind of an attribute says which earlier labels it selects, as a byte: n >= 1 the n labels directly before the token;
// kFar + n the label n tokens before; kAny every label used so far in the sentence; kSame the last label of the same word.
// If there is no such label it is NULL, except for kAny.
inline constexpr std::uint8_t kFar = 128, kAny = 254, kSame = 255;

// Scores of labels further back at the tokens of a sentence.
struct FarScores {
  std::span<const std::uint8_t> kinds;     // [n_kinds] as above, each once
  const std::int32_t* same = nullptr;      // [T] the last earlier token with the same word, -1: none; only read with kSame
  std::vector<std::size_t> starts{0};      // [T + 1]
  std::vector<std::uint32_t> cells;        // (kind * (L + 1) + y) * stride + z; may contain duplicates
  std::vector<float> scores;
};

class BeamSearch {
 public:
  // A hypothesis: the labels up to a token.
  struct Hypothesis {
    double score;
    std::uint32_t before;  // back-pointer: the hypothesis of the previous token; 0 at the first token
    std::uint32_t order;   // rank among the hypotheses of its token: labels compared from the last one backwards
    std::uint32_t rank;    // within its state, by score
    std::int32_t label;
  };
  // Hypotheses of one token, grouped by state, best first within a state; states ordered by their best hypothesis.
  struct Level {
    std::vector<Hypothesis> hypotheses;
    std::vector<std::uint32_t> starts;  // [n_states + 1]
  };

  // Computes the levels of all tokens; with `only` [T] for these labels alone. False if no path is possible.
  bool run(const ChainView<float>& chain, const FarScores& far, std::size_t width, std::size_t k,
           const std::int32_t* only = nullptr);
  const Level& level(std::size_t t) const { return levels_[t]; }
  // The up to k best hypotheses of a token.
  const std::vector<std::uint32_t>& best(std::size_t t, std::size_t k);
  // The labels [t + 1] of hypothesis i of token t.
  void path(std::size_t t, std::uint32_t i, std::int32_t* labels) const;

 private:
  struct Candidate {
    double score;
    std::uint32_t before, state;  // the previous hypothesis, and its state
    std::int32_t label;
  };

  bool find_alive(const ChainView<float>& chain, const std::int32_t* only);
  void find_slots(const FarScores& far, std::size_t n);
  void score_state(const ChainView<float>& chain, const FarScores& far, std::size_t t, const std::uint32_t* seen);
  void see(const ChainView<float>& chain, std::size_t t, const std::uint32_t* seen, std::int32_t label);
  void advance(const ChainView<float>& chain, const FarScores& far, std::size_t t, std::size_t width, std::size_t k);

  // A state, size_ numbers: the last n_last_ labels, oldest first; the n-gram state; a bit per used label; the last labels of
  // repeated words, as slots_ says.
  std::size_t n_last_ = 1, ngram_at_ = 0, used_at_ = 0, n_used_ = 0, slots_at_ = 0, size_ = 0;
  std::vector<std::int32_t> slots_;                // [T] of the word; -1: it occurs once
  std::vector<std::uint8_t> comes_again_;          // [T]
  std::vector<std::uint8_t> alive_;                // [T, n_labels] whether some path leads from a label to the end
  std::vector<Level> levels_;
  std::vector<std::uint32_t> seen_, next_seen_, made_;  // [n_states, size_] of the current and the next level; [size_]
  std::vector<float> table_;                            // [n_kinds, L + 1, stride] of one token; zero between tokens
  std::vector<double> step_;                            // [n_labels] of one state
  std::vector<Candidate> candidates_;
  std::vector<std::vector<Hypothesis>> kept_;           // [n_states]
  std::map<std::vector<std::uint32_t>, std::size_t> states_;  // by their content
  std::vector<std::uint32_t> best_;
};

}  // namespace trellis
