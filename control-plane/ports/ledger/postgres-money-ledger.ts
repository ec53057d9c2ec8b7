import {
  deleteAccountChanges,
  findBalances,
  findKinds,
  listAccountChanges,
  listFundedAccounts,
  lockAccounts,
} from '#control-plane/db/accounts.ts'
import { findBudgetsOfKeys } from '#control-plane/db/budgets.ts'
import { chainPaymentReads, chainPaymentRows } from '#control-plane/db/chain-payments.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { refusalOf, transact } from '#control-plane/db/database.ts'
import { jobRows } from '#control-plane/db/jobs.ts'
import {
  claimLedgerKey,
  findEntries,
  findLedgerKey,
  insertEntries,
  insertTransactions,
  moveBalances,
} from '#control-plane/db/ledger.ts'
import {
  insertNewNodes,
  listMembers,
  markHarvested,
  markNodesSeen,
  markRestored,
  noteIdentity,
  raiseBeat,
  raiseMoneyEpoch,
  readFooting,
  readIdentity,
  readMoneyEpoch,
  readMoneySnapshot,
  readOfferUses,
  readStanding,
  releaseRebuildLock,
  retireNodes,
  tryRebuildLock,
} from '#control-plane/db/money-epoch.ts'
import { addOfferEarnings } from '#control-plane/db/offer-earnings.ts'
import { findSettled, insertConflicts, insertPoison, insertSettlements } from '#control-plane/db/settlements.ts'
import { isTransient } from '#shared/transient.ts'
import type { MoneyLedger, MoneyReads, MoneyTransaction } from './money-ledger.ts'

/** Binds the handle as the first argument of functions. */
function bind<Handle, Given extends unknown[], Result>(
  handle: Handle,
  run: (handle: Handle, ...parameters: Given) => Result,
): (...parameters: Given) => Result {
  return (...parameters) => run(handle, ...parameters)
}

function moneyReads(db: Database | Trx): MoneyReads {
  return {
    findKinds: bind(db, findKinds),
    findBalances: bind(db, findBalances),
    findSettled: bind(db, findSettled),
    findBudgets: bind(db, findBudgetsOfKeys),
    findLedgerKey: bind(db, findLedgerKey),
    findEntries: bind(db, findEntries),
    readStanding: bind(db, readStanding),
    readFooting: bind(db, readFooting),
  }
}

/** The money services' interface over one Postgres transaction. */
export function moneyTransaction(trx: Trx): MoneyTransaction {
  return {
    ...moneyReads(trx),
    insertSettlements: bind(trx, insertSettlements),
    insertConflicts: bind(trx, insertConflicts),
    claimLedgerKey: bind(trx, claimLedgerKey),
    insertTransactions: bind(trx, insertTransactions),
    insertEntries: bind(trx, insertEntries),
    lockAccounts: bind(trx, lockAccounts),
    moveBalances: bind(trx, moveBalances),
    addOfferEarnings: bind(trx, addOfferEarnings),
    jobs: jobRows(trx),
    payments: chainPaymentRows(trx),
  }
}

/** The money services' interface over Postgres. */
export function createMoneyLedger(db: Database): MoneyLedger {
  return {
    ...moneyReads(db),
    transact: (run) => transact(db, (trx) => run(moneyTransaction(trx))),
    isTransient,
    refusalOf,
    payments: chainPaymentReads(db),
    listFundedAccounts: bind(db, listFundedAccounts),
    listAccountChanges: bind(db, listAccountChanges),
    deleteAccountChanges: bind(db, deleteAccountChanges),
    insertPoison: bind(db, insertPoison),
    readEpoch: bind(db, readMoneyEpoch),
    raiseBeat: bind(db, raiseBeat),
    readIdentity: bind(db, readIdentity),
    noteIdentity: bind(db, noteIdentity),
    markRestored: bind(db, markRestored),
    raiseEpoch: bind(db, raiseMoneyEpoch),
    markHarvested: bind(db, markHarvested),
    insertNewNodes: bind(db, insertNewNodes),
    markNodesSeen: bind(db, markNodesSeen),
    retireNodes: bind(db, retireNodes),
    listMembers: bind(db, listMembers),
    readSnapshot: bind(db, readMoneySnapshot),
    readOfferUses: bind(db, readOfferUses),
    lead: (run) => lead(db, run),
  }
}

/** Leads as long as one connection with an advisory lock lives. */
async function lead(db: Database, run: (ledger: MoneyLedger) => Promise<void>): Promise<void> {
  await db.connection().execute(async (connection) => {
    if (!(await tryRebuildLock(connection))) return
    try {
      await run(createMoneyLedger(connection))
    } finally {
      await releaseRebuildLock(connection)
    }
  })
}
