import type { DoorWorld } from './door-world.ts'
import type { Input } from './doors.ts'

/** An operation at its doors: the root field of GraphQL and the path of tRPC. Its REST row has the operation's name. */
export type DoorRow = {
  readonly operation: string
  readonly graphql: string
  readonly trpc: string
  /** The caller. By default the session of the user who has one of everything. */
  readonly by?: keyof DoorWorld['callers']
  /**
   * The input. A function makes it again for each door, with new things to work on. The times, ids and secrets of the
   * answers are not compared then.
   */
  readonly input?: (world: DoorWorld) => Input | Promise<Input>
  readonly isFresh?: true
  /**
   * Names that another door leaves out: its path has them, it answers with a redirect, or they follow from the other
   * fields.
   */
  readonly beyond?: readonly string[]
  /** The member by which items are sorted, for lists whose items arrive in the order of their completion. */
  readonly orderBy?: string
}

export const reads = (operation: string, graphql: string, trpc: string, input?: DoorRow['input']): DoorRow => ({
  operation,
  graphql,
  trpc,
  ...(input === undefined ? {} : { input }),
})
export const changes = (
  operation: string,
  graphql: string,
  trpc: string,
  input: DoorRow['input'] = () => ({}),
): DoorRow => ({
  operation,
  graphql,
  trpc,
  input,
  isFresh: true,
})
export const by = (who: NonNullable<DoorRow['by']>, rows: readonly DoorRow[]): DoorRow[] =>
  rows.map((row) => ({ ...row, by: who }))

export const without = (beyond: readonly string[], row: DoorRow): DoorRow => ({ ...row, beyond })
export const link = (operation: string, graphql: string, trpc: string, input?: DoorRow['input']) =>
  without(['expires_at'], changes(operation, graphql, trpc, input))
