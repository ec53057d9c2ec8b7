import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Seen } from '#test/support/outcomes/outcome-call.ts'
import { makeCall } from '#test/support/outcomes/outcome-call.ts'
import type { OutcomeMarket } from '#test/support/outcomes/outcome-market.ts'
import { startOutcomeMarket } from '#test/support/outcomes/outcome-market.ts'
import type { OutcomeRow } from '#test/support/outcomes/outcome-rows.ts'
import { OUTCOMES } from '#test/support/outcomes/outcome-rows.ts'
import type { WalletLine, WalletRow } from '#test/support/outcomes/outcome-wallets.ts'
import { driveWallets, WALLET_OUTCOMES, walletSection } from '#test/support/outcomes/outcome-wallets.ts'
import type { Ended, Health } from '#test/support/outcomes/outcome-words.ts'
import { EndedSchema, tableOf, wordsOf } from '#test/support/outcomes/outcome-words.ts'
import { until } from '#test/support/run/until.ts'

/** Bookings may wait on a busy machine. A batch that a starved worker lost goes to another after fifteen seconds. */
const BOOKED_MS = 45_000
let market: OutcomeMarket
type Line = { readonly seen: Seen; readonly ended: Ended | undefined }
/** Each row runs once, for its first reader. */
const lines = new Map<OutcomeRow, Promise<Line>>()

/** Each row has a model of its own, so that no row meets the health or the caps of another. */
const MODELS = new Map(
  OUTCOMES.flatMap(({ rows }, section) =>
    rows.map((row, index): [OutcomeRow, string] => {
      const job = row.job === undefined ? [] : [row.job.model]
      // The sample provider sells pictures by the token under names of this family.
      if (row.surface === 'pictures') job.push('gpt-image')
      if (row.family !== undefined) job.push(row.family)
      return [row, [`end-${section + 1}-${index + 1}`, ...job].join('-')]
    }),
  ),
)

/** Micro-USD per input token at which a few words cost more than the least payment. */
const DEAR = 100
const walletModel = (row: WalletRow) =>
  [`wallet-${WALLET_OUTCOMES.indexOf(row) + 1}`, ...(row.job === undefined ? [] : [row.job.model])].join('-')
const walletLines = new Map<WalletRow, Promise<readonly WalletLine[]>>()

/** Rows that end at a time of their own run beside each other. The first request for one of them starts all. */
const isTimed = ({ isBlocked, leaves }: WalletRow) => isBlocked === true || leaves !== undefined

function driveWallet(row: WalletRow): Promise<readonly WalletLine[]> {
  for (const other of isTimed(row) ? WALLET_OUTCOMES.filter(isTimed) : [row]) {
    if (walletLines.has(other)) continue
    const line = driveWallets(market, walletModel(other), other)
    // A failure is reported where the row is awaited.
    line.catch(() => undefined)
    walletLines.set(other, line)
  }
  return walletLines.get(row) ?? Promise.reject(new Error('there is no such row'))
}

beforeAll(async () => {
  market = await startOutcomeMarket()
  const listings = [...MODELS].map(([{ acts, offerCapUsd: capUsd, job, surface, overrides, facts, passes }, model]) => {
    const kind = { isJob: job !== undefined, isPicture: surface === 'pictures' }
    return { model, acts, capUsd, ...kind, overrides, facts, passes }
  })
  const byWallet = WALLET_OUTCOMES.map((row) => ({
    model: walletModel(row),
    acts: row.acts,
    microAToken: row.isCheap === true ? 1 : DEAR,
    isJob: row.job !== undefined,
    canStop: row.cannotStop !== true,
  }))
  await market.sell([...listings, ...byWallet, { model: 'end-last', acts: ['not-found'] }])
})
afterAll(() => market.stop())

/** The settlement of a call, once it is booked. */
async function endedOf({ rid, status, code = 'no error' }: Seen): Promise<Ended> {
  let row: Ended | undefined
  await until(`${rid} with ${status} and ${code} is booked`, BOOKED_MS, async () => {
    const found = await market.database.query('select * from settlement where rid = $1', [rid])
    row = found.rows[0] === undefined ? undefined : EndedSchema.parse(found.rows[0])
    if (row !== undefined) return true
    // An event that was set aside is never booked, so waiting would be in vain.
    const aside = await market.database.query('select reason, detail, event from usage_poison where rid = $1', [rid])
    if (aside.rows.length > 0) throw new Error(`${rid} was set aside: ${JSON.stringify(aside.rows[0])}`)
    return false
  })
  // A long job moves money twice: to escrow, and out of it.
  const entries = await market.database.query<{ kind: string; amount: string }>(
    `select a.kind, sum(e.amount) as amount from ledger_entry e join account a on a.id = e.account
     where e.tx in (select $1::text union all select tx from ledger_key where key = 'end:' || $1::text) group by a.kind`,
    [rid],
  )
  const paid = (kind: string) => Number(entries.rows.find((entry) => entry.kind === kind)?.amount ?? 0)
  if (row === undefined) throw new Error('there is no such row')
  expect(paid('job_escrow')).toBe(0)
  // The row and the ledger must agree.
  expect([paid('buyer_credit') + 0, paid('seller_available'), paid('platform_fee')]).toEqual([
    row.charge === 0 ? 0 : -row.charge,
    row.seller_net,
    row.fee,
  ])
  expect(row.seller_net + row.fee).toBe(row.charge)
  expect(row.charge).toBeLessThanOrEqual(row.hold_amount)
  return row
}

/** Checks the common properties of all ends. */
function check(row: OutcomeRow, seen: Seen, ended: Ended | undefined): void {
  const charge = ended?.charge ?? 0
  if (seen.costMicro !== undefined) expect(seen.costMicro, row.end).toBe(charge)
  if (ended?.outcome === 'failed') expect(charge, row.end).toBe(0)
  if (seen.status >= 400) expect(charge, row.end).toBe(0)
  if (row.meanwhile !== undefined) {
    // The prices are those at the start of the call.
    const { list_cost: list, input_tokens: input, output_tokens: output } = ended ?? {}
    expect(list, row.end).toBe((input ?? 0) + 10 * (output ?? 0))
  }
}

function drive(row: OutcomeRow): Promise<Line> {
  const line = lines.get(row) ?? driveNow(row)
  lines.set(row, line)
  return line
}

async function driveNow(row: OutcomeRow): Promise<Line> {
  const model = MODELS.get(row) ?? ''
  const before = market.received(model)
  const seen = await makeCall(market, model, row)
  const ended = seen.isHeld ? await endedOf(seen) : undefined
  check(row, seen, ended)
  const asked = ended?.attempts.filter(({ errorClass }) => errorClass !== 'unreachable').length ?? 0
  expect(market.received(model) - before - seen.otherCalls).toBe(asked)
  return { seen, ended }
}

describe('every end of a call', () => {
  for (const { title, rows } of OUTCOMES) {
    describe(title, () => {
      for (const row of rows) {
        it(`${row.end} [I6, I11, I13, I15, F30, F33]`, async () => {
          await drive(row)
        })
      }
    })
  }

  describe('paid by wallet', () => {
    it.each(WALLET_OUTCOMES)('$end', async (row) => {
      await driveWallet(row)
    })
  })

  const driveAll = async () => {
    for (const { rows } of OUTCOMES) for (const row of rows) await drive(row)
    for (const row of WALLET_OUTCOMES) await driveWallet(row)
  }

  it('is listed in docs/outcomes.md as it ran', async () => {
    await driveAll()
    const health = await readHealth()
    const sections = OUTCOMES.map(async ({ title, rows }) => ({
      title,
      rows: await Promise.all(
        rows.map(async (row) => {
          const { seen, ended } = await drive(row)
          return { end: row.end, ...wordsOf(seen, ended, health.get(seen.rid) ?? []) }
        }),
      ),
    }))
    const wallets = (await Promise.all(WALLET_OUTCOMES.map(driveWallet))).flat()
    const text = tableOf(await Promise.all(sections), walletSection(wallets))
    await expect(text).toMatchFileSnapshot('../../docs/outcomes.md')
  })

  it('leaves no hold and no unposted capture behind [I10]', async () => {
    await driveAll()
    await until('no call has a hold', 10_000, async () => {
      const keys = await market.redis.keys('{m00}:z:*')
      const counts = await Promise.all(keys.map((key) => market.redis.zcard(key)))
      return counts.every((count) => count === 0)
    })
  })
})

/** Health events by the request that caused them. All travel in one queue, so waiting for the last one is enough. */
async function readHealth(): Promise<Map<string, Health[]>> {
  const last = await makeCall(market, 'end-last', { end: 'last', acts: ['not-found'] })
  const read = async () =>
    (
      await market.database.query<Health & { rid: string }>(
        'select rid, action, error_class from health_log order by at, id',
      )
    ).rows
  await until('the last health event is stored', 10_000, async () => (await read()).some(({ rid }) => rid === last.rid))
  const events = new Map<string, Health[]>()
  for (const { rid, ...health } of await read()) events.set(rid, [...(events.get(rid) ?? []), health])
  return events
}
