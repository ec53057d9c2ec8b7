import type { Balance } from '#control-plane/db/accounts.ts'
import { insertDraw } from '#control-plane/db/allowance-draws.ts'
import type { AllowanceLine, LineChange } from '#control-plane/db/allowances.ts'
import { changeLine, listLinesToTend, lockLine, markOwing, sumAdvanced } from '#control-plane/db/allowances.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { AllowanceSettings } from '#control-plane/operation/ctx.ts'
import type { WalletBound } from '#control-plane/ports/gate/gate.ts'
import type { WalletReading } from '#control-plane/ports/treasury/treasury-chain.ts'
import { confirmBuyers } from '#control-plane/services/ledger/ledger.ts'
import { headOfKnownChain } from '#control-plane/services/treasury/known-chain.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AccountId } from '#shared/ids.ts'
import { advanceCredit, recallCredit } from './advance-credit.ts'
import type { AllowanceCtx, AllowanceLineCtx } from './allowance-ctx.ts'
import type { LineVerdict } from './weigh-line.ts'
import { bindingOf, weighLine } from './weigh-line.ts'

/** Most lines of one turn. */
const MAX_A_TURN = 500
/** The first pause after a draw that failed. It doubles up to an hour. */
const RETRY_MS = MINUTE
const MAX_RETRY_MS = HOUR

/** The pause of a line after a number of failed draws. */
export function retryAfter(failures: number): number {
  return Math.min(RETRY_MS * 2 ** Math.min(failures, 10), MAX_RETRY_MS)
}

/**
 * Reads the chain for the lines that are due, and fits each line to its wallet's allowance: advances credit or takes it
 * back, stops the line of a wallet that cannot pay its debt, and plans a draw of the debt. Returns the number of lines.
 */
export async function tendLines(ctx: AllowanceLineCtx): Promise<number> {
  const { settings, treasury } = ctx
  const { readMs, batchMicro, batchMs } = settings.allowances
  const at = ctx.clock.now()
  const now = new Date(at)
  await markOwing(ctx.db, now)
  const order = { now, readBefore: new Date(at - readMs), batchMicro, owedBefore: new Date(at - batchMs) }
  const lines = await listLinesToTend(ctx.db, { ...order, limit: MAX_A_TURN })
  if (lines.length === 0) return 0
  const { chain, asset, address: spender } = treasury
  await headOfKnownChain(ctx, chain, ctx.purse)
  const readings = await chain.readAllowances({ asset, spender, wallets: lines.map(({ wallet }) => wallet) })
  for (const line of lines) {
    const reading = readings.get(line.wallet)
    if (reading === undefined) continue
    // A failed line does not stop the other lines.
    await tendLine(ctx, line, reading).catch((error: unknown) =>
      ctx.log.warn({ err: error, account: line.account }, 'a line will be checked again'),
    )
  }
  return lines.length
}

/** Fits one line to a reading of its wallet. */
export async function tendLine(
  ctx: AllowanceLineCtx,
  { account }: Pick<AllowanceLine, 'account'>,
  walletReading: WalletReading,
) {
  const weighed = await transact(ctx.db, async (trx) => {
    const line = await lockLine(trx, account)
    if (line === undefined) return undefined
    const { allowances } = ctx.settings
    const reading = isOfTreasury(ctx, line) ? walletReading : undefined
    const room = allowances.totalMicro - (await sumAdvanced(trx))
    const verdict = weighLine(line, { reading, settings: allowances, room, now: ctx.clock.now() })
    const balances = await carryOut(ctx, trx, line, verdict)
    await changeLine(trx, account, { ...changeOf(ctx, line, verdict), ...reading })
    if (verdict.state === 'stopped' && line.state === 'open') {
      ctx.log.warn({ account, reason: verdict.reason }, 'a wallet cannot cover its debt: its line is stopped')
    }
    return { line, verdict, balances }
  })
  if (weighed === undefined) return
  if (weighed.verdict.draw > 0n) crashPoint('draw_planned')
  const bound = weighed.verdict.state === 'closed' ? null : boundOf(walletReading, ctx.settings.allowances)
  await tellBound(ctx, account, bound)
  if (weighed.balances.length > 0) await confirmBuyers(ctx, weighed.balances)
  if (weighed.verdict.recall > 0n) await recallCredit(ctx, weighed.line, weighed.verdict.recall)
}

/**
 * The bound that the gate names when it refuses a call. Under the market's own limit, it names the balance, as for
 * other accounts.
 */
function boundOf(reading: WalletReading, { lineMicro }: AllowanceSettings): WalletBound {
  return bindingOf(reading) === 'allowance' && reading.allowance < lineMicro ? 'allowance' : 'balance'
}

/** Tells the gate which bound keeps a wallet from paying more. Only the text of a refusal depends on it. */
export async function tellBound(
  { gate, log }: Pick<AllowanceCtx, 'gate' | 'log'>,
  account: AccountId,
  bound: WalletBound | null,
): Promise<void> {
  await gate
    .tellBound(account, bound)
    .catch((error: unknown) => log.debug({ err: error, account }, 'the gate will get the bound of a wallet later'))
}

/** False for a line of another treasury, from which this market cannot draw. */
export function isOfTreasury(
  { purse }: Pick<AllowanceLineCtx, 'purse'>,
  { chainId, asset, treasury }: Pick<AllowanceLine, 'chainId' | 'asset' | 'treasury'>,
): boolean {
  return chainId === BigInt(purse.chainId) && asset === purse.asset && treasury === purse.treasury
}

/** Books the advance of a verdict, and stores the planned draw. Returns the balances that changed. */
async function carryOut(
  ctx: AllowanceLineCtx,
  trx: Trx,
  line: AllowanceLine,
  verdict: LineVerdict,
): Promise<readonly Balance[]> {
  if (verdict.draw > 0n) {
    const draw = { id: ctx.ids.make('drw'), account: line.account, wallet: line.wallet, amount: verdict.draw }
    await insertDraw(trx, ctx.purse, draw)
  }
  return verdict.advance > 0n ? advanceCredit(ctx, trx, line, verdict.advance) : []
}

function changeOf(
  { clock }: AllowanceLineCtx,
  { failures }: AllowanceLine,
  { state, reason, isShort }: LineVerdict,
): LineChange {
  const now = clock.now()
  const retry = isShort ? { failures: failures + 1, retryAt: new Date(now + retryAfter(failures)) } : {}
  return { state, reason, readAt: new Date(now), ...retry }
}
