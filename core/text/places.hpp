// Attributes of sites with several places in a sentence: an arc has a head and a dependent, and words between them.
// A template is a conjunction of views at places, and of measures of the site itself, such as the distance from head to
// dependent; its key packs their ids as in extract.hpp.
//
// The root is one place before the first word, outside the sentence; a missing place of a site (no sibling) is
// the first place after the sentence.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "text/extract.hpp"

namespace trellis {

// The places of a site: token numbers within the sentence, from -1 (the root) to n; and its measures.
struct Anchor {
  std::array<std::int32_t, 4> at;
  std::array<std::int32_t, 4> measures;
};

// The view ids of one sentence, at all places that atoms can refer to.
class PlacedSentence {
 public:
  void load(const Plan& plan, std::span<const ColumnCodes> columns, std::int64_t begin, std::int64_t end) {
    size_ = static_cast<std::int32_t>(end - begin), pad_ = plan.reach;
    width_ = size_ + 2 * pad_;
    const auto width = static_cast<std::size_t>(width_);
    ids_.resize(plan.slots.size() * width), before_.resize(ids_.size());
    for (std::size_t s = 0; s < plan.slots.size(); ++s) {
      const auto [column, view] = plan.slots[s];
      std::int32_t* ids = ids_.data() + s * width;
      for (std::int32_t at = -pad_; at < size_ + pad_; ++at)
        ids[at + pad_] = view_id(columns[static_cast<std::size_t>(column)], view, begin + at, begin, end, plan.reach);
    }
    know_before_.assign(plan.slots.size(), false);
  }
  std::int32_t size() const { return size_; }
  std::int32_t id(std::int32_t slot, std::int32_t at) const { return ids_[static_cast<std::size_t>(slot * width_ + pad_ + at)]; }

  // The last place before `at` with the same id; -1 if there is none.
  std::int32_t before(std::int32_t slot, std::int32_t at) {
    if (!know_before_[static_cast<std::size_t>(slot)]) find_before(slot);
    return before_[static_cast<std::size_t>(slot * width_ + pad_ + at)];
  }

 private:
  void find_before(std::int32_t slot) {
    know_before_[static_cast<std::size_t>(slot)] = true;
    for (std::int32_t at = 0; at < size_; ++at) {
      std::int32_t found = at - 1;
      while (found >= 0 && id(slot, found) != id(slot, at)) --found;
      before_[static_cast<std::size_t>(slot * width_ + pad_ + at)] = found;
    }
  }
  std::int32_t size_ = 0, pad_ = 0, width_ = 0;
  std::vector<std::int32_t> ids_, before_;  // [n_slots, width]
  std::vector<bool> know_before_;
};

// Calls emit(key, between) for the keys of a template at a site: one, none, or, for a template over the places between the
// first two of the anchor, one for each distinct id there, with the first such place.
template <class Fold, class Emit>
inline void each_key(const Plan& plan, const Template& shape, PlacedSentence& x, const Anchor& anchor, Fold fold,
                     Emit emit) {
  const auto emit_at = [&](std::int32_t between) {
    const auto id_of = [&](const Atom& atom) {
      return atom.place >= 0          ? x.id(atom.slot, anchor.at[static_cast<std::size_t>(atom.place)] + atom.offset)
             : atom.place == kMeasure ? anchor.measures[static_cast<std::size_t>(atom.slot)]
                                      : x.id(atom.slot, between);
    };
    if (const std::uint64_t key = pack_key(plan, shape, id_of, fold); key != kSilent) emit(key, between);
  };
  if (shape.between < 0) return emit_at(-1);
  const std::int32_t low = std::min(anchor.at[0], anchor.at[1]), high = std::max(anchor.at[0], anchor.at[1]);
  for (std::int32_t t = low + 1; t < high; ++t)
    if (x.before(shape.between, t) <= low) emit_at(t);
}

}  // namespace trellis
