import { readFileSync, writeFileSync } from 'node:fs'
import type { Operation } from './plan/plan.ts'

/** A shortened plan that has shown a mutant before. It has a few operations, so that playing it takes no time. */
export type KeptCase = { readonly seed: number; readonly operations: readonly Operation[] }
/** The kept case of each mutant that has one, by its name. */
export type KeptCases = ReadonlyMap<string, KeptCase>

const FILE = new URL('fixtures/kept-cases.json', import.meta.url)
const FALSE_ALARMS = new URL('fixtures/false-alarms.json', import.meta.url)

export function readKeptCases(): KeptCases {
  return readCases(FILE)
}

/** Plans in which a check reported a breach although the product was right. */
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
