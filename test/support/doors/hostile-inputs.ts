import { ROWS } from '#control-plane/api/rest/door.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { KnownOperation, Member } from '#test/support/facts/input-members.ts'
import { membersOf, sampleOf, withMember } from '#test/support/facts/input-members.ts'
import { DOOR_ROWS } from './door-rows.ts'
import type { DoorWorld } from './door-world.ts'
import type { DoorCall, Input, Said } from './doors.ts'
import { graphCall, PROCEDURES, restCall, trpcCall } from './doors.ts'

/** Texts that no operation may store. */
export const UNSTORABLE = ['a\u0000b', '\ud800']
/** Texts that some readers accept as a number although they are not one. */
export const NO_NUMBERS = ['0x10', '+5', ' 5']
const LONG = 'x'.repeat(1_000_000)
/** Longer than any member may be. */
const RATHER_LONG = 'x'.repeat(70_000)
/** The longest text that fits into the head of a request. */
const LONG_IN_ADDRESS = 'x'.repeat(8_000)

/** An operation, its caller and its doors. */
export type Attacked = {
  readonly operation: KnownOperation
  readonly by: keyof DoorWorld['callers']
  readonly doors: Readonly<Record<string, DoorCall>>
  readonly input: Input
}
/** A hostile value in one member at one door, and the answer of the door. */
export type Struck = {
  readonly door: string
  readonly member: Member
  readonly value: string
  readonly said: Said
}

const plain = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '')

/** Finds the operation of every tRPC procedure and REST row. Throws for one without an operation. */
export async function attackedAt(
  world: DoorWorld,
  operations: ReadonlyMap<string, KnownOperation>,
): Promise<readonly Attacked[]> {
  const { market } = world
  const known = new Map([...operations.values()].map((operation) => [plain(operation.name), operation]))
  const find = (name: string) => {
    // Operators' changes to an offer are under `marketOffer`, beside those of its seller.
    const operation = known.get(plain(name)) ?? known.get(plain(name).replace(/^market/, ''))
    if (operation === undefined) throw new Error(`no operation of the services is called ${name}`)
    return operation
  }
  const listed = DOOR_ROWS.map(async (row): Promise<Attacked> => {
    const rest = restCall(market, row.operation)
    const doors = { GraphQL: graphCall(market, row.graphql), tRPC: trpcCall(market, row.trpc) }
    return {
      operation: find(row.operation),
      by: row.by ?? 'session',
      doors: rest === undefined ? doors : { ...doors, REST: rest },
      input: (await row.input?.(world)) ?? {},
    }
  })
  const atDoors = new Set(DOOR_ROWS.flatMap(({ operation, trpc }) => [operation, trpc]))
  const single = (name: string, door: string, call: DoorCall): Attacked => {
    const operation = find(name)
    const sample = sampleOf(operation.input)
    const input: Input = typeof sample === 'object' && sample !== null ? { ...sample } : {}
    return { operation, by: operation.access === 'operator' ? 'operator' : 'session', doors: { [door]: call }, input }
  }
  const onTrpc = Object.keys(PROCEDURES).filter((path) => !atDoors.has(path))
  const onRest = ROWS.filter(({ operation }) => !atDoors.has(operation))
  return [
    ...(await Promise.all(listed)),
    ...onTrpc.map((path) => single(path, 'tRPC', trpcCall(market, path))),
    ...onRest.flatMap(({ operation }) => {
      const call = restCall(market, operation)
      return call === undefined ? [] : [single(operation, 'REST', call)]
    }),
  ]
}

/**
 * Sends every hostile value in every member of an operation's input to each of its doors. A long text goes to one door
 * for each member, in turn. In one member of an operation it is a megabyte, which takes as long as all the others
 * together.
 */
export async function strikeAll(world: DoorWorld, { operation, by, doors, input }: Attacked): Promise<Struck[]> {
  const strikes = membersOf(operation.input)
    .filter(({ path }) => path.length > 0)
    .flatMap((member, at) =>
      Object.entries(doors).flatMap(([door, call], doorAt) => {
        const longest = at === 0 ? LONG : RATHER_LONG
        const long = door === 'REST' && isInAddress(operation.name) ? LONG_IN_ADDRESS : longest
        const isLongHere = at % Object.keys(doors).length === doorAt
        const asNumbers = takesNumber(member) ? NO_NUMBERS : []
        const values = [...UNSTORABLE, ...asNumbers, '__proto__', ...(isLongHere ? [long] : [])]
        return values.map((value) => ({ member, door, call, value }))
      }),
    )
  const struck: Struck[] = []
  await inParallel(strikes, AT_ONCE, async ({ member, door, call, value }) => {
    const headers = { 'idempotency-key': `hostile-${++sent}`, ...world.callers[by] }
    const hostile: Input = { ...Object(withMember(input, member.path, value)) }
    struck.push({ door, member, value, said: await call(hostile, headers) })
  })
  return struck
}
/** True for a member that is a number, whatever its bounds. */
export function takesNumber({ schema }: Member): boolean {
  return schema.safeParse(5).success || schema.safeParse(10).success
}

const AT_ONCE = 8
let sent = 0

function isInAddress(operation: string): boolean {
  return ROWS.some((row) => row.operation === operation && (row.method === 'GET' || row.path.includes(':')))
}
