import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { listLivingKeys } from '#control-plane/db/keys.ts'
import { makeMonthPartitions } from '#control-plane/db/partitions.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { storeHealthEvents } from '#control-plane/services/offers/health-log.ts'
import { createUser } from '#control-plane/services/users/users.ts'
import { DAY, MINUTE } from '#shared/clock.ts'
import { createIds, isId, ulidTime } from '#shared/ids.ts'
import type { PastBuyer, PastCall, PastCalls } from './history-calls.ts'
import { createPastCalls, pastOutages } from './history-calls.ts'
import { readGoods } from './history-goods.ts'

const OPERATOR = machineOperator('history')
/** Number of days of the written history. */
export const HISTORY_DAYS = 30
const STRANGERS = 6
/** The origin of posted events. */
const SOURCE = 'history'
/** Calls of one posting. */
const BATCH = 250
/** More than the average cost of a call, so that grants suffice. */
const DOLLARS_A_CALL = 0.5
const MIN_GRANT_DOLLARS = 100

type HistoryCtx = Pick<ControlPlane, keyof ControlPlane>

/**
 * Gives the market about this many trades over its last 30 days. Grants fund the buyers, and the calls are posted as
 * the worker posts them, each at a past time. The given wallets bought most of them. Trades of an earlier run stay, and
 * a later run continues from their end. Returns the number of posted calls.
 */
export async function makeHistory(ctx: HistoryCtx, calls: number, wallets: readonly string[] = []): Promise<number> {
  const now = ctx.clock.now()
  const strangers = await findBuyers(
    ctx,
    Array.from({ length: STRANGERS }, (_, index) => walletOf(index)),
  )
  const buyers = [...(await findBuyers(ctx, wallets)), ...strangers]
  // Only buyers without other calls count.
  const from = Math.max(now - HISTORY_DAYS * DAY, (await lastCall(ctx, accountsOf(strangers))) + MINUTE)
  const callCount = Math.floor((calls * (now - from)) / (HISTORY_DAYS * DAY))
  const goods = await readGoods(ctx)
  if (callCount < 1 || goods.length === 0) return 0
  await makeMonthPartitions(ctx.db, from - 1, 1)
  await fund(ctx, accountsOf(buyers), { calls: callCount, from })
  const span = { from, to: now - MINUTE, count: callCount }
  const past = createPastCalls({ goods, buyers, feeBps: ctx.settings.platformFeeBps, span })
  const postedCount = await postAll(ctx, past)
  await storeHealthEvents(ctx, { v: 1, events: pastOutages(goods, span) })
  return postedCount
}

async function postAll(ctx: HistoryCtx, past: PastCalls): Promise<number> {
  let postedCount = 0
  let calls: PastCall[] = []
  const post = async (events: readonly string[]) => {
    const report = await postBatch(ctx, { events, source: SOURCE })
    if (report.poisoned > 0) ctx.log.error({ report }, 'calls of the past could not be posted')
    return report.posted
  }
  const flush = async () => {
    // An end that waits is booked with its submit. A worker never sees the job run, and asks no provider about it.
    await post(calls.flatMap(({ end }) => end ?? []))
    postedCount += await post(calls.map(({ event }) => event))
    calls = []
  }
  for (const call of past) {
    calls.push(call)
    if (calls.length >= BATCH) await flush()
  }
  await flush()
  return postedCount
}

/** The buyers of wallets: one for each key that can call, newest first, or one without a key. */
async function findBuyers(ctx: HistoryCtx, wallets: readonly string[]): Promise<PastBuyer[]> {
  const buyers: PastBuyer[] = []
  for (const wallet of wallets) {
    const { id, buyerAccount } = await invoke(ctx, OPERATOR, createUser, { wallet, keys: [] })
    const owner = isId('usr', id) ? ({ user: id, type: 'buyer', workspace: null } as const) : undefined
    const keys = owner === undefined ? [] : await listLivingKeys(ctx.db, owner, ctx.clock.now())
    const ids = keys.length === 0 ? [null] : keys.map((key) => key.id)
    buyers.push(...ids.map((keyId) => ({ account: buyerAccount, keyId })))
  }
  return buyers
}

const accountsOf = (buyers: readonly PastBuyer[]) => [...new Set(buyers.map(({ account }) => account))]

/** Makes real grants before the first call, so that the ledger contains the source of this money, too. */
async function fund(
  ctx: HistoryCtx,
  accounts: readonly string[],
  { calls, from }: { readonly calls: number; readonly from: number },
): Promise<void> {
  const amountUsd = Math.max(MIN_GRANT_DOLLARS, Math.ceil((calls * DOLLARS_A_CALL) / accounts.length))
  const then = { ...ctx, ids: createIds({ now: () => from - 1 }) }
  for (const account of accounts) {
    if (!isId('acc', account)) continue
    await invoke(then, OPERATOR, grantCredit, {
      account,
      amountUsd,
      ticket: `history:${account}:${from}`,
      note: 'Sample credit',
    })
  }
}

/** The time of the last past call. 0 before the first. */
async function lastCall(ctx: HistoryCtx, accounts: readonly string[]): Promise<number> {
  const { rows } = await sql<{ rid: string | null }>`select max(rid) as rid from settlement
    where account = any(${[...accounts]}::text[])`.execute(ctx.db)
  const rid = rows[0]?.rid ?? null
  return rid === null ? 0 : ulidTime(rid)
}

/** The private keys of these wallets do not exist. */
function walletOf(index: number): string {
  return `0x${createHash('sha256').update(`history ${index}`).digest('hex').slice(0, 40)}`
}
