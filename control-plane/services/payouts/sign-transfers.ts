import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { sumAccount } from '#control-plane/db/ledger.ts'
import type { BookedPayout, Signed, TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import {
  changeTransfer,
  listBookedPayouts,
  listScheduledNonces,
  lockScheduledTransfers,
  sumOpenTransfers,
} from '#control-plane/db/treasury-transfers.ts'
import type { Leave } from '#control-plane/ports/facilitator/leave.ts'
import type { Authorization } from '#control-plane/ports/treasury/authorization.ts'
import { nonceOf, nonceOfTransfer, typedDataOf } from '#control-plane/ports/treasury/authorization.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import { requireLeave } from '#control-plane/services/gate/may-leave.ts'
import { headOfKnownChain } from '#control-plane/services/treasury/known-chain.ts'
import { purseOfTreasury } from '#control-plane/services/treasury/purse-of-treasury.ts'
import { lowerBigint } from '#shared/bigints.ts'
import { SECOND } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { takeStep } from './end-transfer.ts'
import { holdPayouts } from './payout-stops.ts'
import type { TransferEvent } from './transfer-states.ts'
import { REASONS } from './transfer-states.ts'
import type { TreasuryCtx } from './treasury-ctx.ts'

/** Transfers of one transaction. Each takes about 90,000 gas, and a transaction of Base at most 16 million. */
export const MAX_BATCH = 100
/** Most scheduled transfers whose nonces are read at once: those of a turn. */
const MAX_LOOKED_UP = 20 * MAX_BATCH

/** The state of the chain at the moment of signing. */
export type Ground = {
  /** The treasury's balance of the token. */
  readonly balance: bigint
  readonly block: bigint
  /** The later of the chain's clock and the market's, in Unix milliseconds. */
  readonly at: number
  /**
   * Nonces of scheduled transfers that the token no longer accepts: the transfers have left without the books'
   * knowledge.
   */
  readonly spent: ReadonlySet<string>
}

/** Reads the state of the chain for signatures. Throws when the chain does not answer, or is another chain. */
export async function readGround(ctx: TreasuryCtx): Promise<Ground> {
  const { chain, asset, address } = ctx.treasury
  const head = await headOfKnownChain(ctx, chain, purseOfTreasury(ctx.treasury))
  const nonces = await listScheduledNonces(ctx.db, MAX_LOOKED_UP)
  const [balance, spent] = await Promise.all([
    chain.balanceOf(asset, address),
    nonces.length === 0 ? NONE : chain.listSpent({ asset, treasury: address, nonces }, head.block),
  ])
  return { balance, block: head.block, at: Math.max(head.at, ctx.clock.now()), spent }
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Signs the next scheduled transfers as one batch. Each is reviewed against the ledger in the transaction that signs
 * it. Returns the number of reviewed transfers; 0 when none waits.
 */
export async function signBatch(
  ctx: TreasuryCtx,
  { ground, leave }: { readonly ground: Ground; readonly leave: Leave },
  batch: string,
): Promise<number> {
  const looked = await transact(ctx.db, async (trx) => {
    await requireLeave(trx, leave)
    const transfers = await lockScheduledTransfers(trx, MAX_BATCH)
    const verdicts = await reviewTransfers(ctx, trx, transfers, ground)
    await Promise.all(
      transfers.map(async (transfer) => {
        const verdict = verdicts.get(transfer.id)
        if (verdict === 'sign') await signTransfer(ctx, trx, transfer, { ground, batch })
        else if (verdict?.event === null) await changeTransfer(trx, transfer.id, { reason: verdict.reason })
        else if (verdict !== undefined)
          await takeStep(ctx, trx, transfer, { event: verdict.event, changes: { reason: verdict.reason } })
      }),
    )
    return {
      all: transfers.length,
      moved: [...verdicts.values()].filter((one) => one === 'sign' || one.event !== null),
    }
  })
  crashPoint('payout_signed')
  // A transfer that only waits for money would be reviewed for ever.
  return looked.moved.length === 0 ? 0 : looked.all
}

/** With a null `event` the transfer stays where it is. */
type Verdict = 'sign' | { readonly event: Extract<TransferEvent, 'hold' | 'cancel'> | null; readonly reason: string }

/**
 * Reviews transfers against the ledger, the operators' decisions, the list and the treasury's balance. A transfer that
 * differs from the ledger stops all payouts until a person has looked.
 */
export async function reviewTransfers(
  ctx: TreasuryCtx,
  trx: Trx,
  transfers: readonly TreasuryTransfer[],
  ground: Ground,
): Promise<ReadonlyMap<string, Verdict>> {
  const { treasury } = ctx
  const [facts, open] = [await listBookedPayouts(trx, idsOf(transfers)), await sumOpenTransfers(trx, ground.block)]
  const blocked = await treasury.blocked.listed(transfers.map(({ recipient }) => recipient)).catch((error: unknown) => {
    ctx.log.error({ err: error }, 'the list of blocked addresses cannot be read: no payout is signed')
    return undefined
  })
  // Every signed transfer may leave at any time, whatever became of its transaction. The books are below the balance
  // when tokens arrived that are not booked, and above it when buyers paid in other money: sellers get no more than the
  // lower of the two.
  const booked = -(await sumAccount(trx, PLATFORM_ACCOUNTS.externalUsdc)) - open.unbooked
  let left = lowerBigint(ground.balance - open.signed, booked)
  const verdicts = new Map<string, Verdict>()
  const strange: string[] = []
  for (const transfer of transfers) {
    const verdict = reviewTransfer(treasury, transfer, { booked: facts.get(transfer.id), blocked, ground })
    const isCovered = verdict !== 'sign' || transfer.amount <= left
    verdicts.set(transfer.id, isCovered ? verdict : { event: null, reason: REASONS.low })
    if (isCovered && verdict === 'sign') left -= transfer.amount
    if (verdict !== 'sign' && verdict.reason === REASONS.mismatch) strange.push(transfer.id)
  }
  if (strange.length === 0) return verdicts
  for (const id of strange) {
    ctx.log.error({ id }, 'the ledger’s payout differs from the one to be signed: payouts stop')
    await holdPayouts(ctx, trx, `review:${id}`)
  }
  return new Map(strange.map((id) => [id, { event: 'hold', reason: REASONS.mismatch }]))
}

const idsOf = (transfers: readonly TreasuryTransfer[]) => transfers.map(({ id }) => id)

type Facts = {
  readonly booked: BookedPayout | undefined
  readonly blocked: ReadonlySet<string> | undefined
  readonly ground: Ground
}

function reviewTransfer(
  treasury: TreasuryParts,
  transfer: TreasuryTransfer,
  { booked, blocked, ground }: Facts,
): Verdict {
  if (transfer.nonce !== nonceIn(transfer) || !isBacked(treasury, transfer, booked)) {
    return { event: 'hold', reason: REASONS.mismatch }
  }
  // The transfer has left. The reader of the treasury's transfers finds its transaction.
  if (ground.spent.has(transfer.nonce)) return { event: null, reason: REASONS.gone }
  // The earlier signature has expired, and another treasury has other nonces.
  if (!isOfTreasury(treasury, transfer)) return { event: 'cancel', reason: REASONS.treasuryChanged }
  if (booked?.isStopped === true) return { event: 'hold', reason: REASONS.operator }
  if (blocked === undefined) return { event: null, reason: REASONS.listUnreadable }
  return blocked.has(transfer.recipient) ? { event: 'hold', reason: REASONS.blocked } : 'sign'
}

/** The nonce from a transfer's name, or from its id when it was planned before transfers had names. */
function nonceIn({ id, number, seller, recipient }: TreasuryTransfer): string {
  return number === null ? nonceOf(id) : nonceOfTransfer({ seller, recipient, number })
}

/** True when the ledger has exactly this money under way, once, or when a sweep goes to the cold address. */
function isBacked(
  { coldAddress }: TreasuryParts,
  { purpose, recipient, amount }: TreasuryTransfer,
  booked: BookedPayout | undefined,
): boolean {
  if (purpose === 'sweep') return recipient === coldAddress
  return booked !== undefined && booked.begun === amount && booked.ended === 0 && booked.inFlight >= amount
}

function isOfTreasury(ours: TreasuryParts, { signature, treasury, asset, chainId }: TreasuryTransfer): boolean {
  if (signature === null) return true
  return treasury === ours.address && asset === ours.asset && chainId === BigInt(ours.chainId)
}

/** Signs a reviewed transfer. The signature is stored before it leaves this process. */
export async function signTransfer(
  ctx: TreasuryCtx,
  trx: Trx,
  transfer: TreasuryTransfer,
  { ground, batch }: { readonly ground: Ground; readonly batch: string | null },
): Promise<Signed> {
  const { treasury } = ctx
  const until = Math.max(ground.at + treasury.validMs, transfer.validUntil?.getTime() ?? 0)
  // The token reads whole seconds.
  const validUntil = new Date(Math.floor(until / SECOND) * SECOND)
  const authorization = authorizationOf(treasury, { ...transfer, validUntil })
  const signed: Signed = {
    chainId: BigInt(treasury.chainId),
    asset: treasury.asset,
    treasury: treasury.address,
    signature: await treasury.signer.signAuthorization(typedDataOf(authorization)),
    validUntil,
    // The search for the use of an earlier signature has not excluded a use yet.
    signedAtBlock: transfer.signedAtBlock ?? ground.block,
  }
  await takeStep(ctx, trx, transfer, { event: 'sign', changes: { signed, batch, reason: null } })
  return signed
}

type Signable = Pick<TreasuryTransfer, 'mode' | 'recipient' | 'amount' | 'nonce'> & { readonly validUntil: Date }

/** The authorization that the treasury signs for a transfer. */
export function authorizationOf(
  { chainId, asset, assetName, assetVersion, address }: TreasuryParts,
  { mode, recipient, amount, nonce, validUntil }: Signable,
): Authorization {
  return {
    chainId,
    asset,
    assetName,
    assetVersion,
    payer: address,
    recipient,
    amount,
    nonce,
    kind: mode === 'self_submit' ? 'receive' : 'transfer',
    validBefore: BigInt(validUntil.getTime() / SECOND),
  }
}
