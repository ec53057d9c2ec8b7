import type { EncodePlan } from '#shared/protocols/encode-plan.ts'

/** The first generation that thinks, and the first that takes a level of thinking and checks signatures. */
export const FIRST_THINKING = 2.5
export const FIRST_WITH_LEVELS = 3

/** The generation of a Gemini model by its name: 2.5, 3, 3.1. Undefined for any other model. */
export function generationOf(name: string): number | undefined {
  const [, major, minor = '0'] = /gemini-(\d{1,2})(?:\.(\d))?/.exec(name) ?? []
  return major === undefined ? undefined : Number(`${major}.${minor}`)
}

/** The name that shows the generation of a plan's model: the seller's name, or else the catalogue's. */
export function nameOf({ offer, target }: EncodePlan): string {
  return generationOf(offer.providerModel) === undefined ? target.model.id : offer.providerModel
}

/** True for a model that refuses calls of its own without their signatures. */
export function checksSignatures(name: string): boolean {
  return (generationOf(name) ?? 0) >= FIRST_WITH_LEVELS
}
