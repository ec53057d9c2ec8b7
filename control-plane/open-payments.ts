import { privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '#shared/clock.ts'
import type { Logger } from '#shared/logger.ts'
import type { ControlConfig, PaymentConfig } from './config.ts'
import {
  addChainTransaction,
  addChainTransactionAt,
  forgetChainTransactions,
  listChainTransactionsOf,
  listMissingNonces,
  listUnminedChainTransactions,
  markChainTransactionMined,
  markChainTransactionSent,
  unmineChainTransaction,
} from './db/chain-transactions.ts'
import type { Database } from './db/database.ts'
import type { Chain } from './ports/chain/chain.ts'
import { createRpcChain } from './ports/chain/rpc-chain.ts'
import { createChainSender } from './ports/facilitator/chain-sender.ts'
import type { Facilitator } from './ports/facilitator/facilitator.ts'
import { createOwnFacilitator } from './ports/facilitator/own-facilitator.ts'
import type { PaymentParts, PaymentSettings } from './ports/facilitator/payment-parts.ts'
import { newPaymentMemory, PAYMENT_TIMES } from './ports/facilitator/payment-parts.ts'
import { createPaymentSchemes } from './ports/facilitator/payment-schemes.ts'
import { createRemoteFacilitator } from './ports/facilitator/remote-facilitator.ts'
import { createSettlementRpc } from './ports/facilitator/settlement-rpc.ts'
import type { TransactionStore } from './ports/facilitator/transaction-store.ts'
import { createRpcTreasuryChain } from './ports/treasury/rpc-treasury-chain.ts'
import { requireLeave } from './services/gate/may-leave.ts'
import { requireKnownChain } from './services/treasury/known-chain.ts'

/** Makes all parts of payments by wallets; null when they are not configured. */
export function openPayments(
  { payments, chainRpcUrl }: Pick<ControlConfig, 'payments' | 'chainRpcUrl'>,
  db: Database,
  log: Logger,
  times = PAYMENT_TIMES,
): PaymentParts | null {
  if (payments === undefined) return null
  const settings = { ...settingsOf(payments), memory: newPaymentMemory(), times }
  const know = knowerOf(payments, db, chainRpcUrl?.reveal())
  const chain = chainRpcUrl === undefined ? null : knownChain(createRpcChain(chainRpcUrl.reveal()), know)
  const store = storeIn(db)
  const unmine = (transaction: string) => unmineChainTransaction(db, transaction)
  const { facilitator: how } = payments
  if ('url' in how) {
    const facilitator = onKnownChain(createRemoteFacilitator(how.url), know)
    return {
      ...settings,
      facilitator,
      chain,
      settler: null,
      gasMoney: null,
      sendAgain: () => Promise.resolve(0),
      unmine,
    }
  }
  const rpcUrl = how.rpcUrl.reveal()
  const account = privateKeyToAccount(`0x${how.key.reveal().slice(2)}`)
  const { network } = settings
  const keeping = { store, clock: systemClock, log, times }
  const rpc = createSettlementRpc(rpcUrl, account.address)
  const sender = createChainSender({ ...keeping, rpc, chainId: payments.chainId, account, know })
  const schemes = createPaymentSchemes({ network, rpcUrl, sender, times })
  const facilitator = onKnownChain(createOwnFacilitator({ ...keeping, network, schemes, sender }), know)
  const { gasMoney, sendAgain } = sender
  return { ...settings, facilitator, chain, settler: account.address.toLowerCase(), gasMoney, sendAgain, unmine }
}

/** Throws while the chain differs from the treasury's chain that was read. */
type Know = () => Promise<void>

function knowerOf({ chainId, asset, payTo }: PaymentConfig, db: Database, rpcUrl: string | undefined): Know {
  if (rpcUrl === undefined) return () => Promise.resolve()
  const chain = createRpcTreasuryChain(rpcUrl)
  const purse = { chainId, asset: asset.toLowerCase(), treasury: payTo.toLowerCase() }
  return () => requireKnownChain(db, chain, purse)
}

/** A chain that was started anew says nothing about a payment: its transfer is on the chain before. */
function knownChain(chain: Chain, know: Know): Chain {
  return { ...chain, checkChain: (chainId) => chain.checkChain(chainId).then(know) }
}

/**
 * Settles nothing on a chain that was started anew: an authorization that was used on the old chain would be used
 * again.
 */
function onKnownChain(facilitator: Facilitator, know: Know): Facilitator {
  return { ...facilitator, settle: (payment, leave) => know().then(() => facilitator.settle(payment, leave)) }
}

function settingsOf({ chainId, facilitator: _, ...rest }: PaymentConfig): PaymentSettings {
  return { network: `eip155:${chainId}`, ...rest }
}

/** The place for signed transactions in the tables. */
export function storeIn(db: Database): TransactionStore {
  return {
    list: (ref) => listChainTransactionsOf(db, ref),
    add: ({ leave, ...entry }, sign) =>
      addChainTransaction(db, entry, { allow: (trx) => requireLeave(trx, leave), sign }),
    addAt: (use, leave, sign) => addChainTransactionAt(db, use, { allow: (trx) => requireLeave(trx, leave), sign }),
    missing: (sender, from, limit) => listMissingNonces(db, sender, from, limit),
    markSent: (hash) => markChainTransactionSent(db, hash),
    markMined: (hash, isReverted) => markChainTransactionMined(db, hash, isReverted),
    forget: (sender, from, olderThanMs) => forgetChainTransactions(db, sender, from, olderThanMs),
    listUnmined: (sender, olderThanMs, limit) => listUnminedChainTransactions(db, sender, olderThanMs, limit),
  }
}
