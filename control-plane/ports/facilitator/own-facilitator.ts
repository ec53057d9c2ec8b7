import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import type { Hex, PublicClient, TransactionReceipt } from 'viem'
import {
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createPublicClient,
  http,
  verifyTypedData,
} from 'viem'
import type { Logger } from '#shared/logger.ts'
import type { ChainSender } from './chain-sender.ts'
import type { Facilitator, SignedPayment, Transfer } from './facilitator.ts'
import { refOf } from './facilitator.ts'
import type { PaymentTimes } from './payment-parts.ts'
import type { SignedTransaction, TransactionStore } from './transaction-store.ts'

const RPC_TIMEOUT_MS = 4_000
const POLLING_MS = 25
/** Transactions that are sent for one payment when each of them reverts. */
const MAX_TRIES = 2
/** Wei under which payments are not offered any more: about a hundred settlements at Base's usual prices. */
const LEAST_GAS_MONEY = 100_000_000_000_000n
const GAS_EVERY_MS = 30_000
/** The x402 code of a transfer that was sent and is in no block yet. */
const PENDING = 'settlement_pending'
const REVERTED = 'transaction_reverted'

type Parts = {
  readonly network: `eip155:${number}`
  readonly rpcUrl: string
  readonly sender: ChainSender
  readonly store: TransactionStore
  readonly log: Logger
  readonly times: PaymentTimes
}

/** One use of the facilitator. The schemes read a silent chain as a bad payment, so silence is noted beside them. */
type Use = { readonly schemes: x402Facilitator; silence(): unknown }

/** The market's own facilitator. It alone has the key that settles. */
export function createOwnFacilitator({ network, rpcUrl, sender, store, log, times }: Parts): Facilitator {
  const transport = http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS })
  const client = createPublicClient({ transport, pollingInterval: POLLING_MS })
  const hasGasMoney = createGasWatch(sender, log)

  /** Waits for the block of a transaction, or of another with its nonce. */
  async function waitForBlock(hash: Hex) {
    const receipt = await client.waitForTransactionReceipt({ hash, timeout: times.confirmationMs })
    await store.markMined(receipt.transactionHash, receipt.status === 'reverted')
    return receipt
  }

  const use = (ref?: string) => openSchemes({ network, client, sender, waitForBlock, times }, ref)

  /** Waits for a transaction that was signed before. */
  const followUp = ({ hash }: SignedTransaction): Promise<Transfer> =>
    waitForBlock(`0x${hash.slice(2)}`).then(
      ({ status, transactionHash }) =>
        status === 'reverted'
          ? { state: 'refused', reason: REVERTED }
          : { state: 'mined', transaction: transactionHash.toLowerCase() },
      () => ({ state: 'pending', transaction: hash, reason: PENDING }),
    )

  async function settleOnce(payment: SignedPayment): Promise<Transfer> {
    const ref = refOf(payment)
    if (ref === undefined) return { state: 'refused', reason: 'invalid_payload' }
    const known = await store.list(ref)
    const mined = known.find(({ minedAt, isReverted }) => minedAt !== null && isReverted !== true)
    if (mined !== undefined) return { state: 'mined', transaction: mined.hash }
    const waiting = known.find(({ minedAt }) => minedAt === null)
    if (waiting !== undefined) {
      await sender.resend(waiting)
      return followUp(waiting)
    }
    if (new Set(known.map(({ nonce }) => nonce)).size >= MAX_TRIES) return { state: 'refused', reason: REVERTED }
    return settleAnew(ref, payment)
  }

  async function settleAnew(ref: string, payment: SignedPayment): Promise<Transfer> {
    const { schemes, silence } = use(ref)
    const settled = await schemes.settle(payment.payload, payment.requirements)
    if (settled.success) return { state: 'mined', transaction: settled.transaction.toLowerCase() }
    // What was signed may be mined whatever the scheme thinks of it.
    const signed = (await store.list(ref)).find(({ minedAt }) => minedAt === null)
    if (signed !== undefined) {
      const hasWaited = settled.errorReason === PENDING
      return hasWaited ? { state: 'pending', transaction: signed.hash, reason: PENDING } : followUp(signed)
    }
    if (silence() !== undefined) throw silence()
    log.debug({ reason: settled.errorReason, message: settled.errorMessage }, 'a settlement was refused')
    return { state: 'refused', reason: settled.errorReason ?? 'unexpected_settle_error' }
  }

  return {
    async verify({ payload, requirements }) {
      const { schemes, silence } = use()
      const { isValid, invalidReason, payer } = await schemes.verify(payload, requirements)
      if (isValid && payer !== undefined) return { isValid: true, payer }
      if (silence() !== undefined) throw silence()
      return { isValid: false, reason: invalidReason ?? 'invalid_payload' }
    },
    settle: (payment) =>
      settleOnce(payment).catch((error: unknown) => {
        log.debug({ err: error }, 'a settlement broke off')
        return { state: 'pending', transaction: null, reason: PENDING }
      }),
    async supported() {
      const supported = use().schemes.getSupported()
      const kinds = (await hasGasMoney()) ? supported.kinds : []
      return { ...supported, kinds: kinds.map((kind) => ({ ...kind, network })) }
    },
  }
}

type SchemeParts = Pick<Parts, 'network' | 'sender' | 'times'> & {
  readonly client: PublicClient
  waitForBlock(hash: Hex): Promise<TransactionReceipt>
}

/** The schemes for one use. What they send is the one transaction of the reference. */
function openSchemes({ network, client, sender, waitForBlock, times }: SchemeParts, ref: string | undefined): Use {
  let silence: unknown
  const note = (error: unknown): void => {
    if (!isAnswer(error)) silence ??= error
  }
  const heard = <Result>(answer: Promise<Result>): Promise<Result> =>
    answer.catch((error: unknown) => {
      note(error)
      throw error
    })
  const signer = toFacilitatorEvmSigner(
    {
      address: sender.address,
      readContract: (read) => heard(client.readContract({ ...read, args: read.args ?? [], account: sender.address })),
      verifyTypedData: (signed) => verifyTypedData(signed),
      writeContract: (call) => {
        if (ref === undefined) throw new Error('a settlement without a reference')
        return heard(sender.send(ref, call))
      },
      sendTransaction: () => Promise.reject(new Error('only settlements are sent')),
      waitForTransactionReceipt: ({ hash }) => waitForBlock(hash),
      // A scheme may drop this promise, so it never rejects.
      getCode: (where) => client.getCode(where).catch((error: unknown) => void note(error)),
    },
    { confirmationTimeoutMs: times.confirmationMs },
  )
  const schemes = new x402Facilitator()
    .register(network, new UptoEvmScheme(signer))
    .register(network, new ExactEvmScheme(signer))
    .registerExtension({ key: 'eip2612GasSponsoring' })
  return { schemes, silence: () => silence }
}

/** True for an error by which the chain has answered: the call reverts, or there is no such contract. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false
  if (error.walk((cause) => cause instanceof ContractFunctionZeroDataError) !== null) return true
  // An error inside the endpoint looks like a revert, but has neither data nor the word.
  const revert = error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  return (
    revert instanceof ContractFunctionRevertedError && (revert.raw !== undefined || /revert/i.test(revert.reason ?? ''))
  )
}

/** Says whether the key can pay for settlements, and raises an alarm when it no longer can. */
function createGasWatch(sender: ChainSender, log: Logger): () => Promise<boolean> {
  let known: { readonly at: number; readonly isEnough: boolean } | undefined
  return async () => {
    const now = performance.now()
    if (known !== undefined && now - known.at <= GAS_EVERY_MS) return known.isEnough
    const isEnough = (await sender.gasMoney()) >= LEAST_GAS_MONEY
    if (!isEnough && known?.isEnough !== false) {
      log.error({ sender: sender.address }, 'the settlement key is out of gas money')
    }
    known = { at: now, isEnough }
    return isEnough
  }
}
