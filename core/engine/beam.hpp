// Beam search from left to right over chains whose labels also see labels further back than the label before them.
//
//   score(path) = score of the chain + sum_t sum over kinds and over the labels y that a kind sees at t of far_t[kind][y][z]
//
// A state is what all that follows can see of the labels so far: hypotheses that agree in it are one, of which the k best
// are kept. So a beam as wide as there are states is exact. What is forbidden never enters the beam, nor does what can only
// lead to it. Where tokens have lists of labels, hypotheses keep to those; the runs of a lattice (lattice.hpp) are not looked at, so
// that training rejects levels of pruning together with a beam. A beam of a chain without such labels is another one: it
// keeps states by what they can still reach (HistoryStates in history_states.hpp).
#pragma once
#include <map>
#include <span>

#include "engine/ngram_scores.hpp"

namespace trellis {

// About which labels before a token's own an attribute is, as a byte: from 1 on so many directly before it; kFar + n the
// one n tokens before it; each label used so far in the sentence; the one that the same word had last. Where there is
// none it is NULL, but of kAny.
inline constexpr std::uint8_t kFar = 128, kAny = 254, kSame = 255;

// What labels further back give at the tokens of a sentence.
struct FarScores {
  std::span<const std::uint8_t> kinds;     // [n_kinds] as above, each once
  const std::int32_t* same = nullptr;      // [T] the last token before with the same word, -1: none; read with kSame only
  std::vector<std::size_t> starts{0};      // [T + 1]
  std::vector<std::uint32_t> cells;        // (kind * (L + 1) + y) * stride + z; the same more than once perhaps
  std::vector<float> scores;
};

class BeamSearch {
 public:
  // Of the labels up to a token.
  struct Hypothesis {
    double score;
    std::uint32_t before;  // the hypothesis of the token before; 0 at the first token
    std::uint32_t order;   // among those of its token: labels compared from the last one backwards
    std::int32_t label;
  };
  // Those of one token, state by state, each state's best first; states by their best ones.
  struct Level {
    std::vector<Hypothesis> hypotheses;
    std::vector<std::uint32_t> starts;  // [n_states + 1]
  };

  // Fills the levels of all tokens; with `only` [T] by these labels alone. False where no path is possible.
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
    std::uint32_t rank;    // of the hypothesis before it, in its state
    std::uint32_t before;  // that hypothesis,
    std::uint32_t order;   // its order,
    std::uint32_t state;   // and its state
    std::int32_t label;
  };

  bool find_alive(const ChainView<float>& chain, const std::int32_t* only);
  void find_slots(const FarScores& far, std::size_t n);
  void score_state(const ChainView<float>& chain, const FarScores& far, std::size_t t, const std::uint32_t* seen);
  void see(const ChainView<float>& chain, std::size_t t, const std::uint32_t* seen, std::int32_t label);
  void advance(const ChainView<float>& chain, const FarScores& far, std::size_t t, std::size_t width, std::size_t k);

  // What a state sees, size_ numbers: the last n_last_ labels, oldest first; the state of n-grams; a bit per label used; the
  // last labels of words that come again, as slots_ says.
  std::size_t n_last_ = 1, ngram_at_ = 0, used_at_ = 0, n_used_ = 0, slots_at_ = 0, size_ = 0;
  std::vector<std::int32_t> slots_;                // [T] of the word; -1: it comes once
  std::vector<std::uint8_t> comes_again_;          // [T]
  std::vector<std::uint8_t> alive_;                // [T, n_labels] whether some path goes on from a label to the end
  std::vector<Level> levels_;
  std::vector<std::uint32_t> seen_, next_seen_, made_;  // [n_states, size_] of one level, of the next; [size_]
  std::vector<float> table_;                            // [n_kinds, L + 1, stride] of one token; zero between tokens
  std::vector<double> step_;                            // [n_labels] of one state
  std::vector<Candidate> candidates_;
  std::vector<std::vector<Candidate>> kept_;            // [n_states]
  std::map<std::vector<std::uint32_t>, std::size_t> states_;  // by what they see
  std::vector<std::uint32_t> best_;
};

}  // namespace trellis
