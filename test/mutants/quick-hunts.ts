import type { Hunt } from '#test/sim/hunt.ts'
import { HUNT_OPERATIONS, seekNotice } from '#test/sim/hunt.ts'
import { readKeptCases, writeKeptCases } from '#test/sim/kept-cases.ts'
import { planOf } from '#test/sim/plan/plan.ts'
import type { Runner } from '#test/sim/run.ts'
import { runOperations } from '#test/sim/run.ts'
import { shrink } from '#test/sim/shrink.ts'
import type { Flaw } from '#test/sim/world/flaws.ts'
import { FLAWS } from '#test/sim/world/flaws.ts'
import { MUTANTS } from './index.ts'
import type { Workshop } from './judge-by-simulation.ts'

/** A mistake that every test run looks for. */
export type QuickHunt = Hunt & { readonly name: string; start(workshop: Workshop): Promise<Runner> }

/** The flaws of the simulated world, and the mutants of the product that are noticed soon. */
export function quickHunts(): QuickHunt[] {
  const kept = readKeptCases()
  const mutants = MUTANTS.flatMap((mutant): QuickHunt[] => {
    const { name, noticedBy } = mutant
    if (noticedBy.by !== 'simulation' || !noticedBy.isQuick) return []
    const { mostSeeds: most, shares } = noticedBy
    return [{ name, most, shares, kept: kept.get(name), start: (workshop) => workshop.build(mutant) }]
  })
  const shares = { relays: 0, jobs: 0, wallets: 0 }
  const flaws = (Object.keys(FLAWS) as Flaw[]).map((flaw): QuickHunt => {
    const run: Runner = (seed, operations) => runOperations(seed, operations, { flaw })
    return { name: flaw, most: FLAWS[flaw], shares, kept: kept.get(flaw), start: async () => run }
  })
  return [...flaws, ...mutants]
}

/** Stores a small case for each mistake whose case no longer shows it. Returns the names of the unnoticed mistakes. */
export async function keepCases(hunts: readonly QuickHunt[], workshop: Workshop): Promise<string[]> {
  const cases = new Map(readKeptCases())
  const survivors: string[] = []
  for (const { name, kept, most, shares, start } of hunts) {
    const run = await start(workshop)
    if (kept !== undefined && (await run(kept.seed, kept.operations)).error !== undefined) continue
    const found = await seekNotice(run, { most, shares })
    if (found === undefined) {
      survivors.push(name)
      continue
    }
    const { operations } = await shrink(found.seed, planOf(found.seed, HUNT_OPERATIONS, shares), run)
    cases.set(name, { seed: found.seed, operations })
    writeKeptCases(cases)
  }
  return survivors
}
