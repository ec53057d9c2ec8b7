import type { Balance } from '#control-plane/db/accounts.ts'
import type { AllowanceLine } from '#control-plane/db/allowances.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { openAudit } from '#control-plane/operation/audit.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { findBalance, postTransaction } from '#control-plane/services/ledger/ledger.ts'
import type { DebitCtx } from '#control-plane/services/ledger/ledger-debits.ts'
import { bookOwnDebit } from '#control-plane/services/ledger/ledger-debits.ts'
import { lowerBigint } from '#shared/bigints.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { add, subtractToZero } from '#shared/money.ts'
import type { AllowanceLineCtx } from './allowance-ctx.ts'

type Line = Pick<AllowanceLine, 'account' | 'advance'>

/** Attempts to take back one advance. A call may use the credit between two attempts. */
const MAX_TRIES = 5

/** Advances credit to an account whose allowance line is locked. Returns the balances that changed. */
export async function advanceCredit(
  { ids }: Pick<AllowanceLineCtx, 'ids'>,
  trx: Trx,
  { account, advance }: Line,
  amount: bigint,
): Promise<readonly Balance[]> {
  const id = ids.ulid()
  const entries = [
    { account: advance, amount: -amount },
    { account, amount },
  ]
  const head = { id, key: `advance:${account}:${id}`, kind: 'advance' } as const
  return (await postTransaction(moneyTransaction(trx), { ...head, entries })) ?? []
}

/**
 * Takes back the part of an advance that is neither spent nor held, at most `most`, and returns its amount. The gate
 * sets the amount aside first, so no call spends it at the same time. A process that dies midway leaves a debit for the
 * sweeper. An amount that is taken back twice for that reason is advanced again.
 */
export async function recallCredit(ctx: DebitCtx, { account, advance }: Line, most: bigint): Promise<bigint> {
  // A refused debit leaves rows, so no debit begins while holds cover all credit.
  let amount = lowerBigint(most, await readFree(ctx, account))
  for (let tries = 0; tries < MAX_TRIES && amount > 0n; tries++) {
    const tx = ctx.ids.ulid()
    const entries = [
      { account, amount: -amount },
      { account: advance, amount },
    ]
    const change = { subject: account, before: null, after: { recalledMicro: amount.toString() } }
    const audit = openAudit(ctx, machineOperator('allowances'), 'allowance.recall').note(change)
    const debit = {
      key: `recall:${account}:${tx}`,
      kind: 'recall' as const,
      note: null,
      tx,
      account,
      amount,
      entries,
      audit,
    }
    try {
      await bookOwnDebit(ctx, debit)
      return amount
    } catch (error) {
      amount = lowerBigint(amount, freeOf(error))
    }
  }
  return 0n
}

/** Credit that calls have neither spent nor set aside, in micro-USD. */
async function readFree({ gate, ledger }: DebitCtx, account: AccountId): Promise<bigint> {
  const gateBalance = await gate.spendable(account)
  if (gateBalance === undefined) return findBalance(ledger, account)
  return subtractToZero(gateBalance.postedMicro, add(gateBalance.heldMicro, gateBalance.unpostedMicro))
}

/** The gate's free credit when it refused, in micro-USD. Throws any other error again. */
function freeOf(error: unknown): bigint {
  if (!(error instanceof AppError && error.code === 'insufficient_balance')) throw error
  const { available } = error.detail
  return typeof available === 'string' ? BigInt(available) : 0n
}
