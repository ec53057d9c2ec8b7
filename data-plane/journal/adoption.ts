import type { Cancel, Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { JournalRoot, LeftDirectory } from './boot-lock.ts'
import { adoptLeftDirectories } from './boot-lock.ts'

/** How often a living process looks for directories of dead ones. */
const ADOPTION_INTERVAL_MS = 3 * SECOND

/** What a dead process left, and where it stands in this journal: the captures numbered `from` to `to`. */
export type Inheritance = {
  /** The name under which the dead process took part in the gate, where its lock still told. */
  readonly member: string | undefined
  /** True when all that it captured and nobody posted is in here, and not in the journal of an earlier heir. */
  readonly isFirstHand: boolean
  readonly from: number
  readonly to: number
}

type Options = {
  readonly root: JournalRoot
  readonly boot: string
  readonly clock: Time
  readonly log: Logger
  /** Takes one directory over: captures again what is in it. Answers false when an earlier heir did. */
  takeOver(path: string): Promise<boolean>
  /** The sequence number of the last record of this journal. */
  lastSeq(): number
  isWritable(): boolean
}

/** The directories of dead processes on their way into this journal. */
export type Adoption = {
  /** Looks once and takes over what is left. Throws what `takeOver` throws. */
  adopt(): Promise<void>
  /** Looks again and again, and tells the log alone of what does not work. */
  start(): void
  /** Resolves when nothing is being taken over any more. */
  stop(): Promise<void>
  /** What was taken over and not yet crossed off. */
  inherited(): readonly Inheritance[]
  crossOff(inheritance: Inheritance): void
  /** The first sequence number that may belong to what was taken over and not yet crossed off. */
  firstOpen(): number
  /** The directories that were taken over, in which nothing is left that anybody needs once they are finished. */
  readonly paths: readonly string[]
}

export function createAdoption(options: Options): Adoption {
  const { root, boot, clock, log, takeOver, lastSeq, isWritable } = options
  const paths: string[] = []
  const waiting: LeftDirectory[] = []
  const inherited = new Set<Inheritance>()
  let begun = Number.MAX_SAFE_INTEGER
  let looking: Promise<void> | undefined
  let cancel: Cancel | undefined

  async function adopt(): Promise<void> {
    waiting.push(...(await adoptLeftDirectories(root, boot, clock.now())))
    for (const left of [...waiting]) {
      await adoptOne(left)
      paths.push(left.path)
      waiting.splice(waiting.indexOf(left), 1)
    }
  }

  async function adoptOne({ path, member }: LeftDirectory): Promise<void> {
    const from = lastSeq() + 1
    begun = from
    let isWhole = false
    let isFirstHand = false
    try {
      isFirstHand = await takeOver(path)
      isWhole = true
    } finally {
      // What was captured before an error goes to the gate as well; the member stays until the rest has come, too.
      const to = lastSeq()
      if (isWhole || to >= from) inherited.add({ member: isWhole ? member : undefined, isFirstHand, from, to })
      begun = Number.MAX_SAFE_INTEGER
    }
  }

  function look(): void {
    if (looking !== undefined || !isWritable()) return
    looking = adopt()
      .catch((error: unknown) => {
        log.error({ cause: describeCause(error) }, 'the journal of a dead process could not be taken over')
        // What is damaged waits for a start at which an operator says what is to become of it.
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
    firstOpen: () => Math.min(begun, ...[...inherited].map((inheritance) => inheritance.from)),
    paths,
  }
}
