import type { Hex, TransactionSerializable } from 'viem'
import { serializeTransaction } from 'viem'
import type { Chain } from '#control-plane/ports/chain/chain.ts'
import type { ChainSender } from '#control-plane/ports/facilitator/chain-sender.ts'
import { createChainSender } from '#control-plane/ports/facilitator/chain-sender.ts'
import { createOwnFacilitator } from '#control-plane/ports/facilitator/own-facilitator.ts'
import type { PaymentParts } from '#control-plane/ports/facilitator/payment-parts.ts'
import { newPaymentMemory } from '#control-plane/ports/facilitator/payment-parts.ts'
import type { BlockReceipt, PaymentSchemes, SchemeUse } from '#control-plane/ports/facilitator/payment-schemes.ts'
import type { SettlementRpc } from '#control-plane/ports/facilitator/settlement-rpc.ts'
import type { Take } from '#test/sim/chain/chain.ts'
import { TAKER, USUAL_FEE } from '#test/sim/chain/chain.ts'
import type { ChainHost } from '#test/sim/chain/chain-host.ts'
import type { LedgerSession } from '#test/sim/ledger/ledger-host.ts'
import { memoryTransactions, unmine } from '#test/sim/ledger/memory-payments.ts'
import { FACILITATOR, isSigned, TERMS, takeOf } from '#test/sim/model/wallets.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { log } from './ground.ts'

const CHAIN_ID = 8453
/** Blocks after which a transfer is final. A reorganisation of this chain replaces fewer. */
const CONFIRMATIONS = 5
/** The largest open amounts of one payer and of all payers, in micro-USD. They are small, so that runs reach them. */
export const PAYER_EXPOSURE = 40_000n
export const EXPOSURE = 90_000n
const TIMES = { confirmationMs: 2_000, againAfterMs: 1_500, restingMs: 800, watchEveryMs: 3_000, verifyMs: 5_000 }
const GAS_MONEY = 10n ** 18n
const LOOK_MS = 250
const SIGNATURE = { r: `0x${'11'.repeat(32)}`, s: `0x${'22'.repeat(32)}`, yParity: 0 } as const

/** A process of the control plane, its connection to the chain, and the tables of its signed transactions. */
export type ChainUser = {
  readonly host: ChainHost
  readonly process: SimProcess
  readonly session: LedgerSession
  /** Called just before and after a transaction is sent. */
  pass(point: 'before broadcast' | 'after broadcast'): void
}

/** The parts by which wallets pay: the product's sender and facilitator over the simulated chain. */
export function openChainPayments(user: ChainUser): PaymentParts {
  const { process, session } = user
  const rpc = rpcOf(user)
  const store = memoryTransactions(session)
  const keeping = { store, clock: process.time, log, times: TIMES }
  const account = {
    address: FACILITATOR,
    // Signatures are not checked in this world. The signed text is the same each time.
    signTransaction: async (input: TransactionSerializable): Promise<Hex> => serializeTransaction(input, SIGNATURE),
  } as const
  const sender = createChainSender({ ...keeping, rpc, chainId: CHAIN_ID, account })
  const schemes = schemesOf(user, sender)
  const facilitator = createOwnFacilitator({ ...keeping, network: TERMS.network, schemes, sender })
  return {
    ...TERMS,
    confirmations: CONFIRMATIONS,
    payerExposureMicro: PAYER_EXPOSURE,
    exposureMicro: EXPOSURE,
    contractExposureMicro: EXPOSURE,
    facilitator,
    chain: chainOf(user),
    settler: FACILITATOR.toLowerCase(),
    gasMoney: null,
    sendAgain: sender.sendAgain,
    unmine: (transaction) => unmine(session, transaction),
    memory: newPaymentMemory(),
    times: TIMES,
  }
}

function rpcOf({ host, process, pass }: ChainUser): SettlementRpc {
  const { chain } = host
  const ask = <Result>(run: () => Result) => host.ask(process, run)
  return {
    chainId: () => ask(() => CHAIN_ID),
    estimateFees: () => ask(() => ({ maxFeePerGas: USUAL_FEE, maxPriorityFeePerGas: 1n })),
    countOf: (tag) => ask(() => chain.countOf(tag)),
    async send(raw) {
      pass('before broadcast')
      await ask(() => chain.send(raw))
      pass('after broadcast')
    },
    receiptOf: (hash) =>
      ask(() => {
        const found = chain.minedOf(hash)
        return found && { isReverted: isReverted(found) }
      }),
    gasMoney: () => ask(() => (chain.hasGas() ? GAS_MONEY : 0n)),
  }
}

type Found = { readonly sent: { readonly take: Take | undefined }; readonly moved: unknown }

const isReverted = ({ sent, moved }: Found) => sent.take !== undefined && moved === undefined

function chainOf({ host, process }: ChainUser): Chain {
  const { chain } = host
  const ask = <Result>(run: () => Result) => host.ask(process, run)
  const keyOf = ({ payer, nonce }: { payer: string; nonce: string }) => `${payer} ${BigInt(nonce)}`
  return {
    receiptOf: (hash, payment) =>
      ask(() => {
        const found = chain.minedOf(hash)
        if (found === undefined || found.block > host.head()) return undefined
        const { moved, block } = found
        const isIts = moved !== undefined && `${moved.payer} ${moved.nonce}` === keyOf(payment)
        return { block, isReverted: isReverted(found), moved: isIts ? moved.amount : 0n }
      }),
    findTransfer: (payment) =>
      ask(() => chain.moves().find(({ payer, nonce }) => `${payer} ${nonce}` === keyOf(payment))?.hash),
    head: () => ask(() => ({ block: host.head(), at: process.time.now() })),
    readPurse: (_asset, payer, { nonces }) =>
      ask(() => {
        const used = nonces.filter((nonce) => chain.isUsed({ payer, nonce: BigInt(nonce) }))
        // Wallets of the simulation have approved Permit2 for ever.
        return { balance: chain.balanceOf(payer), allowance: 2n ** 256n - 1n, nextPermit: 0n, used: new Set(used) }
      }),
    hasCode: () => ask(() => false),
    checkChain: () => ask(() => undefined),
  }
}

/** Verification and settlement by the schemes of x402, over a chain with one contract for both. */
function schemesOf({ host, process }: ChainUser, sender: ChainSender): PaymentSchemes {
  const { chain } = host

  async function waitForReceipt(hash: Hex, timeoutMs: number): Promise<BlockReceipt> {
    const end = process.time.monotonic() + timeoutMs
    for (;;) {
      const receipt = await host.ask(process, () => {
        const found = chain.minedOf(hash)
        return found && ({ transactionHash: hash, status: isReverted(found) ? 'reverted' : 'success' } as const)
      })
      if (receipt !== undefined) return receipt
      if (process.time.monotonic() >= end) throw new Error('no block has the transaction')
      await process.time.sleep(LOOK_MS)
    }
  }

  const refuse = (errorReason: string) =>
    ({ success: false, errorReason, transaction: '', network: TERMS.network }) as const

  return {
    waitForReceipt,
    open(settlement, waitForBlock): SchemeUse {
      let silence: unknown
      const heard = <Result>(answer: Promise<Result>): Promise<Result> =>
        answer.catch((error: unknown) => {
          silence ??= error
          throw error
        })
      /** The reason of a refusal. Undefined for a payment that can be taken now. */
      const reasonOf = (take: Take) =>
        heard(
          host.ask(process, () => {
            if (chain.isUsed(take)) return 'nonce_already_used'
            if (take.until * 1_000n < BigInt(Math.floor(process.time.now()))) return 'expired'
            return chain.balanceOf(take.payer) < take.most ? 'insufficient_funds' : undefined
          }),
        )
      return {
        async verify({ payload }, requirements) {
          const take = takeOf(payload, BigInt(requirements.amount))
          if (!isSigned(payload)) {
            if (!host.unknownWallets.has(take.payer)) host.forgeries.add(`${take.payer} ${take.nonce}`)
            return { isValid: false, invalidReason: 'invalid_signature', payer: take.payer }
          }
          const reason = await reasonOf(take).catch(() => 'unexpected_verify_error')
          return reason === undefined
            ? { isValid: true, payer: take.payer }
            : { isValid: false, invalidReason: reason, payer: take.payer }
        },
        async settle({ payload }, requirements) {
          const take = takeOf(payload, BigInt(requirements.amount))
          const { payer, nonce, isExact, most, until } = take
          const amount = isExact ? take.amount : host.takenOf(`${payer} ${nonce}`, take.amount)
          const reason = await reasonOf(take).catch(() => 'unexpected_settle_error')
          if (reason !== undefined) return refuse(reason)
          if (isExact ? amount !== most : amount > most) return refuse('invalid_amount')
          if (settlement === undefined) throw new Error('a settlement without a reference')
          const args = [payer, nonce, isExact, most, amount, until] as const
          const call = { address: FACILITATOR, abi: TAKER, functionName: 'take', args } as const
          const hash = await heard(sender.send(settlement.ref, call, settlement.leave)).catch(() => undefined)
          if (hash === undefined) return refuse('unexpected_settle_error')
          const receipt = await waitForBlock(hash).catch(() => undefined)
          if (receipt === undefined) return refuse('settlement_pending')
          if (receipt.status === 'reverted') return refuse('transaction_reverted')
          return { success: true, transaction: receipt.transactionHash, network: TERMS.network, payer }
        },
        getSupported: () => ({
          kinds: [
            {
              x402Version: 2,
              scheme: 'upto',
              network: TERMS.network,
              extra: { facilitatorAddress: FACILITATOR },
            },
            { x402Version: 2, scheme: 'exact', network: TERMS.network },
          ],
          extensions: [],
          signers: {},
        }),
        silence: () => silence,
      }
    },
  }
}
