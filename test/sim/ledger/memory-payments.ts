import type {
  ChainPayment,
  ChainPaymentReads,
  ChainPaymentRows,
  ContractExposure,
  PurseRead,
} from '#control-plane/db/chain-payments.ts'
import { LEAST_LOSS_MICRO, LOST_FOR_MS, MOST_SETTLED, ONE_PAYMENT_A_CALL } from '#control-plane/db/chain-payments.ts'
import type { Leave } from '#control-plane/ports/facilitator/leave.ts'
import type { SignedTransaction, TransactionStore } from '#control-plane/ports/facilitator/transaction-store.ts'
import { holds } from '#control-plane/services/gate/may-leave.ts'
import type { LedgerSession, Statement } from './ledger-host.ts'
import { failure } from './ledger-host.ts'
import type { LedgerTables, TransactionRow } from './ledger-tables.ts'
import { footingOf } from './ledger-tables.ts'

/** Deliberate faults of the payments' tables. */
export type PaymentFlaw = 'claim_without_conflict'

type Flaws = ReadonlySet<string>

/** Payments by wallet, outside a transaction. */
export function memoryPaymentReads(ask: Statement, wall: () => number): ChainPaymentReads {
  const listed = (tables: LedgerTables, isListed: (payment: ChainPayment) => boolean, limit: number) =>
    [...tables.payments.values()]
      .filter(isListed)
      .sort((left, right) => left.changedAt.getTime() - right.changedAt.getTime())
      .slice(0, limit)
  return {
    find: (rid) => ask(({ payments }) => payments.get(rid)),
    listKnown: (rids) => ask(({ payments }) => new Set(rids.filter((rid) => payments.has(rid)))),
    findOf: (asked) => ask(({ payments }) => [...payments.values()].find((row) => nameOf(row) === nameOf(asked))),
    listMoving: (payer) =>
      ask(({ payments }) => ({
        at: new Date(wall()),
        payments: [...payments.values()].filter(
          (row) => row.payer === payer && ['claimed', 'due', 'mined'].includes(row.state),
        ),
      })),
    listOpen: (states, restingMs, limit) =>
      ask((tables) =>
        listed(
          tables,
          ({ state, changedAt }) => states.includes(state) && changedAt.getTime() <= wall() - restingMs,
          limit,
        ),
      ),
    listWrittenOff: (limit) =>
      ask((tables) =>
        listed(
          tables,
          ({ rid, state, came }) => state === 'written_off' && came === null && !tables.sought.has(rid),
          limit,
        ),
      ),
    listUnbooked: (overdueMs, limit) =>
      ask((tables) =>
        listed(
          tables,
          ({ state, bookedAt, event, serveUntil }) => {
            if (bookedAt !== null) return false
            if (state === 'released') return event !== null
            const isOverdue = serveUntil.getTime() < wall() - overdueMs
            return (state === 'confirmed' || state === 'written_off') && (event !== null || isOverdue)
          },
          limit,
        ),
      ),
  }
}

/** Payments by wallet, inside a transaction. Locks are not needed, because transactions run one after the other. */
export function memoryPayments(statement: Statement, wall: () => number, flaws: Flaws): ChainPaymentRows {
  return {
    lock: (rid) => statement(({ payments }) => payments.get(rid)),
    insert: (given) =>
      statement(({ payments }) => {
        if (payments.has(given.rid)) throw failure('23505', ONE_PAYMENT_A_CALL)
        const isTaken = [...payments.values()].some((row) => nameOf(row) === nameOf(given))
        if (isTaken && !flaws.has('claim_without_conflict')) return false
        payments.set(given.rid, {
          ...given,
          payload: { ...given.payload },
          requirement: { ...given.requirement },
          state: 'claimed',
          due: null,
          charge: null,
          event: null,
          transaction: null,
          block: null,
          reason: null,
          came: null,
          bookedAt: null,
          changedAt: new Date(wall()),
        })
        return true
      }),
    change: (rid, change) =>
      statement(({ payments }) => {
        const row = payments.get(rid)
        if (row !== undefined) payments.set(rid, { ...row, ...change, changedAt: new Date(wall()) })
      }),
    markBooked: (rid) =>
      statement(({ payments }) => {
        const row = payments.get(rid)
        if (row?.bookedAt === null) payments.set(rid, { ...row, bookedAt: new Date(wall()) })
      }),
    markSought: (rid) => statement(({ sought }) => void sought.add(rid)),
    // This world has no deposits and no reader of the treasury's blocks.
    wasMoved: () => statement(() => false),
    findArrival: () => statement(() => undefined),
    wasCredited: () => statement(() => false),
    lockPayer: () => statement(() => undefined),
    lockExposure: (payer, purse) => statement((tables) => exposureOf(tables, payer, purse)),
    readContractExposure: (payer, amount) =>
      statement((tables) => contractExposureOf(tables, { payer, amount }, wall() - LOST_FOR_MS)),
    ensureUser: (fresh) =>
      statement(({ users, accounts }) => {
        const known = users.get(fresh.wallet)
        if (known !== undefined) return known
        const { buyerAccount: account } = fresh
        users.set(fresh.wallet, fresh)
        accounts.set(account, { account, kind: 'buyer_credit', balance: 0n, version: 0n })
        return fresh
      }),
  }
}

/** The open amounts of one payer and of all payers, and the payer's debt. */
function exposureOf({ payments }: Pick<LedgerTables, 'payments'>, payer: string, { at, moved }: PurseRead) {
  const sum = { open: 0n, owed: 0n, unmoved: 0n, all: 0n, payments: 0, fromAllowance: 0n, permits: 0 }
  for (const row of payments.values()) {
    const { state, due, came, amount } = row
    if (state === 'released') continue
    const isOwn = row.payer === payer
    if (state === 'confirmed') {
      if (!isOwn || row.changedAt < at || moved.includes(row.rid)) continue
      sum.unmoved += amount
      if ('permit2Authorization' in Object(row.payload['payload'])) sum.fromAllowance += amount
      continue
    }
    if (isOwn) sum.payments += 1
    if (state === 'written_off') {
      if (isOwn) sum.owed += (due ?? 0n) - (came ?? 0n)
      continue
    }
    sum.all += due ?? amount
    if (!isOwn) continue
    sum.open += due ?? amount
    if (moved.includes(row.rid)) continue
    sum.unmoved += amount
    // Wallets of this world send no permits.
    if ('permit2Authorization' in Object(row.payload['payload'])) sum.fromAllowance += amount
  }
  // An unpaid amount closes nothing in this world: the bounds of the simulation are too small.
  return { ...sum, lost: 0n }
}

/**
 * The exposure to contracts after a claim. Losses before `since` have no weight. Losses are never forgiven in this
 * world.
 */
function contractExposureOf(
  { payments }: Pick<LedgerTables, 'payments'>,
  claim: Pick<ChainPayment, 'payer' | 'amount'>,
  since: number,
): ContractExposure {
  const exposed = new Map<string, bigint>()
  const add = (payer: string, micro: bigint) =>
    exposed.set(payer, (exposed.get(payer) ?? 0n) + (micro < LEAST_LOSS_MICRO ? LEAST_LOSS_MICRO : micro))
  for (const { payer, isContract, state, due, came, amount, changedAt } of payments.values()) {
    if (!isContract || state === 'released' || state === 'confirmed') continue
    if (state !== 'written_off') add(payer, due ?? amount)
    else if (changedAt.getTime() > since) add(payer, (due ?? 0n) - (came ?? 0n))
  }
  add(claim.payer, claim.amount)
  const sum = { all: 0n, own: 0n, unsettled: 0n }
  for (const [payer, exposure] of exposed) {
    const settled = [...payments.values()]
      .filter((row) => row.payer === payer && row.state === 'confirmed')
      .sort((left, right) => right.changedAt.getTime() - left.changedAt.getTime())
      .slice(0, MOST_SETTLED)
      .reduce((total, { came }) => total + (came ?? 0n), 0n)
    const part = exposure > settled ? exposure - settled : 0n
    sum.all += exposure
    sum.unsettled += part
    if (payer === claim.payer) sum.own = part
  }
  return sum
}

function nameOf({ network, asset, payer, nonce }: Pick<ChainPayment, 'network' | 'asset' | 'payer' | 'nonce'>) {
  return `${network} ${asset} ${payer} ${nonce}`
}

function requireLeave(tables: LedgerTables, leave: Leave): void {
  if (!holds(leave, footingOf(tables, leave.beat)))
    throw new Error('the ledger went back after it allowed the signature')
}

/** Signed transactions and the nonces of their key. */
export function memoryTransactions({ read, write, transact, wall }: LedgerSession): TransactionStore {
  const told = (row: TransactionRow): SignedTransaction => ({
    ...row,
    ageMs: wall() - row.signedAt,
    sentMs: row.sentAt === null ? null : wall() - row.sentAt,
  })
  const listOf = ({ signed }: LedgerTables, ref: string) =>
    [...signed.values()]
      .filter((row) => row.ref === ref)
      .reverse()
      .map(told)
  const store = (
    { signed }: LedgerTables,
    { sender, nonce, ref }: Pick<TransactionRow, 'sender' | 'nonce' | 'ref'>,
    next: Pick<TransactionRow, 'hash' | 'raw'>,
  ): SignedTransaction => {
    const old = signed.get(next.hash)
    const fresh = { ...next, sender, nonce, ref, signedAt: wall(), sentAt: null }
    const row: TransactionRow = { ...(old ?? fresh), minedAt: null, isReverted: null }
    signed.set(next.hash, row)
    return told(row)
  }
  /** Changes all transactions that share the nonce of this one. */
  const changeAll = (
    { signed }: LedgerTables,
    hash: string,
    change: (row: TransactionRow, of: TransactionRow) => TransactionRow,
  ) => {
    const of = signed.get(hash.toLowerCase())
    if (of === undefined) return
    for (const row of signed.values()) {
      if (row.sender === of.sender && row.nonce === of.nonce) signed.set(row.hash, change(row, of))
    }
  }
  return {
    list: (ref) => read((tables) => listOf(tables, ref)),
    add: ({ ref, sender, first, maxJump, leave }, sign) =>
      transact(async (statement) => {
        const { known, next } = await statement((tables) => ({
          known: listOf(tables, ref).find(({ isReverted }) => isReverted !== true),
          next: tables.nonces.get(sender) ?? first,
        }))
        if (known !== undefined) return known
        await statement((tables) => requireLeave(tables, leave))
        if (first > next + maxJump) throw new Error(`the chain has used the nonces up to ${first}`)
        let nonce = next
        if (first > nonce) nonce = first
        const signature = await sign(nonce)
        return statement((tables) => {
          tables.nonces.set(sender, nonce + 1n)
          return store(tables, { sender, nonce, ref }, signature)
        })
      }),
    addAt: (use, leave, sign) =>
      transact(async (statement) => {
        await statement((tables) => requireLeave(tables, leave))
        const signature = await sign()
        return statement((tables) => store(tables, use, signature))
      }),
    missing: (sender, from, limit) =>
      read(({ signed, nonces }) => {
        const known = new Set([...signed.values()].map(({ nonce }) => nonce))
        const missing: bigint[] = []
        for (let nonce = from; nonce < (nonces.get(sender) ?? 0n) && missing.length < limit; nonce += 1n) {
          if (!known.has(nonce)) missing.push(nonce)
        }
        return missing
      }),
    markSent: (hash) =>
      write(({ signed }) => {
        const row = signed.get(hash.toLowerCase())
        if (row !== undefined) signed.set(row.hash, { ...row, sentAt: wall() })
      }),
    markMined: (hash, isReverted) =>
      write((tables) => {
        if (tables.signed.get(hash.toLowerCase())?.minedAt !== null) return
        changeAll(tables, hash, (row, of) => ({
          ...row,
          minedAt: new Date(wall()),
          isReverted: row.hash !== of.hash || isReverted,
        }))
      }),
    forget: (sender, from, olderThanMs) =>
      write(({ signed }) => {
        let forgotten = 0
        for (const row of signed.values()) {
          const isNoted = row.minedAt !== null && row.minedAt.getTime() < wall() - olderThanMs
          if (row.sender !== sender || row.nonce < from || !isNoted) continue
          signed.set(row.hash, { ...row, minedAt: null, isReverted: null })
          forgotten += 1
        }
        return forgotten
      }),
    listUnmined: (sender, olderThanMs, limit) =>
      read(({ signed }) =>
        [...signed.values()]
          .filter((row) => row.sender === sender && row.minedAt === null && row.signedAt < wall() - olderThanMs)
          .sort((left, right) => Number(left.nonce - right.nonce))
          .slice(0, limit)
          .map(told),
      ),
  }
}

/** Forgets that a transaction was in a block, and all transactions with its nonce. */
export function unmine({ write }: LedgerSession, hash: string): Promise<void> {
  return write(({ signed }) => {
    const of = signed.get(hash.toLowerCase())
    for (const row of signed.values()) {
      if (row.sender === of?.sender && row.nonce === of.nonce) {
        signed.set(row.hash, { ...row, minedAt: null, isReverted: null })
      }
    }
  })
}
