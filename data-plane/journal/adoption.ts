import type { Cancel, Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { JournalRoot, LeftDirectory } from './boot-lock.ts'
import { adoptLeftDirectories } from './boot-lock.ts'

/** Milliseconds between two searches for directories of dead processes. */
const ADOPTION_INTERVAL_MS = 3 * SECOND

/** The captures that were inherited from a dead process. In this journal they are numbered `from` to `to`. */
export type Inheritance = {
  /** The name of the dead process in the gate; undefined when its lock did not name it. */
  readonly member: string | undefined
  /** True when this journal has all its unposted captures, and no earlier heir has any of them. */
  readonly isFirstHand: boolean
  readonly from: number
  readonly to: number
}

type Options = {
  readonly root: JournalRoot
  readonly boot: string
  readonly clock: Time
  readonly log: Logger
  /** Takes one directory over and captures its records again. Returns false when an earlier heir did. */
  takeOver(path: string): Promise<boolean>
  /** The sequence number of the last record of this journal. */
  lastSeq(): number
  isWritable(): boolean
}

/** Takes the directories of dead processes over into this journal. */
export type Adoption = {
  /** Looks once and takes over the remaining directories. Throws the errors of `takeOver`. */
  adopt(): Promise<void>
  /** Looks again and again. Failures are only logged. */
  start(): void
  /** Resolves when no take-over is under way. */
  stop(): Promise<void>
  /** Inheritances that are not crossed off yet. */
  inherited(): readonly Inheritance[]
  crossOff(inheritance: Inheritance): void
  /** The first sequence number that may belong to an inheritance that is not crossed off. */
  firstOpen(): number
  /** The directories that were taken over. A finished directory can be removed. */
  readonly paths: readonly string[]
}

export function createAdoption(options: Options): Adoption {
  const { root, boot, clock, log, takeOver, lastSeq, isWritable } = options
  const paths: string[] = []
  const waiting: LeftDirectory[] = []
  const inherited = new Set<Inheritance>()
  let firstBegun = Number.MAX_SAFE_INTEGER
  let looking: Promise<void> | undefined
  let cancel: Cancel | undefined

  async function adopt(): Promise<void> {
    waiting.push(...(await adoptLeftDirectories(root, boot, clock.now())))
    for (const directory of [...waiting]) {
      await adoptOne(directory)
      paths.push(directory.path)
      waiting.splice(waiting.indexOf(directory), 1)
    }
  }

  async function adoptOne({ path, member }: LeftDirectory): Promise<void> {
    const from = lastSeq() + 1
    firstBegun = from
    let isWhole = false
    let isFirstHand = false
    try {
      isFirstHand = await takeOver(path)
      isWhole = true
    } finally {
      // Captures made before an error go to the gate as well. Their member stays on the list until the rest has
      // arrived.
      const to = lastSeq()
      if (isWhole || to >= from) inherited.add({ member: isWhole ? member : undefined, isFirstHand, from, to })
      firstBegun = Number.MAX_SAFE_INTEGER
    }
  }

  function look(): void {
    if (looking !== undefined || !isWritable()) return
    looking = adopt()
      .catch((error: unknown) => {
        log.error({ cause: describeCause(error) }, 'the journal of a dead process could not be taken over')
        // A damaged directory waits for a start at which an operator decides about it.
        if (error instanceof AppError && error.code === 'internal_error') waiting.shift()
      })
      .finally(() => {
        looking = undefined
      })
  }

  return {
    adopt,
    start() {
      cancel = clock.every(ADOPTION_INTERVAL_MS, look)
    },
    async stop() {
      cancel?.()
      await looking
    },
    inherited: () => [...inherited],
    crossOff: (inheritance) => void inherited.delete(inheritance),
    firstOpen: () => Math.min(firstBegun, ...[...inherited].map((inheritance) => inheritance.from)),
    paths,
  }
}
