// Words that an interaction adds to the sentences about the bounds of potentials and of pair energies.
#pragma once

#include <string>

#include "core/compare.hpp"
#include "core/number_text.hpp"
#include "physics/charges/potential_referee.hpp"
#include "physics/charges/reference/interaction.hpp"

namespace smallbatch {

/// Names and definitions in a sentence. `of` is the index of the sentence's sum, "i" or "ij".
struct CriterionWords {
  std::string f = "f", r = "r_", m, screening, field_screening;
  std::string of_softening, of_interaction, of_cutoff;  ///< definitions

  CriterionWords(const PotentialOptions& options, bool with_widths, const std::string& of) {
    const bool is_screened = options.screening_length > 0;
    const double factor =
        (options.cutoff > 0 ? cutoff_bound_factor : 1) * (is_screened || with_widths ? interaction_bound_factor : 1);
    if (factor > 1) f = bound_text(factor) + " f";
    if (options.softening > 0 || with_widths) r = "rho_";
    r += of;
    m = options.cutoff > 0 ? "m_" + of : r;
    if (options.softening > 0) of_softening = ", rho^2 = r^2 + softening^2";
    if (with_widths)
      of_interaction = ", rho_" + of + " the larger of r_" + of + " and " + number_text(gaussian_length_in_widths) +
                       (of == "ij" ? " sqrt(width_i^2 + width_j^2)" : " width_i");
    if (is_screened) {
      screening = " (1 + x_" + of + ") exp(-x_" + of + ")";
      field_screening = " (1 + x_" + of + ")^2 exp(-x_" + of + ")";
      of_interaction = ", x_" + of + " = " + r + "/screening_length";
    }
    if (options.cutoff > 0)
      of_cutoff = ", m_" + of + " the smaller of " + r + " and the cut-off, sums over the " +
                  (of == "ij" ? "pairs" : "charges") + " within " + bound_text(bound_reach_in_cutoffs) + " cut-offs";
  }
};

}  // namespace smallbatch
