import type { DebitGate } from '#control-plane/ports/gate/debit-gate.ts'
import type { IngestCtx } from '#control-plane/services/booking/ingest.ts'
import { isIncomplete } from '#control-plane/services/gate/may-leave.ts'
import { freeHold, seedAccount } from '#control-plane/services/ledger/free-hold.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import type { AccountId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { failure } from '#test/sim/ledger/ledger-host.ts'
import type { Ground } from './ground.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

type Debit = {
  readonly key: string
  readonly account: AccountId
  readonly amountMicro: MicroUsd
  holdNumber: number
  state: 'intended' | 'posted' | 'refused' | 'freed'
  isInHand: boolean
}

/** Moves money without a call: deposits, and debits that are held in the gate before they are booked. */
export type DebitDesk = {
  deposit(buyer: number, amount: bigint): void
  debit(buyer: number, amountMicro: MicroUsd, worker: Worker | undefined): void
  /**
   * Handles a restored ledger. Deposits that it lost are read again from their source, as the reader of the chain does.
   */
  setBack(): void
  /** Number of unfinished movements. */
  unfinished(): number
}

const DEPOSIT = 'deposit:'
/** True for the transaction of a deposit. */
export const isDeposit = (tx: string) => tx.startsWith(DEPOSIT)

const HOLD_MS = 15 * 60_000
const RETRY_MS = 4_000

export function createDebitDesk(world: World, fail: (error: unknown) => void): DebitDesk {
  const { ground, workers, market } = world
  const { scheduler } = ground
  const debits: Debit[] = []
  const deposits: Deposit[] = []
  const waiting = new Set<Deposit>()

  const ctxOf = (worker: Worker | undefined) => worker?.ctx() ?? workers.find((other) => other.ctx())?.ctx()
  const accountOf = (index: number) => market.buyers[index % market.buyers.length]?.account ?? market.buyers[0].account

  async function step(debit: Debit, worker: Worker | undefined): Promise<void> {
    const ctx = ctxOf(worker)
    const gate = worker?.debitGate()
    if (ctx === undefined || gate === undefined || debit.isInHand) return
    debit.isInHand = true
    await finish({ ctx, gate, ground }, debit).catch(() => undefined)
    debit.isInHand = false
  }

  scheduler.after(0, function again() {
    for (const debit of debits) {
      if (debit.state === 'refused' || debit.state === 'freed') continue
      const worker = workers.find((other) => other.ctx() !== undefined)
      // The worker with the movement may be dead.
      debit.isInHand = false
      step(debit, worker).catch(fail)
    }
    scheduler.after(RETRY_MS, again)
  })

  function bring(one: Deposit): void {
    waiting.add(one)
    scheduler.after(0, function again() {
      if (!waiting.has(one)) return
      const ctx = ctxOf(undefined)
      const retry = () => void scheduler.after(RETRY_MS, again)
      if (ctx === undefined) return retry()
      let isOver = false
      // A dead process never answers. Its client retries with the same key.
      scheduler.after(RETRY_MS, () => !isOver && again())
      deposit(ctx, one).then(
        (isDone) => {
          if (!isDone) return
          waiting.delete(one)
          isOver = true
        },
        () => undefined,
      )
    })
  }

  return {
    deposit(buyer, amount) {
      const one = { key: `${DEPOSIT}${deposits.length + 1}`, account: accountOf(buyer), amount }
      deposits.push(one)
      bring(one)
    },
    debit(buyer, amountMicro, worker) {
      const account = accountOf(buyer)
      const key = `payout:${debits.length + 1}`
      const debit: Debit = { key, account, amountMicro, holdNumber: 1, state: 'intended', isInHand: false }
      debits.push(debit)
      step(debit, worker).catch(fail)
    },
    setBack() {
      const { ledgerKeys } = ground.postgres.tables()
      for (const one of deposits) if (!ledgerKeys.has(one.key) && !waiting.has(one)) bring(one)
    },
    unfinished: () => waiting.size + debits.filter(({ state }) => state === 'intended' || state === 'posted').length,
  }
}

type Deposit = { readonly key: string; readonly account: AccountId; readonly amount: bigint }

/** Credits a deposit. Returns false while the ledger lacks the record of the deposit's owner. */
async function deposit(ctx: IngestCtx, { key, account, amount }: Deposit): Promise<boolean> {
  if (await isIncomplete(ctx, await ctx.gate.ledgerBeat())) return false
  const entries = [
    { account, amount },
    { account: 'acc_external_fiat', amount: -amount },
  ] as const
  const posted = await ctx.ledger.transact((trx) => postTransaction(trx, { id: key, key, kind: 'deposit', entries }))
  if (posted !== undefined) await seedAccount(ctx, account).catch(() => undefined)
  return true
}

type Means = { readonly ctx: IngestCtx; readonly gate: DebitGate; readonly ground: Ground }

/** Runs the steps of a debit: held in the gate, posted in the same epoch, acknowledged to the gate, released. */
async function finish({ ctx, gate, ground }: Means, debit: Debit): Promise<void> {
  const { account, amountMicro, key } = debit
  const id = debit.holdNumber === 1 ? key : `${key}#${debit.holdNumber}`
  if (debit.state === 'intended') {
    const held = await gate.hold({ id, account, amountMicro, ttlMs: HOLD_MS })
    if (held.kind === 'insufficient') {
      debit.state = 'refused'
      return
    }
    if (held.kind === 'unseeded') return seedAccount(ctx, account)
    if (held.kind === 'ended') {
      debit.holdNumber += 1
      return
    }
    const { epoch } = held
    const entries = [
      { account, amount: -BigInt(amountMicro) },
      { account: 'acc_external_fiat', amount: BigInt(amountMicro) },
    ] as const
    await ctx.ledger.transact(async (trx) => {
      await postTransaction(trx, { id: key, key, kind: 'payout', entries })
      // The database ensures the same: no rebuild has read balances since the hold was made.
      if (ground.postgres.tables().epoch.epoch !== epoch) throw failure('40001')
    })
    debit.state = 'posted'
  }
  await freeHold({ ...ctx, debits: gate }, { id, account })
  debit.state = 'freed'
}
