import { availableParallelism, loadavg } from 'node:os'
import type { CallSeen } from './client.ts'
import type { Load, LoadOptions } from './load.ts'
import { startLoad } from './load.ts'
import { askProviders, verify } from './verify.ts'
import { watchLedger } from './watch.ts'
import type { World, WorldOptions } from './world.ts'

/** What a row works with. */
export type Stage = {
  readonly world: World
  /** True in the short selection, which has less of everything. */
  readonly isQuick: boolean
  /** A load whose calls are judged at the end of the row. */
  load(options?: LoadOptions): Load
  /** Judges calls that were made by hand. */
  saw(...calls: readonly CallSeen[]): void
  /** A figure for the report. */
  figure(name: string, value: number | string): void
  /** A figure with a limit: it must hold where nobody else works the machine. */
  target(name: string, value: number, most: number): void
  /** Says that the row cannot be run here, and why. */
  skip(why: string): void
  /** Something that must hold. */
  require(holds: boolean, otherwise: string): void
}

/** A fault, and what it must not be able to break. */
export type Row = {
  readonly number: string
  readonly title: string
  /** True for those that the tests of every change run. */
  readonly isQuick?: boolean
  /** True for one that waits for minutes: it has a world of its own, beside the others of its kind. */
  readonly isLong?: boolean
  /** What a world of its own is made of; a row without shares one with the others. */
  readonly world?: WorldOptions
  run(stage: Stage): Promise<void>
}

export type Result = {
  readonly row: Row
  /** Nothing when all of it held. */
  readonly wrong: readonly string[]
  /** Why the row was not run. */
  readonly skipped: string | undefined
  readonly tookMs: number
  readonly figures: ReadonlyMap<string, number | string>
}

/** A row alone brings two or three processes that want to run to every core; beyond that others do. */
const MOST_LOAD = 4

const loadPerCore = (): number => (loadavg()[0] ?? 0) / availableParallelism()

/** `isWatched` has the ledger checked all the while, not at the end alone. */
export type RunOptions = { readonly isQuick: boolean; readonly isWatched?: boolean }

/** Runs a row and judges what it left. */
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
