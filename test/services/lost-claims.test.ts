import { sql } from 'kysely'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { lockPayer } from '#control-plane/db/chain-payments.ts'
import { transact } from '#control-plane/db/database.ts'
import { listMoves } from '#control-plane/db/treasury-moves.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { purseOf, requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { assignMove } from '#control-plane/services/deposits/operator-moves.ts'
import { reconcile } from '#control-plane/services/deposits/reconcile.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { watchMoves } from '#control-plane/services/deposits/watch-moves.ts'
import { keepClaims } from '#control-plane/services/payments/rebuild-claim.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { HeldClaimSchema } from '#shared/contract/chain-payments.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { depositing } from '#test/support/books/deposits.ts'
import { ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import type { PaymentWorld, Scheme, Signed } from '#test/support/books/payments.ts'
import { paidCalls, startPayments } from '#test/support/books/payments.ts'
import type { PayoutWorld } from '#test/support/books/payouts.ts'
import { startPayouts } from '#test/support/books/payouts.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import { until } from '#test/support/run/until.ts'

const RICH = { usdc: 1_000_000n }
const PRICE = 20_000n
const CHARGE = 7_321n
const SELLER_NET = 6_954n

let chain: OwnChain
let world: PaymentWorld
beforeAll(async () => {
  chain = await startChain()
  world = await startPayments(chain, { CHAIN_CONFIRMATIONS: '1' })
})
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await chain.stop()
})

type Lost = {
  readonly rid: string
  readonly account: string
  readonly event: string
  readonly wallet: ChainWallet
  readonly signed: Signed
}

type Told = Pick<Lost, 'rid' | 'account' | 'wallet'> & { readonly signed: Signed; readonly seller: string }

/** The event of a call, from the journal. */
function tellEvent({ rid, account, wallet, seller, signed }: Told, hasClaim = true): string {
  const { payload, requirement } = signed
  const { scheme, network } = requirement
  const claim = {
    amountMicro: String(PRICE),
    bodyDigest: 'cd'.repeat(32),
    payload,
    requirement,
    serveUntil: Date.now(),
  }
  return eventText(
    { rid, account, sellerAccount: seller, charge: Number(CHARGE), hold: Number(PRICE) },
    {
      rail: `x402-${scheme}`,
      keyId: null,
      wallet: wallet.address.toLowerCase(),
      payment: { network, scheme, ...(hasClaim ? { claim } : {}) },
    },
  )
}

/** A call, from the journal, whose claim and account the ledger lost. */
async function lost(
  scheme: Scheme,
  { hasClaim = true, signed: given }: { hasClaim?: boolean; signed?: Signed } = {},
): Promise<Lost> {
  const wallet = await chain.newWallet(RICH)
  const signed = given ?? (await world.sign(wallet, scheme, PRICE))
  const [rid, account] = [ids.ulid(), ids.make('acc')]
  const event = tellEvent({ rid, account, wallet, signed, seller: world.seller }, hasClaim)
  return { rid, account, event, wallet, signed }
}

/** A standing claim, repeated by the process that serves its call. */
function heldClaim({ rid, account, signed }: Pick<Told, 'rid' | 'account' | 'signed'>) {
  const { payload, requirement } = signed
  const kept = { amountMicro: String(PRICE), bodyDigest: 'cd'.repeat(32), payload, requirement, serveUntil: Date.now() }
  return HeldClaimSchema.parse({ rid, account, rail: `x402-${requirement.scheme}`, ...kept })
}

describe('a claim that survived a restore of the ledger', () => {
  it.each(['exact', 'upto'] as const)('is repeated, and pays for no second call: %s', async (scheme) => {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, scheme, PRICE)
    const [rid, account] = [ids.ulid(), ids.make('acc')]
    const held = heldClaim({ rid, account, signed })
    await Promise.all([1, 2].map(() => keepClaims(world.ctx, [held])))
    expect(await world.claim(signed)).toMatchObject({ state: 'used', rid, standing: 'serving' })
    const event = tellEvent({ rid, account, wallet, signed, seller: world.seller })
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject({ state: 'settled' })
    expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', charge: CHARGE, account, event })
    await keepClaims(world.ctx, [held])
    expect((await world.row(rid)).state).toBe('confirmed')
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n - (scheme === 'upto' ? CHARGE : PRICE))
  })

  it('leaves the authorization to another call that has claimed it since', async () => {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'upto', PRICE)
    const other = await world.claimed(signed)
    const [rid, account] = [ids.ulid(), ids.make('acc')]
    await keepClaims(world.ctx, [heldClaim({ rid, account, signed })])
    await expect(world.row(rid)).rejects.toThrow('no payment')
    await world.release(other)
  })
})

/** A charge or a job's event of a wallet, naming an account that the ledger lost. */
const byWallet = (wallet: ChainWallet, text: string) =>
  JSON.stringify({ ...JSON.parse(text), rail: 'x402-exact', keyId: null, wallet: wallet.address.toLowerCase() })
const post = (...events: string[]) => postBatch(world.ctx, { events, source: 'test' })
const payerOf = async (rid: string) => {
  const { rows } = await sql<{ account: string }>`select account from settlement where rid = ${rid}`.execute(world.db)
  return rows[0]?.account
}

describe('a call whose account the ledger lost', () => {
  const free = (account: string) => ({ rid: ids.ulid(), account, charge: 0, hold: Number(PRICE), sellerAccount: null })

  it('is booked for the wallet when it cost nothing, with a new account, once', async () => {
    const wallet = await chain.newWallet(RICH)
    const account = ids.make('acc')
    const [call, next] = [free(account), free(account)]
    const events = [call, next].map((fields) => byWallet(wallet, eventText(fields)))
    expect(await post(...events)).toEqual({ posted: 2, repeats: 0, conflicts: 0, poisoned: 0 })
    expect(await post(...events)).toEqual({ posted: 0, repeats: 2, conflicts: 0, poisoned: 0 })
    expect([await payerOf(call.rid), await payerOf(next.rid)]).toEqual([account, account])
    const claimed = await world.claimed(await world.sign(wallet, 'exact', PRICE))
    expect((await world.row(claimed)).account).toBe(account)
    await world.release(claimed)
  })

  it('is booked for the account that the wallet has got since', async () => {
    const wallet = await chain.newWallet(RICH)
    const other = await world.claimed(await world.sign(wallet, 'exact', PRICE))
    const call = free(ids.make('acc'))
    expect(await post(byWallet(wallet, eventText(call)))).toMatchObject({ posted: 1, poisoned: 0 })
    expect(await payerOf(call.rid)).toBe((await world.row(other)).account)
    await world.release(other)
  })

  it('is set aside when its event names no wallet, beside others that are booked', async () => {
    const wallet = await chain.newWallet()
    const [byNobody, byCredit, good] = [free(ids.make('acc')), free(ids.make('acc')), free(ids.make('acc'))]
    const unnamed = JSON.stringify({ ...JSON.parse(byWallet(wallet, eventText(byNobody))), wallet: 'a wallet' })
    const told = await post(
      unnamed,
      eventText(byCredit, { wallet: wallet.address.toLowerCase() }),
      byWallet(wallet, eventText(good)),
    )
    expect(told).toMatchObject({ posted: 1, poisoned: 2 })
    const rids = [byNobody.rid, byCredit.rid]
    const aside = await world.db.selectFrom('usage_poison').select('reason').where('rid', 'in', rids).execute()
    expect(aside.map(({ reason }) => reason)).toEqual(['unknown_account', 'unknown_account'])
  })

  it('ends its job for the present account, though the end comes before the submit', async () => {
    const { rid, account, event, wallet } = await lost('exact')
    const { payment } = JSON.parse(event)
    const job = { rid, account, sellerAccount: world.seller, quote: Number(PRICE) }
    expect(await post(byWallet(wallet, endText(job, Number(CHARGE))))).toMatchObject({ posted: 1, poisoned: 0 })
    const submit = JSON.stringify({ ...JSON.parse(byWallet(wallet, submitText(job))), payment })
    await sql`delete from app_user where wallet = ${wallet.address.toLowerCase()}`.execute(world.db)
    const other = await world.claimed(await world.sign(wallet, 'upto', PRICE))
    await world.release(other)
    await world.settle(rid, PRICE, { event: submit })
    const { account: now } = await world.booked(rid)
    expect(now).not.toBe(account)
    expect(await payerOf(rid)).toBe(now)
    expect(await world.credit(wallet)).toBe(PRICE - CHARGE)
  })
})

describe('a claim that the ledger lost', () => {
  it.each(['exact', 'upto'] as const)('is made again from the journal, settled and booked once: %s', async (scheme) => {
    const { rid, account, event, wallet } = await lost(scheme)
    const answers = await Promise.all([1, 2].map(() => world.settle(rid, CHARGE, { event }).catch(() => undefined)))
    expect(answers.map((answer) => answer?.state)).toContain('settled')
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject({ state: 'settled' })
    expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', charge: CHARGE, account, event })
    expect((await world.entries(rid))[world.seller]).toBe(SELLER_NET)
    const taken = scheme === 'upto' ? CHARGE : PRICE
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n - taken)
    expect(await world.credit(wallet)).toBe(taken - CHARGE)
  })

  it.each(['its charge', 'the claims that stand'] as const)(
    'that two processes repeat at once, also by %s, is booked once',
    async (by) => {
      const { rid, account, event, wallet, signed } = await lost('upto')
      const payer = wallet.address.toLowerCase()
      const held = heldClaim({ rid, account, signed })
      let telling: Promise<unknown>[] = []
      await transact(world.db, async (trx) => {
        await lockPayer(trx, payer)
        // Both processes have found no claim, and one of them creates it first.
        telling = [
          by === 'its charge' ? world.settle(rid, CHARGE, { event }) : keepClaims(world.ctx, [held]),
          world.settle(rid, CHARGE, { event }),
        ]
        await until('both wait for the payer', 10_000, async () => {
          const { rows } = await sql`select from pg_locks where locktype = 'advisory' and not granted`.execute(world.db)
          return rows.length === telling.length
        })
      })
      expect(await telling[1]).toMatchObject({ state: 'settled' })
      await telling[0]
      expect(await world.booked(rid)).toMatchObject({ state: 'confirmed', charge: CHARGE, account })
      expect(await world.db.selectFrom('usage_poison').select('rid').where('rid', '=', rid).execute()).toEqual([])
    },
  )

  it('of a wallet that has another account since reports that account to every repeat', async () => {
    const { rid, account, event, wallet } = await lost('upto')
    const other = await world.claimed(await world.sign(wallet, 'upto', PRICE))
    expect((await world.row(other)).account).not.toBe(account)
    await world.release(other)
    const settled = { state: 'settled', amountMicro: CHARGE }
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject(settled)
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject(settled)
    expect(await world.booked(rid)).toMatchObject({ account: (await world.row(other)).account, charge: CHARGE })
    expect(await world.db.selectFrom('usage_conflict').select('rid').where('rid', '=', rid).execute()).toEqual([])
    // The heir of a dead process reports another charge, also under the former account.
    const heirs = eventText(
      { rid, account, sellerAccount: world.seller, charge: 5_000, hold: Number(PRICE) },
      { rail: 'x402-upto', keyId: null, wallet: wallet.address.toLowerCase() },
    )
    expect(await world.settle(rid, 5_000n, { event: heirs })).toMatchObject(settled)
  })

  it('counts as a contract’s where the chain has code of its payer, though a key has signed', async () => {
    const { rid, event, wallet } = await lost('exact')
    await callChain(chain.rpcUrl, [['anvil_setCode', [wallet.address, '0x00']]])
    await world.settle(rid, CHARGE, { event, waitMs: 0 })
    const { rows } = await sql`select is_contract from chain_payment where rid = ${rid}`.execute(world.db)
    expect(rows).toEqual([{ is_contract: true }])
    await callChain(chain.rpcUrl, [['anvil_setCode', [wallet.address, '0x']]])
    await world.booked(rid)
  })

  it('is not made again when another call has claimed the authorization since, and ends', async () => {
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'exact', PRICE)
    await world.claimed(signed)
    const { rid, event } = await lost('exact', { signed })
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject({ state: 'failed', reason: 'claim_lost' })
  })

  it('that the journal lacks ends with its event set aside', async () => {
    const { rid, event } = await lost('upto', { hasClaim: false })
    expect(await world.settle(rid, CHARGE, { event })).toMatchObject({ state: 'failed', reason: 'claim_lost' })
    const rows = await world.db.selectFrom('usage_poison').select('reason').where('rid', '=', rid).execute()
    expect(rows).toEqual([{ reason: 'claim_lost' }])
  })

  it('delays other claims of its payer until the nodes have reported theirs', async () => {
    await world.gate.stopRebuilder()
    await world.gate.ledger.markRestored(Date.now())
    const wallet = await chain.newWallet(RICH)
    const signed = await world.sign(wallet, 'exact', PRICE)
    expect(await world.claim(signed)).toMatchObject({ state: 'closed', reason: 'ledger_restored' })
    world.gate.startRebuilder()
    await until('a claim is taken', 30_000, async () => (await world.claim(signed)).state === 'claimed')
  })
})

describe('an arrived payment whose claim the ledger lost', () => {
  const KEY: Hex = `0x${'43'.repeat(32)}`
  const WAIT_MS = 30_000
  let treasury: PayoutWorld
  beforeEach(async () => {
    treasury = await startPayouts(chain, { FACILITATOR_PRIVATE_KEY: KEY })
    await callChain(chain.rpcUrl, [['anvil_setBalance', [privateKeyToAccount(KEY).address, '0x3635c9adc5dea00000']]])
    await chain.mine()
    await takeDeposits(treasury.ctx)
  })
  afterEach(async () => {
    const { failure, mismatches } = await reconcile({ ...treasury.ctx, moves: requireMoves(treasury.ctx) })
    expect({ failure, mismatches }).toEqual({ failure: null, mismatches: [] })
    expect(await treasury.breaches()).toEqual([])
    await treasury.stop()
  })

  const record = () => treasury.gate.ledger.readEpoch()
  const untilBeat = async () => {
    const { beat } = await record()
    const told = async () => Number(await treasury.gate.redis.get(moneyKeys.beat))
    await until('two beats', WAIT_MS, async () => (await told()) >= beat + 2)
  }
  const moveOf = async (hash: string) => {
    const purse = purseOf(requireMoves(treasury.ctx))
    const moves = await listMoves(treasury.db, purse, { kind: undefined, direction: 'in' }, 100)
    return moves.find(({ transaction }) => transaction === hash.toLowerCase())
  }
  const calling = async () => {
    const { payments } = treasury.ctx
    if (payments === null) throw new Error('no payments')
    const seller = await newAccount(treasury.db, 'seller_available')
    return { seller, ...paidCalls({ ...treasury.ctx, payments }, chain, seller) }
  }

  /** A paid and settled call that a restored ledger lacks. Its transfer was read again. */
  async function settledAndLost(scheme: Scheme, { by = treasury.ctx, isKnown = true } = {}) {
    const calls = await calling()
    const buyers = depositing(treasury)
    const purse = await chain.newWallet(RICH)
    const user = isKnown ? await buyers.signIn(purse) : undefined
    const signed = await calls.sign(purse, scheme, PRICE)
    await untilBeat()
    const restore = await treasury.gate.backUpLedger()
    const rid = await calls.claimed(signed)
    const { account } = await calls.row(rid)
    const event = tellEvent({ rid, account, wallet: purse, signed, seller: calls.seller })
    const { transaction } = await calls.settle(rid, CHARGE, { event })
    if (transaction === null) throw new Error('the call is not settled')
    await calls.booked(rid)
    await untilBeat()
    await restore()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    await until('the transfer is judged', WAIT_MS, async () => {
      await takeDeposits(by)
      return ((await moveOf(transaction))?.kind ?? 'new') !== 'new'
    })
    const credit = async () => buyers.credit({ user: user ?? (await buyers.signIn(purse)), purse })
    return { calls, rid, event, transaction, credit, wallet: purse }
  }
  const named = async (transaction: string) => {
    await watchMoves(treasury.ctx)
    await takeDeposits(treasury.ctx)
    return moveOf(transaction)
  }

  it('by upto is no buyer’s credit until its journal reports it, and is booked once', async () => {
    const { calls, rid, event, transaction, credit } = await settledAndLost('upto')
    expect(await moveOf(transaction)).toMatchObject({ kind: 'unknown', reason: 'unknown_payment', amount: CHARGE })
    expect(await credit()).toBe(0)
    expect(await calls.settle(rid, CHARGE, { event })).toMatchObject({ state: 'settled', transaction })
    expect(await named(transaction)).toMatchObject({ kind: 'payment', ref: rid })
    expect(await calls.booked(rid)).toMatchObject({ state: 'confirmed', came: CHARGE, charge: CHARGE })
    expect(await credit()).toBe(0)
  })

  /** A process whose facilitator offers no payments, because its key has no money for gas. */
  const poor = async () => {
    const { payments, ...rest } = treasury.process()
    if (payments === null) throw new Error('no payments')
    const supported = async () => ({ kinds: [], extensions: [], signers: {} })
    return { ...rest, payments: { ...payments, facilitator: { ...payments.facilitator, supported } } }
  }

  it("by upto is recognised by the market's key, though the key has no money for gas", async () => {
    const { calls, rid, event, transaction, credit } = await settledAndLost('upto', {
      by: await poor(),
    })
    expect(await moveOf(transaction)).toMatchObject({ kind: 'unknown', reason: 'unknown_payment' })
    expect(await calls.settle(rid, CHARGE, { event })).toMatchObject({ state: 'settled' })
    await calls.booked(rid)
    expect(await credit()).toBe(0)
    await named(transaction)
  })

  it.each([
    ['by its authorization', false],
    ['by its transaction alone', true],
  ])(
    'by upto that was credited nevertheless, known %s, is not booked again: its call is charged to the credit',
    async (_, isOld) => {
      // No process here knows the settlement key.
      const other = treasury.process({ FACILITATOR_PRIVATE_KEY: `0x${'44'.repeat(32)}` })
      const { calls, rid, event, transaction, credit } = await settledAndLost('upto', { by: other })
      expect(await moveOf(transaction)).toMatchObject({ kind: 'deposit', permitNonce: expect.any(String) })
      if (isOld) {
        await treasury.db.connection().execute(async (connection) => {
          await sql`set session_replication_role = replica`.execute(connection)
          await sql`update treasury_move set permit_nonce = null, permit_by = null`.execute(connection)
          await sql`reset session_replication_role`.execute(connection)
        })
      }
      expect(await credit()).toBe(Number(CHARGE))
      expect(await calls.settle(rid, CHARGE, { event })).toMatchObject({ state: 'settled' })
      expect(await calls.booked(rid)).toMatchObject({ state: 'released', charge: CHARGE, came: null })
      expect(await credit()).toBe(0)
    },
  )

  it.each([true, false])('by exact is booked once, its payer known: %s', async (isKnown) => {
    const { calls, rid, event, transaction, credit } = await settledAndLost('exact', { isKnown })
    expect(await calls.settle(rid, CHARGE, { event })).toMatchObject({ state: 'settled' })
    await calls.booked(rid)
    expect(await named(transaction)).toMatchObject({ kind: isKnown ? 'deposit' : 'payment' })
    expect(await credit()).toBe(Number(PRICE - CHARGE))
  })

  it('is assigned to an account by an operator, unless its claim has been made again', async () => {
    const operator = { kind: 'operator', keyId: null, source: 'test' } as const
    const assign = (transaction: string, account: string) => {
      const change: RunCtx['change'] = (run) => transact(treasury.db, run)
      const party = assignMove.input.parse({ account, transaction, place: 0, reason: 'it is theirs' })
      return assignMove.run({ ...treasury.ctx, change } as RunCtx, operator, party)
    }
    const first = await settledAndLost('upto')
    expect(await first.calls.settle(first.rid, CHARGE, { event: first.event })).toMatchObject({ state: 'settled' })
    const account = await newAccount(treasury.db, 'buyer_credit')
    await expect(assign(first.transaction, account)).rejects.toMatchObject({ code: 'conflict' })
    await first.calls.booked(first.rid)
    await named(first.transaction)
    const second = await settledAndLost('upto')
    const { buyerAccount } = await depositing(treasury).signIn(second.wallet)
    await assign(second.transaction, buyerAccount)
    expect(await second.credit()).toBe(Number(CHARGE))
    expect(await second.calls.settle(second.rid, CHARGE, { event: second.event })).toMatchObject({ state: 'settled' })
    await second.calls.booked(second.rid)
    expect(await second.credit()).toBe(0)
  })
})
