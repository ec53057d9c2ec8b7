import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { listTransfersIn } from '#control-plane/db/treasury-transfers.ts'
import type { Block, UsedAuthorization } from '#control-plane/ports/treasury/treasury-chain.ts'
import { lowerBigint } from '#shared/bigints.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { stepTransfer } from './end-transfer.ts'
import { holdPayouts } from './payout-stops.ts'
import { REASONS } from './transfer-states.ts'
import type { TreasuryCtx } from './treasury-ctx.ts'

/** Transfers of one read, and most reads of a turn. */
const PAGE = 500
const MAX_PAGES = 20
/** Ends that are booked at once. */
const AT_ONCE = 4

/** Reads the state of signed transfers on the chain. Returns the number of transfers that moved on. */
export async function followTransfers(ctx: TreasuryCtx): Promise<number> {
  return eachPage(ctx, 'signed', async (transfers, head) => {
    const { chain, confirmations } = ctx.treasury
    const depth = BigInt(confirmations) - 1n
    // Blocks after this one are younger, and so are blocks that may replace them.
    const final = await chain.blockAt(head.block > depth ? head.block - depth : 0n)
    const { uses, unclear } = await findUses(ctx, transfers, head)
    return inTurns(transfers, async (transfer) => {
      const use = uses.get(transfer.nonce)
      if (use !== undefined) return noteUse(ctx, transfer, use)
      const isOver = transfer.validUntil !== null && transfer.validUntil.getTime() <= final.at
      return isOver && !unclear.has(transfer.nonce) ? letGo(ctx, transfer) : false
    })
  })
}

/** Checks whether transfers are deep enough to be final. Returns the number of paid transfers. */
export async function confirmTransfers(ctx: TreasuryCtx): Promise<number> {
  return eachPage(ctx, 'mined', async (transfers, head) => {
    const isDeep = (block: bigint | null) =>
      block !== null && head.block - block + 1n >= BigInt(ctx.treasury.confirmations)
    const due = transfers.filter(({ block }) => isDeep(block))
    if (due.length === 0) return 0
    const { uses, unclear } = await findUses(ctx, due, head)
    return inTurns(due, async (transfer) => {
      const use = uses.get(transfer.nonce)
      if (use === undefined) {
        if (unclear.has(transfer.nonce)) return false
        ctx.log.warn({ id: transfer.id, transaction: transfer.transaction }, 'the block of a transfer is gone')
        await stepTransfer(ctx, transfer.id, 'unmine', { transaction: null, block: null })
        return false
      }
      // A reorganisation may have moved the transfer to a different block.
      if (!isDeep(use.block) || !isAs(transfer, use)) return false
      const { transaction, block } = use
      const isPaid = await stepTransfer(ctx, transfer.id, 'confirm', { transaction, block, reason: null })
      crashPoint('payout_recorded')
      return isPaid
    })
  })
}

/** Goes through the transfers in a state, page by page. A failed page does not stop the others. */
async function eachPage(
  ctx: TreasuryCtx,
  state: 'signed' | 'mined',
  look: (transfers: readonly TreasuryTransfer[], head: Block) => Promise<number>,
): Promise<number> {
  const { chain, chainId } = ctx.treasury
  let count = 0
  let after = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const transfers = await listTransfersIn(ctx.db, state, { after, limit: PAGE })
    const last = transfers.at(-1)
    if (last === undefined) break
    // The head before the read: a transfer in no block by then may be in a later one.
    await chain.checkChain(chainId)
    count += await look(transfers, await chain.head())
    if (transfers.length < PAGE) break
    after = last.id
  }
  return count
}

type Uses = {
  /** The uses of transfers on the chain, by nonce. */
  readonly uses: ReadonlyMap<string, UsedAuthorization>
  /** Nonces that are spent without a known use, or on another chain. They must not count as unused. */
  readonly unclear: ReadonlySet<string>
}

async function findUses(
  { treasury: { chain, chainId } }: TreasuryCtx,
  transfers: readonly TreasuryTransfer[],
  head: Block,
): Promise<Uses> {
  const uses = new Map<string, UsedAuthorization>()
  const unclear = new Set(transfers.filter((one) => one.chainId !== BigInt(chainId)).map(({ nonce }) => nonce))
  for (const group of byTreasury(transfers.filter((transfer) => transfer.chainId === BigInt(chainId)))) {
    const { asset, treasury } = group
    const nonces = group.transfers.map(({ nonce }) => nonce)
    const spent = await chain.listSpent({ asset, treasury, nonces }, head.block)
    const spentTransfers = group.transfers.filter(({ nonce }) => spent.has(nonce))
    if (spentTransfers.length === 0) continue
    const fromBlock = spentTransfers.reduce(
      (least, { signedAtBlock }) => lowerBigint(least, signedAtBlock ?? 0n),
      head.block,
    )
    const foundUsed = await chain.findUsed({
      asset,
      treasury,
      nonces: spentTransfers.map(({ nonce }) => nonce),
      fromBlock,
    })
    for (const { nonce } of spentTransfers) {
      const use = foundUsed.get(nonce)
      if (use === undefined) unclear.add(nonce)
      else uses.set(nonce, use)
    }
  }
  return { uses, unclear }
}

type Group = { readonly asset: string; readonly treasury: string; readonly transfers: TreasuryTransfer[] }

/** Transfers by the token and treasury that they were signed for; the settings may have changed since. */
function byTreasury(transfers: readonly TreasuryTransfer[]): Iterable<Group> {
  const groups = new Map<string, Group>()
  for (const transfer of transfers) {
    const { asset, treasury } = transfer
    if (asset === null || treasury === null) continue
    const name = `${asset} ${treasury}`
    const group = groups.get(name) ?? { asset, treasury, transfers: [] }
    group.transfers.push(transfer)
    groups.set(name, group)
  }
  return groups.values()
}

async function noteUse(ctx: TreasuryCtx, transfer: TreasuryTransfer, use: UsedAuthorization): Promise<boolean> {
  if (!isAs(transfer, use)) {
    ctx.log.error({ id: transfer.id, ...use }, 'a transfer moved other money than was signed: payouts stop')
    await ctx.db.transaction().execute((trx) => holdPayouts(ctx, trx, `chain:${transfer.id}`))
    return false
  }
  crashPoint('payout_mined')
  const { transaction, block } = use
  return stepTransfer(ctx, transfer.id, 'mine', { transaction, block })
}

function isAs({ recipient, amount }: TreasuryTransfer, use: UsedAuthorization): boolean {
  return use.recipient === recipient && use.amount === amount
}

/** Ends a transfer whose signature can no longer be used. Only a transfer without a refusal is tried again. */
function letGo(ctx: TreasuryCtx, { id, mode, reason }: TreasuryTransfer): Promise<boolean> {
  if (mode === 'self_submit') return stepTransfer(ctx, id, 'expire', { reason: REASONS.unused })
  if (reason === REASONS.refused) return stepTransfer(ctx, id, 'expire')
  ctx.log.warn({ id }, 'the signature of a transfer expired: it is signed again')
  return stepTransfer(ctx, id, 'lapse', { batch: null, reason: REASONS.late })
}

/** Works on items a few at a time. Returns the number that moved on. */
async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<boolean>): Promise<number> {
  let count = 0
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const results = await Promise.all(items.slice(at, at + AT_ONCE).map(work))
    count += results.filter(Boolean).length
  }
  return count
}
