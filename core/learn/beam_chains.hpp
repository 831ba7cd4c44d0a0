// Chains with features of labels further back (engine/beam.hpp), as a structure to learn. A beam finds the best outputs.
// Three kinds of updates; early and max-violation compare prefixes of
// outputs that the beam ranks above the gold prefix (Collins & Roark 2004; Huang, Fayong & Guo 2012).
#pragma once
#include "learn/chain_learners.hpp"
#include "weights/far_labels.hpp"

namespace trellis {

class BeamChains : public Chains<GrowingChain> {
 public:
  BeamChains(GrowingChain& weights, const LabelWeights& labels, int order, const Examples& examples, std::size_t width,
             Update update)
      : Chains(weights, labels, order, examples), width_(width), update_(update) {}

  bool load(std::size_t sentence) {
    if (!Chains::load(sentence)) return false;
    fill_far(weights_.edge_rows, examples_.data.far, begin_, begin_ + n_, (null_ + 1) * stride_, far_);
    return true;
  }

  // The k best hypotheses of the token at which to update.
  std::size_t best(std::size_t k, bool augmented) {
    const ChainView<float> chain = searched(k, augmented);
    length_ = n_, n_mistakes_ = 0;
    if (!beam_.run(chain, far_, width_, k)) {  // no path: nothing to learn
      possible_ = false;
      paths_.assign(k * n_, 0);
      return 1;
    }
    beam_.path(n_ - 1, beam_.best(n_ - 1, 1)[0], paths_.data());
    for (std::size_t t = 0; t < n_; ++t) n_mistakes_ += paths_[t] != right_[t];
    if (n_mistakes_ && possible_ && update_ != Update::kStandard) length_ = update_at(chain) + 1;
    const std::vector<std::uint32_t>& ranked = beam_.best(length_ - 1, k);
    for (std::size_t i = 0; i < ranked.size(); ++i) beam_.path(length_ - 1, ranked[i], paths_.data() + i * n_);
    return ranked.size();
  }
  // For the best output, the mistakes in the whole sentence.
  std::size_t n_wrong(const std::int32_t* path) const { return path == paths_.data() ? n_mistakes_ : Chains::n_wrong(path); }
  void collect(const std::int32_t* path, Changes& out) {
    Chains::collect(path, out);
    for (std::size_t t = 0; t < length_; ++t) collect_far(path, t, out);
  }

 private:
  // early: the first token at which the gold prefix falls off the beam; max-violation: the token at which the score of the best
  // hypothesis exceeds that of the gold prefix most.
  std::size_t update_at(const ChainView<float>& chain) {
    right_beam_.run(chain, far_, 1, 1, right_.data());
    std::size_t at = n_ - 1;
    std::uint32_t held = 0;  // the hypothesis of the gold prefix,
    bool is_held = true;     // while it is in the beam
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < n_; ++t) {
      const BeamSearch::Level& level = beam_.level(t);
      const auto is_right = [&](std::uint32_t first) {
        const BeamSearch::Hypothesis& one = level.hypotheses[first];
        return one.label == right_[t] && (t == 0 || one.before == held);
      };
      const auto found = std::find_if(level.starts.begin(), level.starts.end() - 1, is_right);
      is_held = is_held && found != level.starts.end() - 1;
      if (is_held) held = *found;
      if (update_ == Update::kEarly && !is_held) return t;
      if (update_ == Update::kEarly || (is_held && held == 0)) continue;  // the best hypothesis is the gold prefix
      const double violation = level.hypotheses[0].score - right_beam_.level(t).hypotheses[0].score;
      if (violation > most) most = violation, at = t;
    }
    return at;
  }

  // The difference in features of labels further back between the gold path and another at token t.
  void collect_far(const std::int32_t* path, std::size_t t, Changes& out) {
    const FarLabels& far = examples_.data.far;
    const bool same_label = right_[t] == path[t];
    far.at.each(begin_ + t, [&](std::int32_t a, float value) {
      const auto add = [&](const std::int32_t* labels, std::size_t y, double sign) {
        const std::size_t cell = y * stride_ + static_cast<std::size_t>(labels[t]);
        out.push_back({weights_.edge_row(a), static_cast<std::uint32_t>(cell), sign * value});
      };
      if (far.about[a] == kAny) {
        for (std::size_t y = 0; y < null_; ++y) {
          const bool here = uses(right_.data(), t, y), there = uses(path, t, y);
          if (same_label && here == there) continue;
          if (here) add(right_.data(), y, 1);
          if (there) add(path, y, -1);
        }
        return;
      }
      const std::size_t here = seen(right_.data(), t, far.about[a]), there = seen(path, t, far.about[a]);
      if (!same_label || here != there) add(right_.data(), here, 1), add(path, there, -1);
    });
  }
  static bool uses(const std::int32_t* labels, std::size_t t, std::size_t y) {
    return std::find(labels, labels + t, static_cast<std::int32_t>(y)) != labels + t;
  }
  std::size_t seen(const std::int32_t* labels, std::size_t t, std::uint8_t kind) const {
    const std::size_t back = kind - kFar;
    if (kind == kSame) return far_.same[t] < 0 ? null_ : static_cast<std::size_t>(labels[far_.same[t]]);
    return t < back ? null_ : static_cast<std::size_t>(labels[t - back]);
  }

  const std::size_t width_;
  const Update update_;
  FarScores far_;
  BeamSearch beam_, right_beam_;
  std::size_t n_mistakes_ = 0;  // of the best output
};

static_assert(Structure<BeamChains>);

}  // namespace trellis
