// Elements of the atoms of molecules.
#pragma once

#include <cstdint>
#include <string_view>

namespace smallbatch {

inline constexpr std::int8_t last_atomic_number = 118;

/// Returns the atomic number of an atom, from its name and its residue's name in a PDB or PQR file. Returns 0 if the
/// element is unknown, or could be one of two. Capitals do not matter. Digits and signs at the ends are ignored: "1HB"
/// is read as "HB", and "NA+" as "NA".
///
/// Most PQR files have no field for the element and do not keep PDB's columns. So the names decide, in this order:
///  1. The residue of an ion has the ion's name: CA in CA is calcium, CA in ALA is not. CHARMM's names of ions count,
///     too, as SOD in SOD.
///  2. A name of one letter is that element. A name that begins with H, or D (deuterium), is hydrogen.
///  3. CL is chlorine, and SE is selenium.
///  4. A name that begins with C, N, O, P or S is that element in two cases. Its second letter names a position in the
///     residue (A, B, G, D, E, Z, H), or its first two letters are no symbol. Otherwise, as for CU, NI and OS, it is
///     unknown.
///  5. A name of two letters is an element if it is the element's symbol: FE, ZN, BR.
///  6. A name that begins with B, F or I is that element. All other names are unknown, such as those of charges that
///     water models place beside the atoms (EPW, MW).
std::int8_t atomic_number(std::string_view atom, std::string_view residue);

}  // namespace smallbatch
