#include "learn/filter.hpp"

#include <cmath>

#include "engine/factors.hpp"

namespace trellis {
namespace {

// p[z] = exp(score[z] - max) / sum, in place; lanes from n_labels on become 0.
TRELLIS_CLONES void normalize(float* scores, std::size_t n_labels, std::size_t stride) {
  exp_row(scores, n_labels, stride, scores);
  const float total = sum_lanes(scores, stride);
  for (std::size_t z = 0; z < stride; z += kLanes<float>) lanes_at(scores + z) = lanes(scores + z) / total;
}

// Calls visit(token, gold label) for all tokens of some sentences.
template <class Visit>
void each_token(const Examples& tokens, std::span<const std::int64_t> sentences, Visit visit) {
  for (const std::int64_t s : sentences)
    for (std::int64_t t = tokens.starts[s]; t < tokens.starts[s + 1]; ++t) visit(static_cast<std::size_t>(t), tokens.gold[t]);
}

}  // namespace

void Filter::scores(const ChainData& data, std::size_t token, float* out) const {
  std::fill_n(out, padded(rows.n_labels()), 0.0f);
  data.attributes.each(token, [&](std::int32_t a, float value) TRELLIS_INLINE_LAMBDA { rows.add_to(a, value, out); });
}

// g[a, z] = value(a) · (p(z) - [z is gold]);  squares += g²;  w -= rate / sqrt(squares) · g
void Filter::pass(const Examples& tokens, std::span<const std::int64_t> sentences, const FilterSteps& steps,
                  const Patience::GoOn& go_on) {
  const std::size_t L = rows.n_labels(), stride = padded(L);
  const Sites& at = tokens.data.attributes;
  std::vector<float> p(stride);
  std::vector<std::uint32_t> stepped;
  Patience patience(go_on);
  for (const std::int64_t s : sentences) {
    if (patience.ended()) return;
    for (auto t = static_cast<std::size_t>(tokens.starts[s]); t < static_cast<std::size_t>(tokens.starts[s + 1]); ++t) {
      if (tokens.gold[t] < 0) continue;
      scores(tokens.data, t, p.data());
      normalize(p.data(), L, stride);
      p[static_cast<std::size_t>(tokens.gold[t])] -= 1;
      stepped.clear();
      for (std::size_t z = 0; z < L; ++z)
        if (std::abs(p[z]) >= steps.least) stepped.push_back(static_cast<std::uint32_t>(z));
      if (stepped.empty()) continue;
      at.each(t, [&](std::int32_t a, float value) TRELLIS_INLINE_LAMBDA {
        if (static_cast<std::size_t>(a) >= n_used_) return;
        for (const std::uint32_t z : stepped) {
          const LearntWeight place = rows.make(a, z);
          const float g = value * p[z];
          *place.variance += g * g;
          *place.weight -= steps.rate * g / std::sqrt(*place.variance);
        }
      });
    }
  }
}

std::vector<float> Filter::gold_margins(const Examples& tokens, std::span<const std::int64_t> sentences,
                                        std::size_t n_threads) const {
  std::vector<std::size_t> known;
  each_token(tokens, sentences, [&](std::size_t t, std::int32_t gold) {
    if (gold >= 0) known.push_back(t);
  });
  std::vector<float> out(known.size());
  const std::size_t L = rows.n_labels();
  parallel_blocks(
      known.size(), 512, n_threads, [&] { return std::vector<float>(padded(L)); },
      [&](std::vector<float>& emit, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          scores(tokens.data, known[i], emit.data());
          const std::span<const float> all(emit.data(), L);
          out[i] = std::ranges::max(all) - all[static_cast<std::size_t>(tokens.gold[known[i]])];
        }
      });
  return out;
}

TokenSets Filter::candidates(const Examples& tokens, std::span<const std::int64_t> sentences,
                             const FilterRule& rule, std::size_t n_threads, std::vector<float>& scored) const {
  constexpr std::size_t kBlock = 64;  // sentences
  const std::size_t L = rows.n_labels();
  const LabelSets& known = tokens.data.sets;
  std::vector<TokenSets> blocks((sentences.size() + kBlock - 1) / kBlock);
  std::vector<std::vector<float>> of_blocks(blocks.size());
  parallel_blocks(
      sentences.size(), kBlock, n_threads, [&] { return std::vector<float>(padded(L)); },
      [&](std::vector<float>& emit, std::size_t begin, std::size_t end) {
        TokenSets& to = blocks[begin / kBlock];
        each_token(tokens, sentences.subspan(begin, end - begin), [&](std::size_t t, std::int32_t gold) {
          scores(tokens.data, t, emit.data());
          const FilterRule by = gold < 0 ? FilterRule{std::numeric_limits<float>::infinity(), L} : rule;
          if (known.starts) add_candidates(emit.data(), labels_of(known, t), by, gold, to);
          else add_candidates(emit.data(), AllLabels{L}, by, gold, to);
          std::vector<float>& found = of_blocks[begin / kBlock];
          while (found.size() < to.labels.size()) found.push_back(emit[static_cast<std::size_t>(to.labels[found.size()])]);
        });
      });
  scored.clear();
  for (const std::vector<float>& found : of_blocks) scored.insert(scored.end(), found.begin(), found.end());
  return joined(blocks);
}

}  // namespace trellis
