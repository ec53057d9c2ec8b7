import { parseTransaction } from 'viem'
import { higherBigint } from '#shared/bigints.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { asHex } from '#shared/hex.ts'
import type { AskForLeave, Leave } from './leave.ts'
import type { SenderParts, SettlementKey } from './settlement-key.ts'
import { GAS_LIMIT } from './settlement-key.ts'
import type { SignedTransaction } from './transaction-store.ts'

const PLAIN_GAS = 21_000n
const MAX_AGAIN = 100
/** Time for which the transaction with the next nonce may wait. After that its fee counts as too low. */
const BUMP_AFTER_MS = 30 * SECOND
/** Most transactions with one nonce. Each pays an eighth more than the one before, as nodes require. */
const MAX_BUMPS = 10
/** Time after which a transaction is given up whose nonce another transaction has used. A node may lag for a moment. */
const DEAD_AFTER_MS = MINUTE

type Parts = Pick<SenderParts, 'chainId' | 'store' | 'clock' | 'log' | 'times' | 'know'>

/**
 * Makes the function that moves on stored transactions that are in no block: it sends them again, with a higher fee
 * after a while, including those that the chain forgot. It closes gaps in the nonces, and returns the number of waiting
 * transactions. Without permission nothing is signed: no fee is raised, and no gap is filled.
 */
export function createSendAgain(
  key: SettlementKey,
  { chainId, store, clock, log, times, know }: Parts,
): (ask: AskForLeave) => Promise<number> {
  const { rpc, address, sender, sign, broadcast, readFees } = key
  const { againAfterMs } = times
  let lookedAt = Number.NEGATIVE_INFINITY

  /** Signs the first transaction anew, with a higher fee. Either of the two may be mined, and never both. */
  async function bump(old: SignedTransaction, leave: Leave): Promise<void> {
    const { to, data, gas = GAS_LIMIT, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = parseTransaction(asHex(old.raw))
    if (to == null) return
    const now = await readFees()
    const fees = {
      maxFeePerGas: higherBigint(raised(maxFeePerGas), now.maxFeePerGas),
      maxPriorityFeePerGas: higherBigint(raised(maxPriorityFeePerGas), now.maxPriorityFeePerGas),
    }
    const replacement = { to, gas, nonce: old.nonce, ...(data && { data }), ...fees }
    const next = await store.addAt(old, leave, () => sign(replacement))
    log.warn({ hash: old.hash, next: next.hash, nonce: old.nonce }, 'a transaction waits too long: its fee was raised')
    await broadcast(next)
  }

  /** Fills unused nonces, because all later transactions wait for them. */
  async function fillGaps(count: bigint, ask: AskForLeave): Promise<void> {
    const missing = await store.missing(sender, count, MAX_AGAIN)
    const [first] = missing
    // A second program with the key has sent a transaction with this nonce, which waits for its block.
    if (first === undefined || (await rpc.countOf('pending')) > first) return
    const leave = await ask()
    if (leave === undefined) return
    const fees = await readFees()
    for (const nonce of missing) {
      const filler = { to: address, nonce, gas: PLAIN_GAS, ...fees }
      const signed = await store.addAt({ sender, nonce, ref: `gap ${sender} ${nonce}` }, leave, () => sign(filler))
      log.warn({ nonce, hash: signed.hash }, 'a gap in the nonces was filled')
      await broadcast(signed)
    }
  }

  /** Tends all transactions with one nonce, newest first. */
  async function lookAfter(tries: readonly SignedTransaction[], count: bigint, ask: AskForLeave): Promise<void> {
    const [newest] = tries
    if (newest === undefined) return
    for (const { hash } of tries) {
      const receipt = await rpc.receiptOf(asHex(hash))
      if (receipt !== undefined) return store.markMined(hash, receipt.isReverted)
    }
    const { nonce, ageMs, sentMs } = newest
    if (nonce < count) {
      // A different transaction has the nonce, so this one can never be mined.
      if (ageMs > DEAD_AFTER_MS) await store.markMined(newest.hash, true)
      return
    }
    // A transaction that the chain has forgotten is first sent again unchanged, and only then with a higher fee.
    const isStuck = ageMs > BUMP_AFTER_MS && sentMs !== null && sentMs < BUMP_AFTER_MS
    const leave = nonce === count && isStuck && tries.length < MAX_BUMPS ? await ask() : undefined
    if (leave !== undefined) await bump(newest, leave)
    else await broadcast(newest)
  }

  return async (ask) => {
    const now = clock.monotonic()
    if (now - lookedAt < againAfterMs) return 0
    await know?.()
    const answered = await rpc.chainId()
    if (answered !== chainId) throw new Error(`the chain's id is ${answered}, not ${chainId}`)
    const count = await rpc.countOf('latest')
    lookedAt = now
    const forgotten = await store.forget(sender, count, againAfterMs)
    if (forgotten > 0) log.warn({ forgotten, count }, 'the chain has forgotten transactions, which are sent again')
    await fillGaps(count, ask)
    const waiting = byNonce(await store.listUnmined(sender, againAfterMs, MAX_AGAIN))
    for (const tries of waiting.values()) await lookAfter(tries, count, ask)
    return waiting.size
  }
}

function byNonce(rows: readonly SignedTransaction[]): Map<bigint, SignedTransaction[]> {
  const groups = new Map<bigint, SignedTransaction[]>()
  for (const row of rows) groups.set(row.nonce, [row, ...(groups.get(row.nonce) ?? [])])
  return groups
}

const raised = (fee: bigint) => fee + fee / 8n + 1n
