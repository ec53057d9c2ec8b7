import type { Balance } from '#control-plane/db/accounts.ts'
import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { Job } from '#control-plane/db/jobs.ts'
import type { MoneySnapshot, OfferUses } from '#control-plane/db/money-epoch.ts'
import type { MoneyLedger, MoneyReads, MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import { utcDay, utcMonth } from '#shared/clock.ts'
import { ulidFloor } from '#shared/ids.ts'
import { ACCOUNT_KINDS } from '#shared/ledger/account-kinds.ts'
import type { LedgerSession, Statement } from './ledger-host.ts'
import { failure } from './ledger-host.ts'
import type { AccountRow, LedgerTables, SettlementRow } from './ledger-tables.ts'
import { footingOf } from './ledger-tables.ts'
import { memoryJobs } from './memory-jobs.ts'
import type { PaymentFlaw } from './memory-payments.ts'
import { memoryPaymentReads, memoryPayments } from './memory-payments.ts'

/** Deliberate faults of the ledger. */
export type LedgerFlaw = 'insert_without_conflict' | PaymentFlaw

const SYSTEM_ID = 'memory'
const MEMBER_SILENCE_MS = 48 * 60 * 60_000

/** The ledger as seen by one process. */
export function createMemoryLedger(session: LedgerSession, flaws: ReadonlySet<LedgerFlaw>): MoneyLedger {
  const { read, write, wall } = session
  const isTransient = (error: unknown) =>
    error instanceof Error && 'code' in error && /^(40001|57P01|ECONN|55P03)/.test(String(error.code))
  return {
    ...reads(read),
    findBudgets: (keys) => (session.hasBudgets() ? reads(read).findBudgets(keys) : Promise.resolve(new Map())),
    payments: memoryPaymentReads(read, wall),
    transact: (run) => session.transact((statement) => run(transaction(statement, wall, flaws))),
    isTransient,
    refusalOf: (error) =>
      error instanceof Error && 'code' in error && 'constraint' in error
        ? { code: String(error.code), constraint: String(error.constraint) }
        : undefined,
    listFundedAccounts: (after, limit) => read((tables) => funded(tables, after, limit)),
    listAccountChanges: (limit) => read(({ changes }) => [...changes.values()].slice(0, limit)),
    deleteAccountChanges: (confirmed) =>
      write(({ changes }) => {
        for (const { account, version } of confirmed) {
          const change = changes.get(account)
          if (change !== undefined && change.version <= version) changes.delete(account)
        }
      }),
    insertPoison: (poison) =>
      write((tables) => {
        tables.poison.push(...poison)
        return new Set()
      }),
    readEpoch: () => read(({ epoch }) => ({ ...epoch })),
    raiseEpoch: (seen) =>
      write((tables) => {
        tables.epoch.epoch = Math.max(tables.epoch.epoch, seen) + 1
        tables.epoch.isRestoreNew = false
        return tables.epoch.epoch
      }),
    raiseBeat: () =>
      write(({ epoch }) => {
        epoch.beat += 1
        epoch.beatAt = wall()
        return epoch.beat
      }),
    readIdentity: async () => {
      const { here, known } = session.identity()
      return { here: { systemId: SYSTEM_ID, timeline: here }, known: { systemId: SYSTEM_ID, timeline: known } }
    },
    noteIdentity: async ({ timeline }) => {
      session.identity().known = timeline
    },
    markRestored: (restoredTo, atLeastBeat = 0) =>
      write(({ epoch }) => {
        epoch.beat = Math.max(epoch.beat, atLeastBeat) + 1
        const to = Math.floor(Math.min(restoredTo, epoch.restore?.to ?? restoredTo))
        epoch.restore = { to, at: Math.floor(wall()) }
        epoch.isRestoreNew = true
        epoch.heldAt = wall()
        epoch.joinedAt = undefined
      }),
    markHarvested: (epoch) =>
      write((tables) => {
        tables.epoch.harvested = Math.max(tables.epoch.harvested, epoch)
        if (tables.epoch.heldAt !== undefined && !tables.epoch.isRestoreNew) tables.epoch.joinedAt ??= wall()
      }),
    insertNewNodes: (ids) =>
      write(({ nodes }) => {
        for (const id of ids) if (!nodes.has(id)) nodes.set(id, { seenAt: wall(), isRetired: false })
      }),
    markNodesSeen: (ids) =>
      write(({ nodes }) => {
        for (const id of ids) nodes.set(id, { seenAt: wall(), isRetired: false })
      }),
    retireNodes: (ids) =>
      write(({ nodes }) => {
        for (const id of ids) {
          const node = nodes.get(id)
          if (node !== undefined) nodes.set(id, { ...node, isRetired: true })
        }
      }),
    listMembers: () =>
      read(({ nodes }) =>
        [...nodes]
          .filter(([, node]) => !node.isRetired && node.seenAt > wall() - MEMBER_SILENCE_MS)
          .map(([id]) => id)
          .sort((left, right) => (left < right ? -1 : 1)),
      ),
    readSnapshot: (now, accounts) =>
      read((tables) => snapshot(tables, { now, accounts, postedBefore: session.horizon() })),
    readOfferUses: (now, asked) => read((tables) => offerUses(tables, now, asked)),
    lead: (run) => session.lead((leading) => run(createMemoryLedger(leading, flaws))),
  }
}

function reads(ask: Statement): MoneyReads {
  return {
    findKinds: (ids) =>
      ask(({ accounts }) => new Map(present(accounts, ids).map((row) => [row.account, row.kind] as const))),
    findBalances: (ids) => ask(({ accounts }) => present(accounts, ids).map(balanceOf)),
    findSettled: (rids) =>
      ask(
        ({ settlements }) =>
          new Map(
            rids.flatMap((rid) => {
              const row = settlements.get(rid)
              return row === undefined ? [] : [[rid, row] as const]
            }),
          ),
      ),
    findBudgets: (keys) =>
      ask(
        ({ budgets }) =>
          new Map(keys.map((key) => [key, [...budgets].flatMap(([id, of]) => (of.includes(key) ? id : []))])),
      ),
    findLedgerKey: (key) => ask(({ ledgerKeys }) => ledgerKeys.get(key)),
    findEntries: (tx) => ask(({ entries }) => entries.filter((entry) => entry.tx === tx)),
    readStanding: (beat) => ask((tables) => footingOf(tables, beat).standing),
    readFooting: (beat) => ask((tables) => footingOf(tables, beat)),
  }
}

function present(accounts: ReadonlyMap<string, AccountRow>, ids: readonly string[]): AccountRow[] {
  return ids.flatMap((id) => accounts.get(id) ?? [])
}

function balanceOf({ account, balance, version }: AccountRow): Balance {
  return { account, balance, version }
}

function funded({ accounts }: LedgerTables, after: string, limit: number): Balance[] {
  return [...accounts.values()]
    .filter((row) => row.kind === 'buyer_credit' && row.balance > 0n && row.account > after)
    .sort((left, right) => (left.account < right.account ? -1 : 1))
    .slice(0, limit)
    .map(balanceOf)
}

type Moment = { readonly now: number; readonly accounts: number; readonly postedBefore: number }

function snapshot(tables: LedgerTables, { now, accounts, postedBefore }: Moment): MoneySnapshot {
  const day = utcDay(now)
  const month = utcMonth(now)
  const floors = {
    day: ulidFloor(Date.parse(`${day}T00:00:00Z`)),
    month: ulidFloor(Date.parse(`${month}-01T00:00:00Z`)),
  }
  const isBefore = (at: Date | null) => at !== null && at.getTime() < postedBefore
  const sumOf = (ids: readonly string[], floor: string) =>
    chargesOf(tables, floor, ({ keyId, postedAt }) => ids.includes(keyId ?? '') && isBefore(postedAt)) +
    quotesOf(tables, floor, (job) => ids.includes(job.keyId ?? '') && isBefore(job.postedAt) && !isBefore(job.endedAt))
  const sum = (id: string, floor: string) => sumOf([id], floor)
  return {
    balances: funded(tables, '', accounts),
    keyUses: [...tables.cappedKeys].map(([id, account]) => {
      return { id, account, day: sum(id, floors.day), month: sum(id, floors.month) }
    }),
    budgetUses: [...tables.budgets].map(([id, keys]) => ({ id, month: sumOf(keys, floors.month) })),
    day,
    month,
    // No transaction is under way during a snapshot. Every posting in it was made before this moment.
    postedBefore,
  }
}

function chargesOf({ settlements }: LedgerTables, floor: string, counts: (row: SettlementRow) => boolean): bigint {
  let total = 0n
  for (const [rid, row] of settlements) if (rid >= floor && counts(row)) total += row.charge
  return total
}

/** Sums the quotes of long jobs from the id `floor` on. */
function quotesOf({ jobs }: LedgerTables, floor: string, counts: (job: Job) => boolean): bigint {
  let total = 0n
  for (const [rid, job] of jobs) if (rid >= floor && counts(job)) total += job.quote
  return total
}

function offerUses(tables: LedgerTables, now: number, asked: Parameters<MoneyLedger['readOfferUses']>[1]): OfferUses {
  const day = utcDay(now)
  const floor = ulidFloor(Date.parse(`${day}T00:00:00Z`))
  const { cappedOffers, jobs, settlements, payments } = tables
  /** Charges of calls by wallets whose blocks are not final yet. */
  const unsettled = [...payments.values()].filter(({ rid, event }) => event !== null && !settlements.has(rid))
  // A long job counts with its quote, whatever its final cost.
  const total = (id: string) =>
    chargesOf(tables, floor, ({ offer, rid }) => offer === id && !jobs.has(rid)) +
    quotesOf(tables, floor, ({ offer }) => offer === id) +
    unsettled.reduce((sum, row) => (row.rid >= floor && offerIn(row) === id ? sum + (row.charge ?? 0n) : sum), 0n)
  return {
    day,
    totals: new Map([...cappedOffers.keys()].map((id) => [id, total(id)])),
    posted: new Set(
      asked.rids.filter((rid) => settlements.has(rid) || jobs.has(rid) || unsettled.some((row) => row.rid === rid)),
    ),
    capped: new Set(asked.offers.filter((offer) => tables.cappedOffers.has(offer))),
  }
}

function offerIn({ event }: ChainPayment): string | undefined {
  return /"offer":"([^"]+)"/.exec(event ?? '')?.[1]
}

function transaction(statement: Statement, wall: () => number, flaws: ReadonlySet<LedgerFlaw>): MoneyTransaction {
  return {
    ...reads(statement),
    jobs: memoryJobs(statement, wall),
    payments: memoryPayments(statement, wall, flaws),
    insertSettlements: (rows) =>
      statement(({ settlements }) => {
        const fresh = new Map<string, Date>()
        for (const row of rows) {
          if (settlements.has(row.rid) && !flaws.has('insert_without_conflict')) continue
          const postedAt = new Date(wall())
          settlements.set(row.rid, readRow(row, postedAt))
          fresh.set(row.rid, postedAt)
        }
        return fresh
      }),
    insertConflicts: (conflicts) =>
      statement((tables) => {
        tables.conflicts.push(...conflicts)
      }),
    claimLedgerKey: (key, tx) =>
      statement(({ ledgerKeys }) => {
        if (ledgerKeys.has(key)) return false
        ledgerKeys.set(key, tx)
        return true
      }),
    insertTransactions: (rows) =>
      statement(({ transactions }) => {
        for (const { id } of rows) {
          if (transactions.has(id) && !flaws.has('insert_without_conflict')) throw failure('23505', 'ledger_tx_pkey')
          transactions.add(id)
        }
      }),
    insertEntries: (entries) =>
      statement((tables) => {
        const sums = new Map<string, bigint>()
        for (const { tx, amount } of entries) sums.set(tx, (sums.get(tx) ?? 0n) + amount)
        for (const total of sums.values()) if (total !== 0n) throw failure('23514', 'ledger_entry_sum_zero')
        tables.entries.push(...entries)
      }),
    lockAccounts: (ids) =>
      statement(({ accounts }) => new Map(present(accounts, ids).map((row) => [row.account, balanceOf(row)] as const))),
    moveBalances: (movements) =>
      statement((tables) => {
        const moved: Balance[] = []
        for (const { account, amount, entries } of movements) {
          const row = tables.accounts.get(account)
          if (row === undefined) continue
          const rule = ACCOUNT_KINDS[row.kind]
          if (rule.balance === 'sum') continue
          const balance = row.balance + amount
          if (balance < 0n && rule.bound === 'not_below_zero') throw failure('23514', 'account_not_overdrawn')
          const next = { ...row, balance, version: row.version + BigInt(entries) }
          tables.accounts.set(account, next)
          moved.push(balanceOf(next))
          if (!rule.isGated) continue
          tables.changes.delete(account)
          tables.changes.set(account, balanceOf(next))
        }
        return moved
      }),
    addOfferEarnings: (earnings) =>
      statement(({ earned }) => {
        for (const { offer, amount } of earnings) earned.set(offer, (earned.get(offer) ?? 0n) + amount)
      }),
  }
}

function readRow(row: Readonly<Record<string, unknown>>, postedAt: Date): SettlementRow {
  const text = (name: string) => String(row[name])
  const orNull = (name: string) => (row[name] === null ? null : text(name))
  const amounts = { charge: BigInt(text('charge')), net: BigInt(text('seller_net')), fee: BigInt(text('fee')) }
  const feeBps = BigInt(text('fee_bps'))
  if (amounts.charge > BigInt(text('hold_amount'))) throw failure('23514', 'settlement_within_hold')
  if (amounts.net + amounts.fee !== amounts.charge) throw failure('23514', 'settlement_split_exact')
  if (amounts.net !== (amounts.charge * (10_000n - feeBps)) / 10_000n)
    throw failure('23514', 'settlement_split_floored')
  return {
    rid: text('rid'),
    account: accountIn(text('account')),
    payloadHash: text('payload_hash'),
    postedAt,
    sellerAccount: orNull('seller_account'),
    keyId: orNull('key_id'),
    offer: orNull('offer'),
    charge: amounts.charge,
    hold: BigInt(text('hold_amount')),
  }
}

function accountIn(text: string): `acc_${string}` {
  return `acc_${text.slice(4)}`
}
