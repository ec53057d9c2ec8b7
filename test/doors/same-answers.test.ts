import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROWS } from '#control-plane/api/rest/door.ts'
import type { Database } from '#control-plane/db/database.ts'
import { MINUTE } from '#shared/clock.ts'
import { withAuditFault } from '#test/support/books/audit-faults.ts'
import { differences, inOrderOf, steady } from '#test/support/bytes/same-answer.ts'
import type { DoorRow } from '#test/support/doors/door-row.ts'
import { DOOR_ROWS } from '#test/support/doors/door-rows.ts'
import type { DoorWorld } from '#test/support/doors/door-world.ts'
import { createDoorWorld } from '#test/support/doors/door-world.ts'
import type { DoorCall, Input, Said } from '#test/support/doors/doors.ts'
import { graphCall, mutations, PROCEDURES, queries, restCall, trpcCall } from '#test/support/doors/doors.ts'
import type { Attacked } from '#test/support/doors/hostile-inputs.ts'
import { attackedAt, NO_NUMBERS, strikeAll, takesNumber, UNSTORABLE } from '#test/support/doors/hostile-inputs.ts'
import { readOperations } from '#test/support/facts/input-members.ts'

let world: DoorWorld
let calls = 0

beforeAll(async () => {
  world = await createDoorWorld()
})
afterAll(() => world?.market.stop())

/** Operations with one door: on REST cookies, files and retired paths; on tRPC operators' own. */
const REST_ALONE = [
  'export.download',
  'fallback-key.retired',
  'session.create',
  'session.end',
  'key-session.create',
  'key-session.end',
  'sign-in-code.create',
  'playground.open',
  'passkey.challenge',
  'passkey-account.create',
  'passkey-session.create',
  'passkey.create',
  'passkey.remove',
  'email-link.create',
  'email-link.read',
  'email-session.create',
  'email.create',
  'email.remove',
  'alert.unsubscribe',
  'recovery-code.create',
  'recovery-session.create',
  'wallet.challenge',
  'wallet.link',
  'sample-session.create',
  'sample-credit.take',
  'usage.activity',
]
const TRPC_ALONE = [
  'allowance.owing',
  'catalog.compare',
  'catalog.refresh',
  'conflict.resolve',
  'deposit.assign',
  'deposit.recordFiat',
  'journal.repost',
  'payments.forgive',
  'payouts.drain',
  'payouts.startSeller',
  'payouts.stopSeller',
  'poison.discard',
  'poison.read',
  'poison.retry',
  'provider.compare',
  'provider.put',
  'provider.remove',
  'provider.trust',
  'queue.failed',
  'lentOffer.block',
  'lentOffer.restore',
  'resource.history',
  'resource.list',
  'resource.preview',
  'resource.put',
  'queue.retry',
  'rateLimit.put',
  'shortfall.explain',
  'snapshot.republish',
  'treasury.acceptChain',
  'treasury.await',
  'treasury.chain',
  'treasury.fund',
  'treasury.payout',
  'treasury.reconcile',
  'treasury.retire',
  'treasury.withdraw',
  'user.create',
]
/** Fields that belong to GraphQL's own shape. */
const GRAPHQL_ALONE = ['errorKinds', 'node', 'nodes', 'service', 'viewer']

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

/** A record's id, or that of a call. */
const RECORD = /^(?:[a-z]{2,4}_)?[0-9A-HJKMNP-TV-Z]{26}$/

/** Sends the same request to every door. */
async function askAll(row: DoorRow, by: keyof DoorWorld['callers'], inputOf: () => Promise<Input>) {
  const said: Record<string, Said> = {}
  for (const [door, call] of Object.entries(doorsOf(row))) {
    const headers = { 'idempotency-key': `same-${++calls}`, ...world.callers[by] }
    said[door] = await call(await inputOf(), headers)
  }
  return said
}

/** The answer of a door. Fails when the door refused. */
function answerOf(door: string, said: Said | undefined): unknown {
  if (said === undefined || 'code' in said) expect.fail(`${door} refused with ${said?.code ?? 'nothing'}`)
  return said.answer
}

describe('operations', () => {
  it('have a row here when they have two doors', () => {
    const of = (pick: (row: DoorRow) => string) => DOOR_ROWS.map(pick)
    const onRest = ROWS.map(({ operation }) => operation)
    expect(missing(onRest, [...of(({ operation }) => operation), ...REST_ALONE])).toEqual([])
    expect(missing(Object.keys(PROCEDURES), [...of(({ trpc }) => trpc), ...TRPC_ALONE])).toEqual([])
    const fields = Object.keys({ ...queries(), ...mutations() })
    expect(missing(fields, [...of(({ graphql }) => graphql), ...GRAPHQL_ALONE])).toEqual([])
    expect(new Set(of(({ operation }) => operation)).size).toBe(DOOR_ROWS.length)
  })
})

/**
 * Sends the request to each door and compares the answers. A row may have an input for each door. Returns the last
 * input.
 */
async function expectSameAnswers(row: DoorRow): Promise<Input> {
  const { by = 'session', isFresh, beyond, orderBy } = row
  let input: Input = {}
  const said = await askAll(row, by, async () => {
    input = (await row.input?.(world)) ?? {}
    return input
  })
  const base = 'REST' in said ? 'REST' : 'tRPC'
  const told = (door: string) => {
    const answer = answerOf(door, said[door])
    const ordered = orderBy === undefined ? answer : inOrderOf(orderBy, answer)
    return isFresh ? steady(ordered) : ordered
  }
  const whole = told(base)
  // REST answers without a body. Only the other doors are compared.
  if (whole === undefined) return input
  for (const door of Object.keys(said)) expect([door, differences(told(door), whole, beyond)]).toEqual([door, []])
  // GraphQL shows the members of its types. REST and tRPC show all members.
  expect(differences(whole, told('tRPC'))).toEqual([])
  return input
}

async function expectSameRefusals(row: DoorRow, by: keyof DoorWorld['callers'], input: Input, code: string) {
  for (const [door, said] of Object.entries(await askAll(row, by, async () => input))) {
    expect([by, door, said]).toEqual([by, door, { code }])
  }
}

const titled = (rows: readonly DoorRow[]) => rows.map((row) => [row.operation, row] as const)

describe('at every door', () => {
  it.each(titled(DOOR_ROWS.filter(({ by }) => by === 'nobody')))(
    '%s answers the same to all callers',
    async (_name, row) => {
      await expectSameAnswers(row)
    },
  )

  it.each(titled(DOOR_ROWS.filter(({ by }) => by === 'operator')))(
    '%s is the same, for operators',
    async (_name, row) => {
      const input = await expectSameAnswers(row)
      await expectSameRefusals(row, 'nobody', input, 'authentication_required')
      await expectSameRefusals(row, 'session', input, 'wrong_key_type')
    },
  )

  it.each(titled(DOOR_ROWS.filter(({ by }) => by === undefined)))(
    '%s is the same, for the owner of its records',
    async (_name, row) => {
      const input = await expectSameAnswers(row)
      await expectSameRefusals(row, 'nobody', input, 'authentication_required')
      await expectSameRefusals(row, 'operator', input, 'wrong_key_type')
      const isAboutRecord = Object.values(input).some((value) => typeof value === 'string' && RECORD.test(value))
      if (isAboutRecord) await expectSameRefusals(row, 'stranger', input, 'not_found')
    },
  )
})

/** Every operation with an input whose things exist. */
let attacked: readonly Attacked[]

/** Inputs of operators' changes that cannot be built from a sample of each member. */
const readyFor = ({ wallet: { address: wallet } }: DoorWorld): Readonly<Record<string, Input>> => ({
  'credit.grant': { wallet, amountUsd: 1, ticket: 'T-1', note: 'a test' },
  'deposit.recordFiat': { wallet, amountUsd: 1, eventId: 'evt_1' },
  'ledger.adjust': { wallet, direction: 'credit', amountUsd: 1, ticket: 'T-2', reason: 'a test' },
  'journal.repost': { since: new Date(Date.now() - MINUTE).toISOString(), reason: 'a test' },
  'provider.trust': { id: 'test', isTrusted: false, reason: 'a test' },
  'rate-limit.put': { name: 'read', perKey: 5 },
})

describe('a change whose audit row is refused', () => {
  it('does not happen, for any operation', async () => {
    const { db } = world.market.plane
    const changed: string[] = []
    let refused = 0
    attacked = await attackedAt(world, await readOperations())
    const ready = readyFor(world)
    let before = await readTables(db)
    for (const { operation, by, doors, input } of attacked) {
      const all = Object.values(doors)
      const call = all[calls % all.length]
      if (call === undefined || operation.limit === 'read' || operation.isAudited === false) continue
      // The checker stops payouts at a breach, under every caller. A stop does not wait for the audit.
      if (operation.name === 'invariants.run') continue
      // The commit is the last moment at which a row can be refused.
      const said = await withAuditFault(db, { fault: 'refuses the row at the commit' }, () =>
        call(ready[operation.name] ?? input, { 'idempotency-key': `audit-${++calls}`, ...world.callers[by] }),
      )
      if ('code' in said && said.code === 'internal_error') refused += 1
      const after = await readTables(db)
      const tables = [...after].filter(([table, text]) => before.get(table) !== text).map(([table]) => table)
      if (tables.length > 0) changed.push(`${operation.name}: ${tables.join(', ')}`)
      before = after
    }
    expect(changed).toEqual([])
    expect(refused).toBeGreaterThan(50)
  })
})

/** Shares of the operations. A busy machine attacks all of them for longer than one test may take. */
const SHARES = 10
/** Fewer texts than any share sends. */
const SENT_EACH = 200

describe('a hostile text in any member of any operation', () => {
  it.each([...Array(SHARES).keys()])(
    'causes no server error, and is never stored or read as a number: share %i',
    async (share) => {
      const faults: string[] = []
      let sent = 0
      for (const each of attacked.filter((_, index) => index % SHARES === share)) {
        for (const { door, member, value, said } of await strikeAll(world, each)) {
          sent += 1
          const takes = (given: unknown) => member.schema.safeParse(given).success
          const isRead = !takes(Symbol('anything'))
          // GraphQL may lack the member, and an address cannot contain a lone surrogate.
          const isExact = door === 'tRPC' || (door === 'REST' && value !== '\ud800')
          const isRefused = 'code' in said
          const mayNot = UNSTORABLE.includes(value) || (takesNumber(member) && NO_NUMBERS.includes(value))
          const isFault = isRefused ? isOurFault(said.code) : isExact && isRead && mayNot
          const name = `${each.operation.name} at ${door}: ${member.path.join('.')}`
          if (isFault) faults.push(`${name} ${JSON.stringify(value.slice(0, 20))} ${isRefused ? said.code : 'taken'}`)
        }
      }
      expect(faults).toEqual([])
      expect(sent).toBeGreaterThan(SENT_EACH)
    },
  )
})

function isOurFault(code: string): boolean {
  return code === 'internal_error' || code === 'service_unavailable' || code === 'INTERNAL_SERVER_ERROR'
}

/** Tables that record a caller, a try, a repeat, a beat or a measurement, and no change of an operation. */
const NOTES = ['audit_log', 'idempotency', 'used_nonce', 'money_epoch', 'invariant_run']

/** A digest of every table, in one query: an operation is called about a hundred times. */
async function readTables(db: Database): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ name: string }>`select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`.execute(db)
  const digests = rows
    .filter(({ name }) => !NOTES.includes(name))
    .map(
      ({ name }) => sql`select ${sql.lit(name)} as name, md5(string_agg(x::text, '' order by x::text)) as digest
        from (select to_jsonb(t) - 'last_used_at' - 'last_seen_at' as x from ${sql.table(name)} t) all_rows`,
    )
  const found = await sql<{ name: string; digest: string | null }>`${sql.join(digests, sql` union all `)}`.execute(db)
  return new Map(found.rows.map(({ name, digest }) => [name, digest ?? '']))
}
