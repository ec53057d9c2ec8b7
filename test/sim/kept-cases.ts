import { readFileSync, writeFileSync } from 'node:fs'
import type { Operation } from './plan/plan.ts'

/** A plan made small that showed a mutant once. It is a few operations long, so that it is played in no time. */
export type KeptCase = { readonly seed: number; readonly operations: readonly Operation[] }
/** The kept case of each mutant that has one, by its name. */
export type KeptCases = ReadonlyMap<string, KeptCase>

const FILE = new URL('fixtures/kept-cases.json', import.meta.url)
const FALSE_ALARMS = new URL('fixtures/false-alarms.json', import.meta.url)

export function readKeptCases(): KeptCases {
  return readCases(FILE)
}

/** Plans in which a check raised an alarm and the product was right. */
export function readFalseAlarms(): KeptCases {
  return readCases(FALSE_ALARMS)
}

function readCases(file: URL): KeptCases {
  const read: Readonly<Record<string, KeptCase>> = JSON.parse(readFileSync(file, 'utf8'))
  return new Map(Object.entries(read))
}

/** Writes each operation on a line of its own. */
export function writeKeptCases(cases: KeptCases): void {
  const texts = [...cases].map(([name, { seed, operations }]) => {
    const lines = operations.map((operation) => `  ${JSON.stringify(operation)}`)
    return ` "${name}": { "seed": ${seed}, "operations": [\n${lines.join(',\n')}\n ] }`
  })
  writeFileSync(FILE, `{\n${texts.join(',\n')}\n}\n`)
}
