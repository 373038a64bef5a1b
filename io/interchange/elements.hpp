// What the atoms of molecules are.
#pragma once

#include <cstdint>
#include <string_view>

namespace smallbatch {

inline constexpr std::int8_t last_atomic_number = 118;

/// Of an atom by its name and its residue's, as PDB and PQR files have them; 0 where it is not known, or could be two
/// elements. Capitals do not matter, digits and signs at the ends are left out: of "1HB" and "NA+" letters are "HB" and
/// "NA". Most PQR files have no field for the element, and do not keep PDB's columns, so the names decide, in this
/// order:
///  1. An ion's residue has its name: CA in CA is calcium, CA in ALA is not. CHARMM's names of ions, as SOD in SOD.
///  2. A name of one letter, or one that begins with H (D: deuterium), is that element.
///  3. Of C, N, O, P and S, with a letter of the place in the residue behind (A, B, G, D, E, Z, H): the first letter,
///  but
///     SE is selenium. CL is chlorine. With another letter that makes it the symbol of an element, as CU, NI and OS:
///     not known. Else the first letter.
///  4. Two letters that are the symbol of an element: that one, as FE, ZN and BR.
///  5. B, F and I: the first letter. All else, as the charges off the atoms of water models (EPW, MW): not known.
std::int8_t atomic_number(std::string_view atom, std::string_view residue);

}  // namespace smallbatch
