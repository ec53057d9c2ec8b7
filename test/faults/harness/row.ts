import { availableParallelism, loadavg } from 'node:os'
import type { CallSeen } from './client.ts'
import type { Load, LoadOptions } from './load.ts'
import { startLoad } from './load.ts'
import { askProviders, verify } from './verify.ts'
import { watchLedger } from './watch.ts'
import type { World, WorldOptions } from './world.ts'

/** The world and the requirements of a row. */
export type Stage = {
  readonly world: World
  /** True in the short selection, whose counts are smaller. */
  readonly isQuick: boolean
  /** Starts a load whose calls are judged at the end of the row. */
  load(options?: LoadOptions): Load
  /** Judges calls that the row made itself. */
  saw(...calls: readonly CallSeen[]): void
  /** Adds a figure to the report. */
  figure(name: string, value: number | string): void
  /** Adds a figure with an upper limit. The limit is binding only on a machine without other load. */
  target(name: string, value: number, most: number): void
  /** Reports that the row cannot be run here, and why. */
  skip(why: string): void
  /** Fails the row unless `holds` is true. */
  require(holds: boolean, otherwise: string): void
}

/** A fault, and the check that it breaks no promise. */
export type Row = {
  readonly number: string
  readonly title: string
  /** True for rows of the short selection, which the tests of every change run. */
  readonly isQuick?: boolean
  /** True for a row that waits for minutes. It has a world of its own and runs beside other such rows. */
  readonly isLong?: boolean
  /** The options of a world of its own. A row without options shares a world with the others. */
  readonly world?: WorldOptions
  run(stage: Stage): Promise<void>
}

export type Result = {
  readonly row: Row
  /** Failed requirements. Empty when all held. */
  readonly wrong: readonly string[]
  /** The reason why the row was not run. */
  readonly skipped: string | undefined
  readonly tookMs: number
  readonly figures: ReadonlyMap<string, number | string>
}

/** A row by itself has two or three runnable processes per core. With more, other programs load the machine. */
const MOST_LOAD = 4

const loadPerCore = (): number => (loadavg()[0] ?? 0) / availableParallelism()

/** `isWatched` checks the ledger during the row, not only at its end. */
export type RunOptions = { readonly isQuick: boolean; readonly isWatched?: boolean }

/** Runs a row and judges the state that it left. */
export async function runRow(world: World, row: Row, { isQuick, isWatched = false }: RunOptions): Promise<Result> {
  const began = performance.now()
  const seen: CallSeen[] = []
  const loads: Load[] = []
  const wrong: string[] = []
  const figures = new Map<string, number | string>()
  let skipped: string | undefined
  const before = await askProviders(world)
  const endWatch = isWatched ? watchLedger(world) : undefined
  try {
    await row.run({
      world,
      isQuick,
      load(options) {
        const load = startLoad(world, options)
        loads.push(load)
        return load
      },
      saw: (...calls) => void seen.push(...calls),
      figure: (name, value) => void figures.set(name, typeof value === 'number' ? Math.round(value) : value),
      target(name, value, most) {
        figures.set(name, Math.round(value))
        if (value <= most) return
        const text = `${name}: ${Math.round(value)}, at most ${most}`
        if (isQuick || loadPerCore() > MOST_LOAD) figures.set(`missed on a busy machine (${loadavg()[0]})`, text)
        else wrong.push(text)
      },
      skip(why) {
        skipped = why
      },
      require(holds, otherwise) {
        if (!holds) wrong.push(otherwise)
      },
    })
  } catch (error) {
    wrong.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  for (const load of loads) seen.push(...(await load.stop()))
  if (endWatch !== undefined) wrong.push(...(await endWatch()))
  const verdict = await verify(world, seen, before)
  figures.set('calls', seen.length)
  figures.set('charges', verdict.charges)
  return { row, wrong: [...wrong, ...verdict.wrong], skipped, tookMs: performance.now() - began, figures }
}
