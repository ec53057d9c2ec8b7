import { readFileSync, writeFileSync } from 'node:fs'
import type { Operation } from './plan.ts'

/** A plan made small that showed a mutant once. It is a few operations long, so that it is played in no time. */
export type KeptCase = { readonly seed: number; readonly operations: readonly Operation[] }
/** The kept case of each mutant that has one, by its name. */
export type KeptCases = ReadonlyMap<string, KeptCase>

const FILE = new URL('fixtures/kept-cases.json', import.meta.url)

export function readKeptCases(): KeptCases {
  const read: Readonly<Record<string, KeptCase>> = JSON.parse(readFileSync(FILE, 'utf8'))
  return new Map(Object.entries(read))
}

export function writeKeptCases(cases: KeptCases): void {
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(cases), null, 1)}\n`)
}
