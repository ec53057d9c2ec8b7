import { MINUTE } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { Balance } from '../db/accounts.ts'
import type { Ctx } from '../operation.ts'
import { postBatch } from './ingest.ts'
import { drainAccountChanges } from './ledger.ts'

type SweepCtx = Pick<Ctx, 'ledger' | 'gate' | 'clock' | 'log'>

/** How long a capture may wait for its event to come by the queue. */
const UNPOSTED_AFTER_MS = MINUTE
/** Most captures one sweep looks at, and how many are posted together. */
const MAX_UNPOSTED = 20_000
const POST_BATCH = 250
const EXPIRE_BATCH = 500
const MAX_EXPIRE_ROUNDS = 100

export type SweepReport = { readonly expired: number; readonly posted: number; readonly told: number }

/**
 * Finishes what was left lying: gives back holds whose owner died, posts captures whose event never came (never by way
 * of the queue, which would flood after an outage), and tells the gate of balances it has not confirmed. Throws when
 * Postgres or the gate is away.
 */
export async function sweepHolds(ctx: SweepCtx, unpostedAfterMs = UNPOSTED_AFTER_MS): Promise<SweepReport> {
  const expired = await expireHolds(ctx)
  crashPoint('sweeper_mid')
  const posted = await postLeftBehind(ctx, unpostedAfterMs)
  const told = await drainAccountChanges(ctx)
  if (expired + posted > 0) ctx.log.warn({ expired, posted }, 'the sweeper finished calls that nobody else did')
  return { expired, posted, told }
}

async function expireHolds(ctx: SweepCtx): Promise<number> {
  let expired = 0
  for (let round = 0; round < MAX_EXPIRE_ROUNDS; round++) {
    const count = await ctx.gate.expireHolds(EXPIRE_BATCH)
    expired += count
    if (count < EXPIRE_BATCH) break
  }
  return expired
}

/** Posts captures older than the queue's patience; those that are booked already are only acknowledged. */
async function postLeftBehind(ctx: SweepCtx, olderThanMs: number): Promise<number> {
  const events = await ctx.gate.unposted(olderThanMs, MAX_UNPOSTED)
  let settled = 0
  for (let start = 0; start < events.length; start += POST_BATCH) {
    const batch = { events: events.slice(start, start + POST_BATCH), source: 'sweeper' }
    const { posted, repeats, conflicts } = await postBatch(ctx, batch)
    settled += posted + repeats + conflicts
  }
  return settled
}

/** Accounts of one page of the comparison. */
const COMPARE_PAGE = 500

/**
 * Compares the posted balance of every funded account in the gate with the ledger, after telling the gate the newest.
 * Answers the accounts that still differ: there should be none. An account that the gate has not been asked for yet
 * becomes known to it.
 */
export async function compareBalances(ctx: Pick<Ctx, 'ledger' | 'gate'>): Promise<AccountId[]> {
  const different: AccountId[] = []
  let after = ''
  for (;;) {
    const page = await ctx.ledger.listFundedAccounts(after, COMPARE_PAGE)
    if (page.length === 0) return different
    await ctx.gate.seed(
      page.map(({ account, balance, version }) => ({ account, balanceMicro: microUsd(balance), version })),
    )
    const suspects = await findDifferent(ctx, page)
    if (suspects.length > 0) {
      // A posting between the two readings looks like a difference: only what differs twice does.
      const again = await ctx.ledger.findBalances(suspects.map((row) => row.account))
      different.push(...(await findDifferent(ctx, again)).map((row) => row.account))
    }
    after = page.at(-1)?.account ?? ''
  }
}

async function findDifferent(ctx: Pick<Ctx, 'gate'>, rows: readonly Balance[]): Promise<Balance[]> {
  const inGate = await Promise.all(rows.map((row) => ctx.gate.spendable(row.account)))
  return rows.filter((row, index) => inGate[index]?.postedMicro !== row.balance)
}
