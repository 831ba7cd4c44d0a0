#include "engine/cky.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "engine/elementary.hpp"

namespace trellis {
namespace {

constexpr double kVanishes = 1e-100;  // relative to the most probable symbol of a span

// The possible symbols of a left child, and the top scores of a right one.
struct Children {
  std::span<const std::int32_t> lefts;
  const double *left, *right;  // by symbol
  std::size_t width;           // of the right one
};

// pairs[B, C] += factor · left[B] · right[C]
TRELLIS_CLONES void add_products(const Children& of, double factor, std::size_t stride, double* pairs) {
  for (const std::int32_t b : of.lefts) {
    double* row = pairs + static_cast<std::size_t>(b) * stride;
    const double x = factor * of.left[b];
    for (std::size_t c = 0; c < of.width; c += kLanes<double>) lanes_at(row + c) += x * lanes(of.right + c);
  }
}
// to_left[B] += factor · sum over C of pairs[B, C] · right[C],   to_right[C] += factor · sum over B of left[B] · pairs[B, C]
TRELLIS_CLONES void add_outside(const Children& of, double factor, std::size_t stride, const double* pairs, double* to_left,
                                double* to_right) {
  for (const std::int32_t b : of.lefts) {
    const double* row = pairs + static_cast<std::size_t>(b) * stride;
    const double x = factor * of.left[b];
    Vector<double> sums{};
    for (std::size_t c = 0; c < of.width; c += kLanes<double>) {
      sums += lanes(row + c) * lanes(of.right + c);
      lanes_at(to_right + c) += x * lanes(row + c);
    }
    to_left[b] += factor * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
}

}  // namespace

CkySums::CkySums(const PhraseGrammar& grammar, std::span<const double> factors)
    : grammar_(grammar), factors_(factors.begin(), factors.end()), stride_(padded(grammar.n_symbols())),
      phrase_stride_(padded(grammar.n_phrases())), pairs_(grammar.n_symbols() * stride_), has_left_(grammar.n_symbols()) {
  for (const PhraseGrammar::WithLeft& one : grammar.by_children()) child_factors_.push_back(factors_[static_cast<std::size_t>(one.rule)]);
}

// Calls visit(parent, right, factor) for the rules whose left child can follow material ending at word j - 1: a
// phrase, or a tag of that word.
template <class Visit>
TRELLIS_INLINE void CkySums::each_rule(std::size_t left, std::size_t j, Visit visit) const {
  const auto all = [&](std::span<const PhraseGrammar::WithLeft> rules) {
    const double* p = child_factors_.data() + (rules.data() - grammar_.by_children().data());
    for (std::size_t i = 0; i < rules.size(); ++i) visit(rules[i].parent, rules[i].right, p[i]);
  };
  all(grammar_.before_phrases(left));
  for (const WordTag& one : words_.of(j - 1)) all(grammar_.before_tag(left, static_cast<std::size_t>(one.tag)));
}

// Calls visit(left span, right span, children) for the splits of a span that have any.
template <class Visit>
void CkySums::each_split(std::size_t i, std::size_t j, Visit visit) const {
  for (std::size_t k = i + 1; k < j; ++k) {
    const std::size_t left = cell_of(i, k), right = cell_of(k, j);
    const std::size_t width = j - k == 1 ? stride_ : phrase_stride_;  // only words have tags
    if (alive_.size_of(left) && has_top_[right])
      visit(left, right, Children{alive_[left], tops_.data() + left * stride_, tops_.data() + right * stride_, width});
  }
}

// The possible symbols of the left children of a span; their sums of products are zero.
void CkySums::find_lefts(std::size_t i, std::size_t j) {
  lefts_.clear();
  each_split(i, j, [&](std::size_t, std::size_t, const Children& of) {
    for (const std::int32_t b : of.lefts)
      if (!std::exchange(has_left_[static_cast<std::size_t>(b)], 1)) lefts_.push_back(b);
  });
  for (const std::int32_t b : lefts_) {
    has_left_[static_cast<std::size_t>(b)] = 0;
    std::fill_n(pairs_.data() + static_cast<std::size_t>(b) * stride_, stride_, 0.0);
  }
}

double CkySums::sum(const WordTags& words) {
  n_ = words.n_words(), words_ = words;
  const std::size_t n = n_cells(n_);
  for (Numbers* numbers : {&tops_, &bottoms_}) numbers->assign(n * stride_, 0);
  scales_.assign(n, 0), has_top_.assign(n, 0), alive_.clear();
  if (n_ == 0) return -std::numeric_limits<double>::infinity();
  for (std::size_t j = 1; j <= n_; ++j)
    for (std::size_t i = j; i-- > 0;) {
      const std::size_t cell = cell_of(i, j);
      double* bottom = bottoms_.data() + cell * stride_;
      if (j - i == 1) {
        double greatest = -std::numeric_limits<double>::infinity();
        for (const WordTag& one : words.of(i)) greatest = std::max(greatest, static_cast<double>(one.score));
        for (const WordTag& one : words.of(i)) bottom[one.tag] += exp(one.score - greatest);
        scales_[cell] = greatest;
      } else {
        combine(i, j);
      }
      add_unaries(cell, j - i == 1);
      alive_.end_group();
    }
  const double in = at(tops_, 0, n_, grammar_.root());
  return in > 0 ? log(in) + scales_[cell_of(0, n_)] : -std::numeric_limits<double>::infinity();
}

// bottom[i,j] from the tops of children
void CkySums::combine(std::size_t i, std::size_t j) {
  const std::size_t cell = cell_of(i, j);
  double& reference = scales_[cell] = -std::numeric_limits<double>::infinity();
  each_split(i, j, [&](std::size_t left, std::size_t right, const Children&) {
    reference = std::max(reference, scales_[left] + scales_[right]);
  });
  find_lefts(i, j);
  each_split(i, j, [&](std::size_t left, std::size_t right, const Children& of) {
    add_products(of, exp(scales_[left] + scales_[right] - reference), stride_, pairs_.data());
  });
  double* bottom = bottoms_.data() + cell * stride_;
  for (const std::int32_t b : lefts_) {
    const double* row = pairs_.data() + static_cast<std::size_t>(b) * stride_;
    each_rule(static_cast<std::size_t>(b), j, [&](std::int32_t parent, std::int32_t right, double p) { bottom[parent] += p * row[right]; });
  }
}

// top of bottom; then the greatest top is scaled to one
void CkySums::add_unaries(std::size_t cell, bool word) {
  double *bottom = bottoms_.data() + cell * stride_, *top = tops_.data() + cell * stride_;
  for (std::size_t z = 0; z < (word ? grammar_.n_symbols() : grammar_.n_phrases()); ++z)
    if (bottom[z] > 0)
      for (const std::int32_t r : grammar_.with_bottom(z))
        top[grammar_.unary(static_cast<std::size_t>(r)).top] += factors_[grammar_.unary_number(static_cast<std::size_t>(r))] * bottom[z];
  double greatest = 0;
  for (std::size_t a = 0; a < stride_; ++a) greatest = std::max(greatest, top[a]);
  if (greatest == 0) return;
  has_top_[cell] = 1;
  for (std::size_t a = 0; a < grammar_.n_symbols(); ++a) {
    bottom[a] /= greatest, top[a] /= greatest;
    if (top[a] < kVanishes) top[a] = 0;
    if (bottom[a] < kVanishes) bottom[a] = 0;
    if (top[a] > 0 && grammar_.is_left(a)) alive_.items.push_back(static_cast<std::int32_t>(a));
  }
  scales_[cell] += log(greatest);
}

// The outside value is out · exp(scale) / Z, so that in · out is a probability.
void CkySums::find_posteriors(double least) {
  for (Numbers* numbers : {&out_tops_, &out_bottoms_}) numbers->assign(n_cells(n_) * stride_, 0);
  out_tops_[cell_of(0, n_) * stride_ + grammar_.root()] = 1 / at(tops_, 0, n_, grammar_.root());
  for (std::size_t j = n_; j > 0; --j)
    for (std::size_t i = 0; i < j; ++i) {
      const std::size_t cell = cell_of(i, j);
      const double* top = out_tops_.data() + cell * stride_;
      double* bottom = out_bottoms_.data() + cell * stride_;
      bool any = false;
      for (std::size_t z = 0; z < (j - i == 1 ? grammar_.n_symbols() : grammar_.n_phrases()); ++z)
        if (at(bottoms_, i, j, z) > 0) {
          for (const std::int32_t r : grammar_.with_bottom(z)) {
            const auto a = static_cast<std::size_t>(grammar_.unary(static_cast<std::size_t>(r)).top);
            if (at(tops_, i, j, a) > 0) bottom[z] += factors_[grammar_.unary_number(static_cast<std::size_t>(r))] * top[a];
          }
          if (bottom[z] * at(bottoms_, i, j, z) < least) bottom[z] = 0;
          any |= bottom[z] > 0;
        }
      if (any && j - i > 1) hand_down(i, j);
    }
}

void CkySums::hand_down(std::size_t i, std::size_t j) {
  const std::size_t cell = cell_of(i, j);
  const double* out = out_bottoms_.data() + cell * stride_;
  // pairs[B, C] = sum over A -> B C of p · out[A]
  find_lefts(i, j);
  for (const std::int32_t b : lefts_) {
    double* row = pairs_.data() + static_cast<std::size_t>(b) * stride_;
    each_rule(static_cast<std::size_t>(b), j, [&](std::int32_t parent, std::int32_t right, double p) { row[right] += p * out[parent]; });
  }
  each_split(i, j, [&](std::size_t left, std::size_t right, const Children& of) {
    add_outside(of, exp(scales_[left] + scales_[right] - scales_[cell]), stride_, pairs_.data(),
                out_tops_.data() + left * stride_, out_tops_.data() + right * stride_);
  });
}

void CkySums::keep(double least, Remaining& out) const {
  const std::size_t n = n_cells(n_), n_symbols = grammar_.n_symbols();
  out.n_symbols = n_symbols;
  out.bottoms.assign(n * n_symbols, 0), out.tops.assign(n * n_symbols, 0);
  for (std::size_t cell = 0; cell < n; ++cell)
    for (std::size_t a = 0; a < n_symbols; ++a) {
      const std::size_t from = cell * stride_ + a, to = cell * n_symbols + a;
      out.tops[to] = tops_[from] > 0 && tops_[from] * out_tops_[from] >= least;
      out.bottoms[to] = bottoms_[from] > 0 && bottoms_[from] * out_bottoms_[from] >= least;
    }
}

}  // namespace trellis
