import type { TraitProvenance } from '#shared/catalog/resources.ts'

type Claims = { readonly traitsProbed: readonly string[]; readonly traitsDeclared: readonly string[] }

/** The traits that a lent account claims, each with its evidence: first those that a probe showed. */
export function claimedTraits({
  traitsProbed,
  traitsDeclared,
}: Claims): { name: string; provenance: TraitProvenance }[] {
  return [
    ...traitsProbed.map((name) => ({ name, provenance: 'probed' as const })),
    ...traitsDeclared.map((name) => ({ name, provenance: 'declared' as const })),
  ]
}
