import type { Balance } from '#control-plane/db/accounts.ts'
import type { Difference } from '#control-plane/db/money-findings.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import { MINUTE } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { microUsd } from '#shared/money.ts'
import { postBatch } from './ingest.ts'

type SweepCtx = Pick<Ctx, 'ids' | 'ledger' | 'gate' | 'clock' | 'log'>

/** Time that a capture may wait for its event to come through the queue. */
const UNPOSTED_AFTER_MS = MINUTE
/** Most captures that one sweep reads, and the number of events posted together. */
const MAX_UNPOSTED = 20_000
const POST_BATCH = 250
const EXPIRE_BATCH = 500
const MAX_EXPIRE_ROUNDS = 100

/** Signals the end of the process. After an outage a sweep would take longer than the process has left. */
type Ending = Pick<AbortSignal, 'aborted'>
const NEVER: Ending = { aborted: false }

export type SweepReport = { readonly expired: number; readonly posted: number; readonly announced: number }

/**
 * Finishes the work of dead processes: returns holds whose owner died, posts captures whose event never arrived, and
 * tells the gate of unconfirmed balances. It posts directly, because the queue would flood after an outage. When the
 * process ends, the sweep ends after its current step, and the next sweep continues. Throws when Postgres or the gate
 * is away.
 */
export async function sweepHolds(
  ctx: SweepCtx,
  unpostedAfterMs = UNPOSTED_AFTER_MS,
  ending = NEVER,
): Promise<SweepReport> {
  const expired = await expireHolds(ctx, ending)
  crashPoint('sweeper_mid')
  const { posted } = await postLeftBehind(ctx, unpostedAfterMs, ending)
  const announced = await drainAccountChanges(ctx)
  if (expired + posted > 0)
    ctx.log.warn({ expired, posted }, 'the sweeper finished calls that no other process had finished')
  return { expired, posted, announced }
}

async function expireHolds(ctx: SweepCtx, ending: Ending): Promise<number> {
  let expired = 0
  for (let round = 0; round < MAX_EXPIRE_ROUNDS && !ending.aborted; round++) {
    const count = await ctx.gate.expireHolds(EXPIRE_BATCH)
    expired += count
    if (count < EXPIRE_BATCH) break
  }
  return expired
}

/**
 * Posts captures that waited longer than `olderThanMs`. Captures that are already booked are only acknowledged. `isAll`
 * is false when more captures wait.
 */
export async function postLeftBehind(
  ctx: SweepCtx,
  olderThanMs: number,
  ending = NEVER,
): Promise<{ readonly posted: number; readonly isAll: boolean }> {
  if (ending.aborted) return { posted: 0, isAll: false }
  const events = await ctx.gate.unposted(olderThanMs, MAX_UNPOSTED)
  let [settled, read] = [0, 0]
  for (let start = 0; start < events.length && !ending.aborted; start += POST_BATCH) {
    const batch = { events: events.slice(start, start + POST_BATCH), source: 'sweeper' }
    read += batch.events.length
    const { posted, repeats, conflicts } = await postBatch(ctx, batch)
    settled += posted + repeats + conflicts
  }
  return { posted: settled, isAll: read === events.length && events.length < MAX_UNPOSTED }
}

/** Accounts in one page of the comparison. */
const COMPARE_PAGE = 500

/**
 * Compares the posted balance and version of every funded account in the gate with the ledger, after it tells the gate
 * the newest balances. Returns the accounts that still differ, normally none. The gate learns of accounts that it did
 * not know.
 */
export async function compareBalances(ctx: Pick<Ctx, 'ledger' | 'gate'>): Promise<Difference[]> {
  const different: Difference[] = []
  let after = ''
  for (;;) {
    const page = await ctx.ledger.listFundedAccounts(after, COMPARE_PAGE)
    if (page.length === 0) return different
    await ctx.gate.seed(
      page.map(({ account, balance, version }) => ({ account, balanceMicro: microUsd(balance), version })),
    )
    const inGate = await Promise.all(page.map((row) => ctx.gate.spendable(row.account)))
    const suspects = page.filter(({ balance, version }, index) => {
      const gateBalance = inGate[index]
      return gateBalance?.postedMicro !== balance || gateBalance.version !== version
    })
    if (suspects.length > 0) different.push(...(await lookAgain(ctx, suspects)))
    after = page.at(-1)?.account ?? ''
  }
}

/**
 * Reads again, because a posting between two reads looks like a difference. The gate is read first, so the ledger
 * cannot be behind it.
 */
async function lookAgain(ctx: Pick<Ctx, 'ledger' | 'gate'>, balances: readonly Balance[]): Promise<Difference[]> {
  const inGate = await Promise.all(balances.map((row) => ctx.gate.spendable(row.account)))
  const ledger = new Map(
    (await ctx.ledger.findBalances(balances.map((row) => row.account))).map((row) => [row.account, row]),
  )
  return balances.flatMap(({ account, version }, index) => {
    const gateBalance = inGate[index]
    const now = ledger.get(account)
    if (gateBalance !== undefined && now !== undefined) {
      const isBetween = gateBalance.version >= version && gateBalance.version < now.version
      if (isBetween || (gateBalance.version === now.version && gateBalance.postedMicro === now.balance)) return []
    }
    const inRedis = gateBalance === undefined ? 'nothing' : `${gateBalance.postedMicro} at ${gateBalance.version}`
    return [{ subject: account, detail: `gate ${inRedis}, ledger ${now?.balance} at ${now?.version}` }]
  })
}
