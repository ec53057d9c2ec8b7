import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { checkMoney } from '#control-plane/check-ledger/check.ts'
import { readConfig } from '#control-plane/config.ts'
import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { Database } from '#control-plane/db/database.ts'
import { openPayments } from '#control-plane/open-payments.ts'
import type { PaymentTimes } from '#control-plane/ports/facilitator/payment-parts.ts'
import { claimPayment } from '#control-plane/services/payments/claim-payment.ts'
import type { TurnCtx } from '#control-plane/services/payments/finish-payments.ts'
import { finishOpenPayments } from '#control-plane/services/payments/finish-payments.ts'
import { releasePayment, settlePayment } from '#control-plane/services/payments/settle-payment.ts'
import { systemClock } from '#shared/clock.ts'
import type { ClaimAnswer, SettleAnswer } from '#shared/contract/chain-payments.ts'
import { ClaimAskSchema, SettleAskSchema } from '#shared/contract/chain-payments.ts'
import type { AccountId } from '#shared/ids.ts'
import type { ChainEnvironment, ChainWallet, OwnChain, TestChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import type { RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { rpcRelay } from '#test/support/chain/rpc-relay.ts'
import { stockClient } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'
import type { GateWorld } from './gate.ts'
import { ids, log, startGateWorld } from './gate.ts'
import { newAccount } from './ledger.ts'
import { eventText } from './usage-events.ts'

const SECRET = 'for tests only, 32 characters long'
const FINISHED_MS = 20_000

export type Scheme = 'exact' | 'upto'

/** A signed payment with the requirement that it meets. */
export type Signed = { readonly payload: PaymentPayload; readonly requirement: PaymentRequirements }

/** The members of a claim that a test sets. All others are valid. */
export type ClaimOptions = { readonly rid?: string; readonly bodyDigest?: string; readonly serveUntil?: number }

/** A settlement in tests: the charge in micro-USD, or null for money that is taken before the service. */
export type SettleOptions = { readonly waitMs?: number; readonly event?: string }

/** Payments on a chain, with the ledger that books them. */
export type PaymentWorld = {
  readonly gate: GateWorld
  readonly db: Database
  readonly chain: TestChain
  readonly environment: ChainEnvironment
  readonly ctx: TurnCtx
  readonly seller: AccountId
  /** The context of another process with the same key, on the same database. */
  process(environment?: Partial<Record<string, string>>, times?: Partial<PaymentTimes>): TurnCtx
  requirement(scheme: Scheme, amount: bigint): Promise<PaymentRequirements>
  /** A payment by the stock client. Without `permit`, a payer by upto needs an allowance. */
  sign(wallet: ChainWallet, scheme: Scheme, amount: bigint, permit?: boolean): Promise<Signed>
  claim(signed: Signed, input?: ClaimOptions, ctx?: TurnCtx): Promise<ClaimAnswer>
  /** Claims a payment and checks that the claim is accepted. Returns the request id. */
  claimed(signed: Signed, input?: ClaimOptions): Promise<string>
  settle(rid: string, charge: bigint | null, input?: SettleOptions, ctx?: TurnCtx): Promise<SettleAnswer>
  /** Ends the claim of a call that owes nothing. */
  release(rid: string): Promise<void>
  /** The usage event of a claimed call, with a charge in micro-USD. */
  eventOf(rid: string, charge: bigint): Promise<string>
  row(rid: string): Promise<ChainPayment>
  /** Runs turns of the worker until a payment is booked. */
  booked(rid: string, ctx?: TurnCtx): Promise<ChainPayment>
  /** The ledger's entries of a call and its payment, by account. */
  entries(rid: string): Promise<Record<string, bigint>>
  /** The balance of a wallet's buyer account. */
  credit(wallet: ChainWallet): Promise<bigint>
  /** The presently broken rules of the ledger. */
  breaches(): Promise<string[]>
  stop(): Promise<void>
}

/** A payment that a call has claimed. */
export type Claimed = { readonly rid: string; readonly wallet: ChainWallet; readonly signed: Signed }

/** Claims a payment of this amount by a new wallet with some money. */
export async function claimAnew(
  world: Pick<PaymentWorld, 'sign' | 'claimed' | 'chain'>,
  input: { readonly scheme: Scheme; readonly amount: bigint; readonly money: Parameters<TestChain['newWallet']>[0] },
): Promise<Claimed> {
  const wallet = await world.chain.newWallet(input.money)
  const signed = await world.sign(wallet, input.scheme, input.amount)
  return { wallet, signed, rid: await world.claimed(signed) }
}

/** A payment of a call, in micro-USD: the wallet's money, the signed amount, and the cost of the call. */
export const PAID_CALL = { money: 1_000_000n, price: 20_000n, charge: 7_321n } as const

/** Payments on a chain of their own, which the control plane reaches through a relay. */
export type RelayedPayments = {
  readonly chain: OwnChain
  readonly relay: RpcRelay
  readonly world: PaymentWorld
  /** Claims a payment by a new wallet. */
  claimed(scheme: Scheme, money?: Parameters<TestChain['newWallet']>[0]): Promise<Claimed>
  /** The amount that the wallet of a payment has paid. */
  spent(payment: Claimed): Promise<bigint>
  /** Settles a call until its transaction is signed, while the charge stays pending. */
  signs(rid: string): Promise<void>
  /** Checks that the books are sound, and closes everything. */
  stop(): Promise<void>
}

/** Starts payments that are final after this many blocks. */
export async function startRelayedPayments(confirmations: number): Promise<RelayedPayments> {
  const chain = await startChain()
  const relay = await rpcRelay(chain.rpcUrl)
  const world = await startPayments(chain, { rpcUrl: relay.url, CHAIN_CONFIRMATIONS: String(confirmations) })
  return {
    chain,
    relay,
    world,
    claimed: (scheme, money = { usdc: PAID_CALL.money }) =>
      claimAnew(world, { scheme, amount: PAID_CALL.price, money }),
    spent: async ({ wallet }) => PAID_CALL.money - (await chain.usdcBalance(wallet.address)),
    signs: (rid) =>
      until('the transaction is signed', 10_000, async () => {
        const { state, transaction } = await world.settle(rid, PAID_CALL.charge, { waitMs: 500 })
        expect(state).toBe('pending')
        return transaction !== null
      }),
    async stop() {
      expect(await world.breaches()).toEqual([])
      await world.stop()
      await relay.close()
      await chain.stop()
    },
  }
}

/** Short waits, because a local chain answers at once. */
/** A busy machine takes longer than production to verify a payment, and no test waits for the end of that time. */
const TIMES = { confirmationMs: 500, againAfterMs: 200, restingMs: 50, watchEveryMs: 100, verifyMs: 60_000 }
const DIGEST = 'ab'.repeat(32)
const SERVE_MS = 60_000

/** Starts payments on a chain, or on a chain of the test's own. `environment` may set another address of the chain. */
export async function startPayments(
  chain: TestChain,
  changes: { readonly rpcUrl?: string; readonly [name: string]: string | undefined } = {},
): Promise<PaymentWorld> {
  const { rpcUrl, ...rest } = changes
  const environment = { ...(await chain.environment(rpcUrl)), ...rest }
  const gate = await startGateWorld()
  const { db } = gate
  const process: PaymentWorld['process'] = (more = {}, times = {}) => {
    const config = readConfig({
      NODE_ENV: 'test',
      DATABASE_URL: gate.databaseUrl,
      REDIS_URL: gate.redisUrl,
      KEY_PEPPER: SECRET,
      FINGERPRINT_PEPPER: SECRET,
      SESSION_SECRET: SECRET,
      CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      LOG_LEVEL: 'silent',
      ...environment,
      ...more,
    })
    const payments = openPayments(config, db, log, { ...TIMES, ...times })
    if (payments === null) throw new Error('payments are not set up')
    return { db, ledger: gate.ledger, gate: gate.gate, clock: systemClock, ids, log, payments }
  }
  const ctx = process()
  const seller = await newAccount(db, 'seller_available')
  const calls = paidCalls(ctx, chain, seller)
  return {
    gate,
    db,
    chain,
    environment,
    ctx,
    seller,
    process,
    ...calls,
    ...books(gate),
    stop: gate.stop,
  }
}

/** Payments of calls to a seller, booked by the services themselves. */
export function paidCalls(ctx: TurnCtx, chain: TestChain, seller: AccountId) {
  return { ...signing(ctx, chain), ...asking(ctx, seller) }
}

function signing(ctx: TurnCtx, chain: TestChain) {
  async function requirement(scheme: Scheme, amount: bigint): Promise<PaymentRequirements> {
    const { network, asset, payTo, facilitator } = ctx.payments
    const kinds = (await facilitator.supported()).kinds
    const named = kinds.find((kind) => kind.scheme === 'upto')?.extra ?? {}
    return {
      scheme,
      network,
      asset,
      payTo,
      amount: String(amount),
      maxTimeoutSeconds: 900,
      extra: { name: 'USD Coin', version: '2', ...(scheme === 'upto' ? named : {}) },
    }
  }
  return {
    requirement,
    sign: async (wallet: ChainWallet, scheme: Scheme, amount: bigint, permit = true): Promise<Signed> => {
      const wanted = await requirement(scheme, amount)
      const payload = await stockClient(chain, wallet, scheme).createPaymentPayload({
        x402Version: 2,
        accepts: [wanted],
        resource: { url: 'http://127.0.0.1/v1/chat/completions' },
        ...(permit && {
          extensions: { eip2612GasSponsoring: { info: { description: '', version: '1' }, schema: {} } },
        }),
      })
      return { payload, requirement: wanted }
    },
  }
}

function asking(ctx: TurnCtx, seller: AccountId) {
  const row = async (rid: string): Promise<ChainPayment> => {
    const found = await ctx.ledger.payments.find(rid)
    if (found === undefined) throw new Error(`no payment of ${rid}`)
    return found
  }
  const claim = ({ payload, requirement }: Signed, input: ClaimOptions = {}, by = ctx) =>
    claimPayment(
      by,
      ClaimAskSchema.parse({
        rid: input.rid ?? ids.ulid(),
        rail: requirement.scheme === 'upto' ? 'x402-upto' : 'x402-exact',
        amountMicro: requirement.amount,
        bodyDigest: input.bodyDigest ?? DIGEST,
        payload,
        requirement,
        serveUntil: input.serveUntil ?? Date.now() + SERVE_MS,
      }),
    )
  const eventOf = async (rid: string, charge: bigint) => {
    const { rail, account, payer, amount } = await row(rid)
    const input = { rid, account, sellerAccount: seller, charge: Number(charge), hold: Number(amount) }
    return eventText(input, { rail, keyId: null, wallet: payer })
  }
  return {
    row,
    claim,
    eventOf,
    claimed: async (signed: Signed, input: ClaimOptions = {}) => {
      const rid = input.rid ?? ids.ulid()
      const answer = await claim(signed, { ...input, rid })
      if (answer.state !== 'claimed') throw new Error(`not claimed: ${JSON.stringify(answer)}`)
      return rid
    },
    settle: async (rid: string, charge: bigint | null, { waitMs = 10_000, event }: SettleOptions = {}, by = ctx) => {
      const text = event ?? (charge === null ? null : await eventOf(rid, charge))
      return settlePayment(by, SettleAskSchema.parse({ rid, event: text, chargeMicro: String(charge ?? 0), waitMs }))
    },
    release: async (rid: string) => releasePayment(ctx, (await row(rid)).rid),
    booked: async (rid: string, by = ctx) => {
      await until('the payment is booked', FINISHED_MS, async () => {
        await finishOpenPayments(by)
        return (await row(rid)).bookedAt !== null
      })
      return row(rid)
    },
  }
}

function books({ db, databaseUrl, redisUrl }: GateWorld) {
  return {
    entries: async (rid: string) => {
      const { rows } = await sql<{ account: string; amount: bigint }>`select account, amount from ledger_entry
        where tx = ${rid} or tx in (select tx from ledger_key where key in (${`payment:${rid}`}, ${`late_payment:${rid}`}, ${`write_off:${rid}`}))`.execute(
        db,
      )
      const sums: Record<string, bigint> = {}
      for (const { account, amount } of rows) sums[account] = (sums[account] ?? 0n) + amount
      return sums
    },
    credit: async ({ address }: ChainWallet) => {
      const found = await db
        .selectFrom('app_user')
        .innerJoin('account', 'account.id', 'app_user.buyer_account')
        .select('account.balance')
        .where('app_user.wallet', '=', address.toLowerCase())
        .executeTakeFirst()
      return found?.balance ?? 0n
    },
    breaches: async () => {
      const where = { databaseUrl, redisUrl, journalDir: undefined }
      const { findings } = await checkMoney(where, { isQuiesced: false, quiescenceMs: 1_000, maxLooks: 3 })
      return findings.filter(({ state }) => state === 'breach').map(({ id }) => id)
    },
  }
}
