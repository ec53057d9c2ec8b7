import type { Hex } from 'viem'
import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/logger.ts'
import type { ChainSender } from './chain-sender.ts'
import type { Facilitator, SignedPayment, Transfer } from './facilitator.ts'
import { refOf } from './facilitator.ts'
import type { Leave } from './leave.ts'
import type { PaymentTimes } from './payment-parts.ts'
import type { BlockReceipt, OnlySettlement, PaymentSchemes } from './payment-schemes.ts'
import type { SignedTransaction, TransactionStore } from './transaction-store.ts'

/** Most transactions for one payment when each of them reverts. */
const MAX_TRIES = 2
/** Wei below which payments are not offered any more: about a hundred settlements at Base's usual prices. */
const LEAST_GAS_MONEY = 100_000_000_000_000n
const GAS_EVERY_MS = 30_000
/** The x402 code of a transfer that was sent and is in no block yet. */
const PENDING = 'settlement_pending'
const REVERTED = 'transaction_reverted'

type Parts = {
  readonly network: `eip155:${number}`
  readonly schemes: PaymentSchemes
  readonly sender: Pick<ChainSender, 'address' | 'resend' | 'gasMoney'>
  readonly store: Pick<TransactionStore, 'list' | 'markMined'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
  readonly times: PaymentTimes
}

/** The market's own facilitator, the only holder of the settlement key. */
export function createOwnFacilitator({ network, schemes, sender, store, clock, log, times }: Parts): Facilitator {
  const hasGasMoney = createGasWatch(sender, clock, log)

  /** Waits for the block of a transaction, or of another with its nonce. */
  async function waitForBlock(hash: Hex): Promise<BlockReceipt> {
    const receipt = await schemes.waitForReceipt(hash, times.confirmationMs)
    await store.markMined(receipt.transactionHash, receipt.status === 'reverted')
    return receipt
  }

  const use = (settlement?: OnlySettlement, wait = waitForBlock) => schemes.open(settlement, wait)

  /** Waits for a transaction that was signed before. */
  const followUp = ({ hash }: SignedTransaction): Promise<Transfer> =>
    waitForBlock(`0x${hash.slice(2)}`).then(
      ({ status, transactionHash }) =>
        status === 'reverted'
          ? { state: 'refused', reason: REVERTED }
          : { state: 'mined', transaction: transactionHash.toLowerCase() },
      () => ({ state: 'pending', transaction: hash, reason: PENDING }),
    )

  async function settleOnce(payment: SignedPayment, leave: Leave): Promise<Transfer> {
    const ref = refOf(payment)
    if (ref === undefined) return { state: 'refused', reason: 'invalid_payload' }
    const attempts = await store.list(ref)
    const mined = attempts.find(({ minedAt, isReverted }) => minedAt !== null && isReverted !== true)
    if (mined !== undefined) return { state: 'mined', transaction: mined.hash }
    const waiting = attempts.find(({ minedAt }) => minedAt === null)
    if (waiting !== undefined) {
      await sender.resend(waiting)
      return followUp(waiting)
    }
    if (new Set(attempts.map(({ nonce }) => nonce)).size >= MAX_TRIES) return { state: 'refused', reason: REVERTED }
    return settleAnew({ ref, leave }, payment)
  }

  async function settleAnew(settlement: OnlySettlement, payment: SignedPayment): Promise<Transfer> {
    let inBlock: Hex | undefined
    const { settle, silence } = use(settlement, async (hash) => {
      const receipt = await waitForBlock(hash)
      inBlock = receipt.transactionHash
      return receipt
    })
    const result = await settle(payment.payload, payment.requirements)
    // The schemes name the transaction that they sent. After a raised fee another transaction with its nonce is in the
    // block.
    if (result.success) return { state: 'mined', transaction: (inBlock ?? result.transaction).toLowerCase() }
    // A signed transaction may be mined even when the scheme calls the settlement failed.
    const signedTransaction = (await store.list(settlement.ref)).find(({ minedAt }) => minedAt === null)
    if (signedTransaction !== undefined) {
      const hasWaited = result.errorReason === PENDING
      return hasWaited
        ? { state: 'pending', transaction: signedTransaction.hash, reason: PENDING }
        : followUp(signedTransaction)
    }
    if (silence() !== undefined) throw silence()
    log.debug({ reason: result.errorReason, message: result.errorMessage }, 'a settlement was refused')
    return { state: 'refused', reason: result.errorReason ?? 'unexpected_settle_error' }
  }

  return {
    async verify({ payload, requirements }) {
      const { verify, silence } = use()
      const { isValid, invalidReason, payer } = await verify(payload, requirements).catch((error: unknown) => {
        // A payment that the schemes cannot read says nothing about the chain.
        log.debug({ err: error }, 'a payment could not be read')
        return { isValid: false, invalidReason: 'invalid_payload', payer: undefined }
      })
      if (isValid && payer !== undefined) return { isValid: true, payer }
      if (silence() !== undefined) throw silence()
      return { isValid: false, reason: invalidReason ?? 'invalid_payload' }
    },
    settle: (payment, leave) =>
      settleOnce(payment, leave).catch((error: unknown) => {
        log.debug({ err: error }, 'a settlement broke off')
        return { state: 'pending', transaction: null, reason: PENDING }
      }),
    async supported() {
      const supported = use().getSupported()
      const kinds = (await hasGasMoney()) ? supported.kinds : []
      return { ...supported, kinds: kinds.map((kind) => ({ ...kind, network })) }
    },
  }
}

/** Tells whether the key can pay for settlements, and raises an alarm when it no longer can. */
function createGasWatch(sender: Parts['sender'], clock: Parts['clock'], log: Logger): () => Promise<boolean> {
  let knownBalance: { readonly at: number; readonly isEnough: boolean } | undefined
  return async () => {
    const now = clock.monotonic()
    if (knownBalance !== undefined && now - knownBalance.at <= GAS_EVERY_MS) return knownBalance.isEnough
    const isEnough = (await sender.gasMoney()) >= LEAST_GAS_MONEY
    if (!isEnough && knownBalance?.isEnough !== false) {
      log.error({ sender: sender.address }, 'the settlement key is out of gas money')
    }
    knownBalance = { at: now, isEnough }
    return isEnough
  }
}
