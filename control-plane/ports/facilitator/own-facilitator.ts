import { x402Facilitator } from '@x402/core/facilitator'
import type { FacilitatorEvmSigner } from '@x402/evm'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import type { Hex } from 'viem'
import { createPublicClient, http, verifyTypedData } from 'viem'
import type { Logger } from '#shared/logger.ts'
import type { ChainSender, TransactionStore } from './chain-sender.ts'
import type { Facilitator, SignedPayment, Transfer } from './facilitator.ts'
import { refOf } from './facilitator.ts'

const RPC_TIMEOUT_MS = 4_000
/** Milliseconds that one try waits for its block. A later try goes on waiting. */
const CONFIRMATION_MS = 10_000
const POLLING_MS = 25
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
}

/** The market's own facilitator. It alone has the key that settles. */
export function createOwnFacilitator({ network, rpcUrl, sender, store, log }: Parts): Facilitator {
  const transport = http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS })
  const client = createPublicClient({ transport, pollingInterval: POLLING_MS })
  const hasGasMoney = createGasWatch(sender, log)

  async function waitForBlock(hash: Hex) {
    const receipt = await client.waitForTransactionReceipt({ hash, timeout: CONFIRMATION_MS })
    await store.markMined(hash, receipt.status === 'reverted')
    return receipt
  }

  /** The chain as the schemes see it. What they send is the one transaction of the reference. */
  function signerFor(ref: string | undefined): FacilitatorEvmSigner {
    return toFacilitatorEvmSigner(
      {
        address: sender.address,
        readContract: (read) => client.readContract({ ...read, args: read.args ?? [], account: sender.address }),
        verifyTypedData: (signed) => verifyTypedData(signed),
        writeContract: (call) => {
          if (ref === undefined) throw new Error('a settlement without a reference')
          return sender.send(ref, call)
        },
        sendTransaction: () => Promise.reject(new Error('only settlements are sent')),
        waitForTransactionReceipt: ({ hash }) => waitForBlock(hash),
        getCode: (where) => client.getCode(where),
      },
      { confirmationTimeoutMs: CONFIRMATION_MS },
    )
  }

  function facilitatorFor(ref: string | undefined): x402Facilitator {
    const signer = signerFor(ref)
    return new x402Facilitator()
      .register(network, new UptoEvmScheme(signer))
      .register(network, new ExactEvmScheme(signer))
      .registerExtension({ key: 'eip2612GasSponsoring' })
  }
  const reading = facilitatorFor(undefined)

  /** Waits for a transaction that was signed before. */
  const followUp = (hash: string): Promise<Transfer> =>
    waitForBlock(`0x${hash.slice(2)}`).then(
      ({ status }) =>
        status === 'reverted' ? { state: 'refused', reason: REVERTED } : { state: 'mined', transaction: hash },
      () => ({ state: 'pending', transaction: hash, reason: PENDING }),
    )

  async function settleOnce(payment: SignedPayment): Promise<Transfer> {
    const ref = refOf(payment)
    if (ref === undefined) return { state: 'refused', reason: 'invalid_payload' }
    const known = await store.find(ref)
    if (known !== undefined) {
      if (known.isReverted === true) return { state: 'refused', reason: REVERTED }
      if (known.minedAt !== null) return { state: 'mined', transaction: known.hash }
      await sender.resend(known)
      return followUp(known.hash)
    }
    const settled = await facilitatorFor(ref).settle(payment.payload, payment.requirements)
    if (settled.success) return { state: 'mined', transaction: settled.transaction }
    // What was signed may be mined whatever the scheme thinks of it.
    const signed = await store.find(ref)
    if (signed !== undefined) return followUp(signed.hash)
    log.debug({ reason: settled.errorReason, message: settled.errorMessage }, 'a settlement was refused')
    return { state: 'refused', reason: settled.errorReason ?? 'unexpected_settle_error' }
  }

  return {
    async verify({ payload, requirements }) {
      const { isValid, invalidReason, payer } = await reading.verify(payload, requirements)
      if (isValid && payer !== undefined) return { isValid: true, payer }
      return { isValid: false, reason: invalidReason ?? 'invalid_payload' }
    },
    settle: (payment) =>
      settleOnce(payment).catch((error: unknown) => {
        log.debug({ err: error }, 'a settlement broke off')
        return { state: 'pending', transaction: null, reason: PENDING }
      }),
    async supported() {
      const supported = reading.getSupported()
      const kinds = (await hasGasMoney()) ? supported.kinds : []
      return { ...supported, kinds: kinds.map((kind) => ({ ...kind, network })) }
    },
  }
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
