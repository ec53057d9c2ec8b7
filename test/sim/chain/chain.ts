import type { Hex } from 'viem'
import { decodeFunctionData, keccak256, parseAbi, parseTransaction } from 'viem'
import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler } from '#test/sim/time/scheduler.ts'

/**
 * The contract that moves signed payments. It moves each payment once. It moves the whole amount of an exact payment,
 * and at most the signed amount of any other.
 */
export const TAKER = parseAbi([
  'function take(address payer, uint256 nonce, bool isExact, uint256 most, uint256 amount, uint256 until)',
])

/** The name of a signed payment: a payer in lower case and a number. */
export type Authorization = { readonly payer: string; readonly nonce: bigint }

/** A payment that is in a block. */
export type Moved = Authorization & { readonly hash: string; readonly amount: bigint; readonly block: bigint }

export type Take = Authorization & {
  readonly isExact: boolean
  readonly most: bigint
  readonly amount: bigint
  /** Unix seconds. */
  readonly until: bigint
}
/** A transaction of the settlement key. `take` is undefined for a transaction that only fills a gap in the nonces. */
type Sent = { readonly hash: string; readonly nonce: bigint; readonly fee: bigint; readonly take: Take | undefined }
type Mined = { readonly sent: Sent; readonly block: bigint; readonly moved: Moved | undefined }

/** A chain with blocks, balances, payments that can be taken once, and the ordered transactions of one key. */
export type SimChain = {
  head(): bigint
  /** Number of the key's transactions in blocks. With `pending`, waiting transactions count too. */
  countOf(tag: 'latest' | 'pending'): bigint
  /** Sends a transaction. Throws when a node would refuse it. */
  send(raw: Hex): void
  /** Sends a payment with the key of a stranger who has seen it. */
  sendByOther(take: Take): void
  minedOf(hash: string): Mined | undefined
  /** The transaction of the key with this nonce, if it is in a block. */
  minedAt(nonce: bigint): Mined | undefined
  moves(): readonly Moved[]
  isUsed(of: Authorization): boolean
  balanceOf(payer: string): bigint
  fund(payer: string, amount: bigint): void
  /** Moves a share of the payer's balance to another address. */
  drain(payer: string, percent: number): void
  /**
   * Replaces the last blocks, at most {@link MOST_REORG}. Their transactions wait again, or the nodes have forgotten
   * them.
   */
  reorganise(depth: number): void
  /** Makes the nodes forget the waiting transactions. */
  forgetWaiting(): void
  /**
   * The end of the time with full blocks, which only take transactions with a raised fee. Milliseconds of the world.
   */
  setFull(until: number): void
  setGas(hasGas: boolean): void
  hasGas(): boolean
}

const BLOCK_MS = 400
/** Largest number of blocks that a reorganisation replaces. */
export const MOST_REORG = 3
/** A fee that gets into full blocks. The usual fee is {@link USUAL_FEE}; the sender doubles it. */
const DUE_FEE = 220n
export const USUAL_FEE = 100n

export function createChain(scheduler: Scheduler, random: Random): SimChain {
  const balances = new Map<string, bigint>()
  const used = new Set<string>()
  /** The key's transactions in blocks. The index of each is its nonce. */
  const mined: Mined[] = []
  const byOthers: Mined[] = []
  /** Waiting transactions by nonce. Of two with one nonce, the one with the higher fee. */
  const waiting = new Map<bigint, Sent>()
  let fullUntil = 0
  let hasGas = true
  let isPlanned = false
  let others = 0

  const head = () => BigInt(Math.floor(scheduler.now() / BLOCK_MS))
  const nameOf = ({ payer, nonce }: Authorization) => `${payer} ${nonce}`
  const count = () => BigInt(mined.length)
  const balanceOf = (payer: string) => balances.get(payer) ?? 0n
  const add = (payer: string, amount: bigint) => void balances.set(payer, balanceOf(payer) + amount)

  function plan(): void {
    if (isPlanned || !waiting.has(count())) return
    isPlanned = true
    scheduler.after(BLOCK_MS - (scheduler.now() % BLOCK_MS), () => {
      isPlanned = false
      mine()
      plan()
    })
  }

  function mine(): void {
    const isFull = scheduler.now() < fullUntil
    for (let next = waiting.get(count()); next !== undefined; next = waiting.get(count())) {
      if (isFull && next.fee < DUE_FEE) return
      waiting.delete(next.nonce)
      mined.push({ sent: next, block: head(), moved: next.take && move(next.hash, next.take) })
    }
  }

  /** Undefined for a transfer that reverts. */
  function move(hash: string, take: Take): Moved | undefined {
    const { payer, nonce, isExact, most, amount, until } = take
    const isOver = until * 1_000n < BigInt(Math.floor(scheduler.wall()))
    const isSigned = isExact ? amount === most : amount <= most
    if (used.has(nameOf(take)) || !isSigned || isOver || balanceOf(payer) < amount) return undefined
    used.add(nameOf(take))
    add(payer, -amount)
    return { hash, payer, nonce, amount, block: head() }
  }

  /** Takes all transactions out of the blocks above this one. Returns them. */
  function cut(list: Mined[], above: bigint): Mined[] {
    const first = list.findIndex(({ block }) => block > above)
    const gone = first < 0 ? [] : list.splice(first)
    for (const { moved } of gone) {
      if (moved === undefined) continue
      used.delete(nameOf(moved))
      add(moved.payer, moved.amount)
    }
    return gone
  }

  return {
    head,
    countOf(tag) {
      let next = count()
      if (tag === 'pending') while (waiting.has(next)) next += 1n
      return next
    },
    send(raw) {
      if (!hasGas) throw new Error('insufficient funds for gas')
      const { nonce = 0, data, maxFeePerGas = 0n } = parseTransaction(raw)
      const sent: Sent = { hash: keccak256(raw), nonce: BigInt(nonce), fee: maxFeePerGas, take: takeIn(data) }
      if (sent.nonce < count()) throw new Error('nonce too low')
      const rival = waiting.get(sent.nonce)
      if (rival !== undefined && rival.hash !== sent.hash && sent.fee <= rival.fee) {
        throw new Error('replacement transaction underpriced')
      }
      waiting.set(sent.nonce, sent)
      plan()
    },
    sendByOther(take) {
      const hash = keccak256(`0x${(++others).toString(16).padStart(8, '0')}`)
      byOthers.push({ sent: { hash, nonce: 0n, fee: 0n, take }, block: head(), moved: move(hash, take) })
    },
    minedOf: (hash) => [...mined, ...byOthers].find(({ sent }) => sent.hash === hash),
    minedAt: (nonce) => mined[Number(nonce)],
    moves: () => [...mined, ...byOthers].flatMap(({ moved }) => moved ?? []),
    isUsed: (of) => used.has(nameOf(of)),
    balanceOf,
    fund: add,
    drain: (payer, percent) => add(payer, -((balanceOf(payer) * BigInt(percent)) / 100n)),
    reorganise(depth) {
      const above = head() - BigInt(Math.min(depth, MOST_REORG))
      const isForgotten = random.chance(0.4)
      cut(byOthers, above)
      for (const { sent } of cut(mined, above)) if (!isForgotten) waiting.set(sent.nonce, sent)
      plan()
    },
    forgetWaiting: () => waiting.clear(),
    setFull(until) {
      fullUntil = until
    },
    setGas(has) {
      hasGas = has
    },
    hasGas: () => hasGas,
  }
}

function takeIn(data: Hex | undefined): Take | undefined {
  if (data === undefined) return undefined
  const [payer, nonce, isExact, most, amount, until] = decodeFunctionData({ abi: TAKER, data }).args
  return { payer: payer.toLowerCase(), nonce, isExact, most, amount, until }
}
