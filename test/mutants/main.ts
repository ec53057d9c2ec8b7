/**
 * `npm run test:mutants [-- --only NAME,NAME] [-- --by simulation|tests|rows] [-- --keep]`: makes each mistake of this
 * folder alone, and runs the tests that must notice it. `--keep` stores a new small case for each quick mistake of the
 * simulation whose old case no longer shows it. Exits with 1 when a mistake is not noticed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { REPOSITORY } from '#dev/network/programs.ts'
import { SECOND } from '#shared/clock.ts'
import { readKeptCases } from '#test/sim/kept-cases.ts'
import { replaceOnce } from '#test/support/sources/replace-once.ts'
import { MUTANTS } from './index.ts'
import type { Verdict } from './judge.ts'
import { createRowJudge } from './judge-by-rows.ts'
import { createSimulationJudge, createWorkshop } from './judge-by-simulation.ts'
import { createTestJudge } from './judge-by-tests.ts'
import type { Mutant } from './mutant.ts'
import { keepCases, quickHunts } from './quick-hunts.ts'

const { values } = parseArgs({
  options: { only: { type: 'string' }, by: { type: 'string' }, keep: { type: 'boolean', default: false } },
})
const wanted = values.only?.split(',')
const isWanted = ({ name }: { readonly name: string }) => wanted?.includes(name) ?? true
const print = (line: string) => process.stdout.write(`${line}\n`)

/** Tries each mutant. Returns the number of unnoticed ones. */
async function tryMutants(chosen: readonly Mutant[]): Promise<number> {
  // A mutant whose text is no longer in its file is reported now, and not after an hour.
  for (const edit of chosen.flatMap(({ edits }) => edits)) {
    replaceOnce(readFileSync(join(REPOSITORY, edit.file), 'utf8'), edit)
  }
  const judges = {
    simulation: createSimulationJudge(readKeptCases()),
    tests: createTestJudge(),
    rows: createRowJudge(),
  }
  const judge = (mutant: Mutant): Promise<Verdict> => {
    const { noticedBy } = mutant
    if (noticedBy.by === 'simulation') return judges.simulation.judge(mutant, noticedBy)
    return noticedBy.by === 'tests' ? judges.tests.judge(mutant, noticedBy) : judges.rows.judge(mutant, noticedBy)
  }
  const begunAt = performance.now()
  const seconds = (since: number) => `${((performance.now() - since) / SECOND).toFixed(1)} s`
  let missed = 0
  try {
    for (const mutant of chosen) {
      const startedAt = performance.now()
      const { is, by } = await judge(mutant)
      if (is !== 'caught') missed += 1
      print(`${is} ${mutant.name} in ${seconds(startedAt)} by ${by}`)
    }
  } finally {
    for (const { close } of Object.values(judges)) await close()
  }
  print(`${chosen.length - missed} of ${chosen.length} mistakes are noticed, in ${seconds(begunAt)}`)
  return missed
}

async function keep(): Promise<number> {
  const workshop = createWorkshop()
  try {
    const survivors = await keepCases(quickHunts().filter(isWanted), workshop)
    for (const name of survivors) print(`MISSED ${name}`)
    return survivors.length
  } finally {
    await workshop.close()
  }
}

const chosen = MUTANTS.filter(
  (mutant) => isWanted(mutant) && (values.by ?? mutant.noticedBy.by) === mutant.noticedBy.by,
)
if (chosen.length === 0 && !values.keep)
  throw new Error(`no mutant has the name ${values.only} and is noticed by ${values.by}`)
process.exit((values.keep ? await keep() : await tryMutants(chosen)) > 0 ? 1 : 0)
