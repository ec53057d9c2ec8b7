import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import type { Hex, Log, PublicClient } from 'viem'
import {
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createPublicClient,
  http,
  verifyTypedData,
} from 'viem'
import { isAddressEqual } from 'viem/utils'
import { UPTO_PROXY } from '#shared/chain-terms.ts'
import type { ChainSender } from './chain-sender.ts'
import type { Leave } from './leave.ts'
import type { PaymentTimes } from './payment-parts.ts'

const RPC_TIMEOUT_MS = 4_000
const POLLING_MS = 25

/** The block of a transaction, or of another with its nonce. */
export type BlockReceipt = {
  readonly transactionHash: Hex
  readonly status: 'success' | 'reverted'
  readonly logs?: readonly Log[]
}

/** A use of the schemes. They report an unreachable chain as a bad payment, so the failure is kept beside them. */
export type SchemeUse = {
  verify(payload: PaymentPayload, requirements: PaymentRequirements): Promise<VerifyResponse>
  settle(payload: PaymentPayload, requirements: PaymentRequirements): Promise<SettleResponse>
  getSupported: x402Facilitator['getSupported']
  /** The error of a failed read of the chain; undefined when the chain answered every read. */
  silence(): unknown
}

/** Permits one transaction for the reference while signing is allowed. */
export type OnlySettlement = { readonly ref: string; readonly leave: Leave }

/** The schemes of payments on a chain. */
export type PaymentSchemes = {
  /** Throws when there is no block within this many milliseconds. */
  waitForReceipt(hash: Hex, timeoutMs: number): Promise<BlockReceipt>
  /** The schemes for one use. They wait for blocks by `waitForBlock`. Without a settlement they only verify. */
  open(settlement: OnlySettlement | undefined, waitForBlock: (hash: Hex) => Promise<BlockReceipt>): SchemeUse
}

type Parts = {
  readonly network: `eip155:${number}`
  readonly rpcUrl: string
  readonly sender: ChainSender
  readonly times: PaymentTimes
}

/** The schemes of x402 through the chain's JSON-RPC endpoint. */
export function createPaymentSchemes({ network, rpcUrl, sender, times }: Parts): PaymentSchemes {
  const transport = http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS })
  const client = createPublicClient({ transport, pollingInterval: POLLING_MS })
  return {
    // A chain that mines at once has the receipt by now. The library's wait makes further reads before it asks for the
    // receipt.
    waitForReceipt: (hash, timeout) =>
      client.getTransactionReceipt({ hash }).catch(() => client.waitForTransactionReceipt({ hash, timeout })),
    open: (settlement, waitForBlock) => openSchemes({ network, client, sender, waitForBlock, times }, settlement),
  }
}

type SchemeParts = Pick<Parts, 'network' | 'sender' | 'times'> & {
  readonly client: PublicClient
  waitForBlock(hash: Hex): Promise<BlockReceipt>
}

function openSchemes(
  { network, client, sender, waitForBlock, times }: SchemeParts,
  settlement: OnlySettlement | undefined,
): SchemeUse {
  let silence: unknown
  let settling: bigint | undefined
  const note = (error: unknown): void => {
    if (!isAnswer(error)) silence ??= error
  }
  const noteAnswer = <Result>(answer: Promise<Result>): Promise<Result> =>
    answer.catch((error: unknown) => {
      note(error)
      throw error
    })
  const signer = toFacilitatorEvmSigner(
    {
      address: sender.address,
      readContract: (read) =>
        noteAnswer(client.readContract({ ...read, args: argsOf(read, settling), account: sender.address })),
      verifyTypedData: (signed) => verifyTypedData(signed),
      writeContract: (call) => {
        if (settlement === undefined) throw new Error('a settlement without a reference')
        return noteAnswer(sender.send(settlement.ref, call, settlement.leave))
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
  return {
    verify: (payload, requirements) => schemes.verify(payload, requirements),
    settle(payload, requirements) {
      settling = BigInt(requirements.amount)
      return schemes.settle(payload, requirements)
    },
    getSupported: () => schemes.getSupported(),
    silence: () => silence,
  }
}

/** The index of the taken amount among the arguments of the upto proxy. */
const AMOUNT_AT: Readonly<Record<string, number>> = { settle: 1, settleWithPermit: 2 }

/**
 * The arguments of a read. The scheme simulates a settlement of the whole signed amount, but sends the charge. A payer
 * with a lower balance by then can still pay the charge, so the simulation uses the charge.
 */
function argsOf(
  { address, functionName, args = [] }: { address: Hex; functionName: string; args?: readonly unknown[] },
  settling: bigint | undefined,
): readonly unknown[] {
  const at = isAddressEqual(address, UPTO_PROXY) ? AMOUNT_AT[functionName] : undefined
  return settling === undefined || at === undefined ? args : args.with(at, settling)
}

/** True for an error that is an answer of the chain: a revert, or a missing contract. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false
  if (error.walk((cause) => cause instanceof ContractFunctionZeroDataError) !== null) return true
  // An error inside the endpoint looks like a revert, but has neither data nor the word "revert".
  const revert = error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  return (
    revert instanceof ContractFunctionRevertedError && (revert.raw !== undefined || /revert/i.test(revert.reason ?? ''))
  )
}
