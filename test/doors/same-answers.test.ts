import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROWS } from '#control-plane/api/rest/door.ts'
import type { DoorRow } from '#test/support/door-rows.ts'
import { DOOR_ROWS } from '#test/support/door-rows.ts'
import type { DoorWorld } from '#test/support/door-world.ts'
import { createDoorWorld } from '#test/support/door-world.ts'
import type { DoorCall, Input, Said } from '#test/support/doors.ts'
import { graphCall, mutations, PROCEDURES, queries, restCall, trpcCall } from '#test/support/doors.ts'
import { differences, steady } from '#test/support/same-answer.ts'

let world: DoorWorld
let calls = 0

beforeAll(async () => {
  world = await createDoorWorld()
}, 120_000)
afterAll(() => world?.market.stop())

/** What has one door: cookies, files and retired paths on REST; on tRPC what operators change, and what they look into. */
const REST_ALONE = ['export.download', 'fallback-key.retired', 'session.create', 'session.end']
const TRPC_ALONE = [
  ...['alias.put', 'alias.remove', 'catalog.diff', 'catalog.import', 'conflict.resolve', 'credit.grant'],
  ...['deposit.recordFiat', 'feature.put', 'hold.release', 'invariants.run', 'ledger.adjust', 'ledger.read'],
  ...['ledger.reverse', 'marketOffer.delist', 'marketOffer.restore', 'payoutHold.clear', 'poison.discard'],
  ...['poison.read', 'poison.retry', 'price.put', 'provider.put', 'provider.remove', 'provider.trust', 'queue.failed'],
  ...['queue.retry', 'rateLimit.put', 'refund.fiat', 'shortfall.explain', 'snapshot.republish', 'user.create'],
]
/** Of GraphQL's own shape. */
const GRAPHQL_ALONE = ['errorKinds', 'node', 'nodes', 'viewer']

const missing = (all: readonly string[], known: readonly string[]) =>
  [...new Set(all)].filter((name) => !known.includes(name))

/** An operation at each of its doors. */
function doorsOf({ operation, graphql, trpc }: DoorRow): Record<string, DoorCall> {
  const { market } = world
  const rest = restCall(market, operation)
  return {
    ...(rest === undefined ? {} : { REST: rest }),
    GraphQL: graphCall(market, graphql),
    tRPC: trpcCall(market, trpc),
  }
}

/** What each operation was asked last: a caller who is refused asks the same. */
const asked = new Map<string, Input>()

/** What every door says to a caller. */
async function askAll(row: DoorRow, by: keyof DoorWorld['callers'], inputOf: () => Promise<Input>) {
  const said: Record<string, Said> = {}
  for (const [door, call] of Object.entries(doorsOf(row))) {
    const headers = { 'idempotency-key': `same-${++calls}`, ...world.callers[by] }
    said[door] = await call(await inputOf(), headers)
  }
  return said
}

/** The answer of a door. Fails where it refused. */
function answerOf(door: string, said: Said | undefined): unknown {
  if (said === undefined || 'code' in said) expect.fail(`${door} refused with ${said?.code ?? 'nothing'}`)
  return said.answer
}

describe('operations', () => {
  it('have a row here where two doors have them', () => {
    const of = (pick: (row: DoorRow) => string) => DOOR_ROWS.map(pick)
    const onRest = ROWS.map(({ operation }) => operation)
    expect(missing(onRest, [...of(({ operation }) => operation), ...REST_ALONE])).toEqual([])
    expect(missing(Object.keys(PROCEDURES), [...of(({ trpc }) => trpc), ...TRPC_ALONE])).toEqual([])
    const fields = Object.keys({ ...queries(), ...mutations() })
    expect(missing(fields, [...of(({ graphql }) => graphql), ...GRAPHQL_ALONE])).toEqual([])
    expect(new Set(of(({ operation }) => operation)).size).toBe(DOOR_ROWS.length)
  })
})

describe.each(DOOR_ROWS.map((row) => [row.operation, row] as const))('%s', (operation, row) => {
  const { by = 'session', isFresh, beyond } = row

  it('answers the same at every door', async () => {
    const said = await askAll(row, by, async () => {
      const input = (await row.input?.(world)) ?? {}
      asked.set(operation, input)
      return input
    })
    const base = 'REST' in said ? 'REST' : 'tRPC'
    const whole = answerOf(base, said[base])
    for (const [door, other] of Object.entries(said).filter(([name]) => name !== base)) {
      const told = answerOf(door, other)
      const found = isFresh ? differences(steady(told), steady(whole), beyond) : differences(told, whole, beyond)
      // What REST answers without a body is said by the others alone.
      if (whole !== undefined) expect([door, found]).toEqual([door, []])
    }
  })

  it.skipIf(by === 'nobody')('refuses the same callers with the same code at every door', async () => {
    const input = async () => asked.get(operation) ?? {}
    const wrong = by === 'operator' ? 'session' : 'operator'
    for (const [who, code] of [
      ['nobody', 'authentication_required'],
      [wrong, 'wrong_key_type'],
    ] as const) {
      for (const [door, said] of Object.entries(await askAll(row, who, input))) {
        expect([who, door, said]).toEqual([who, door, { code }])
      }
    }
  })
})
