import type { Edit } from '#test/support/replace-once.ts'

/** A mistake in one place of one file, which a test file has to notice. */
export type TestMutant = Edit & {
  readonly name: string
  /** The test file below `test/`, without its ending. */
  readonly caughtBy: string
}
