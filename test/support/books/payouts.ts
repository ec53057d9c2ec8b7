import { sql } from 'kysely'
import type { Address } from 'viem'
import { createWalletClient, http } from 'viem'
import { checkMoney } from '#control-plane/check-ledger/check.ts'
import { readConfig } from '#control-plane/config.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { findTransfer, listPayouts } from '#control-plane/db/treasury-transfers.ts'
import type { User } from '#control-plane/db/users.ts'
import { createMoneyMetrics } from '#control-plane/observe/money-metrics.ts'
import { openPayments } from '#control-plane/open-payments.ts'
import { openMoves, openTreasury } from '#control-plane/open-treasury.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { createMoneyLedger } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { bookCalls } from '#control-plane/services/booking/ingest.ts'
import { RAIL_POSTINGS } from '#control-plane/services/booking/rail-postings.ts'
import { isPoison, readEvent } from '#control-plane/services/booking/read-event.ts'
import type { DepositCtx } from '#control-plane/services/deposits/move-ctx.ts'
import { confirmBuyers, postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import type { PayoutAnswer } from '#control-plane/services/payouts/request-payout.ts'
import { requestPayout } from '#control-plane/services/payouts/request-payout.ts'
import type { PayoutCtx } from '#control-plane/services/payouts/treasury-ctx.ts'
import { ensureUser } from '#control-plane/services/users/users.ts'
import { fundWallets } from '#dev/chain/fund-wallets.ts'
import { systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { CHAIN } from '#test/support/chain/chain.ts'
import { until } from '#test/support/run/until.ts'
import type { GateWorld } from './gate.ts'
import { ids, log, startGateWorld } from './gate.ts'
import { balanceOf, newAccount } from './ledger.ts'
import { eventText } from './usage-events.ts'

const SECRET = 'for tests only, 32 characters long'
const ENDED_MS = 30_000
const TIMES = { confirmationMs: 500, againAfterMs: 200, restingMs: 50, watchEveryMs: 100, verifyMs: 60_000 }
const ONE_ETH = 10n ** 18n

/** A seller with a wallet on the chain. */
export type TestSeller = User & { readonly account: AccountId; readonly purse: ChainWallet }

/** The context of money that leaves the treasury and of money that arrives there. */
export type TreasuryWorldCtx = PayoutCtx & DepositCtx & Pick<Ctx, 'payments'>

/** The treasury of a test, with sellers and the books from which they are paid. */
export type PayoutWorld = {
  readonly gate: GateWorld
  readonly db: Database
  readonly chain: TestChain
  readonly ctx: TreasuryWorldCtx
  readonly treasury: Address
  /** The treasury's key. */
  readonly treasuryKey: `0x${string}`
  /** The context of another process with the same treasury, on the same database. */
  process(environment?: Partial<Record<string, string>>): TreasuryWorldCtx
  /** A seller who has earned with one offer. The payout address may differ from the wallet. */
  seller(earnedMicro: number, payoutAddress?: string): Promise<TestSeller>
  /** Books the sale of an offer, paid with money that came from wallets. */
  earn(seller: TestSeller, amountMicro: number, offer?: string): Promise<void>
  /** Requests a payout with the seller's key. */
  request(
    seller: TestSeller,
    input?: { readonly selfSubmit?: boolean; readonly recipient?: string },
    by?: PayoutCtx,
  ): Promise<PayoutAnswer>
  /** Sends an authorization to the chain. Returns whether the token accepted it. */
  submit(answer: PayoutAnswer, wallet: ChainWallet): Promise<'success' | 'reverted'>
  payouts(seller: TestSeller): Promise<TreasuryTransfer[]>
  payout(id: string): Promise<TreasuryTransfer>
  /** The seller's balance in the books, and the amount in transit. */
  books(seller: TestSeller): Promise<{ readonly available: number; readonly inFlight: number; readonly paid: number }>
  /** Runs turns of the worker until only held transfers are open. */
  settle(ctx?: PayoutCtx, each?: () => Promise<unknown>): Promise<void>
  breaches(): Promise<string[]>
  stop(): Promise<void>
}

type Changes = { readonly rpcUrl?: string; readonly [name: string]: string | undefined }

/** Starts a treasury on a chain. It has 10,000 USDC, which the books show as received from wallets. */
export async function startPayouts(
  chain: TestChain,
  { rpcUrl, ...changes }: Changes = {},
  server?: string,
): Promise<PayoutWorld> {
  const treasury = await chain.newWallet({ usdc: 10_000_000_000n, eth: 100n * ONE_ETH })
  const gate = await startGateWorld(server === undefined ? {} : { server })
  const { db } = gate
  const process: PayoutWorld['process'] = (more = {}) => {
    const config = readConfig({
      NODE_ENV: 'test',
      DATABASE_URL: gate.databaseUrl,
      REDIS_URL: gate.redisUrl,
      KEY_PEPPER: SECRET,
      FINGERPRINT_PEPPER: SECRET,
      SESSION_SECRET: SECRET,
      CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      LOG_LEVEL: 'silent',
      CHAIN_RPC_URL: rpcUrl ?? chain.rpcUrl,
      CHAIN_CONFIRMATIONS: '1',
      TREASURY_ADDRESS: treasury.address,
      TREASURY_PRIVATE_KEY: treasury.privateKey,
      PAYOUT_EVERY_SECONDS: '1',
      PAYOUT_VALID_SECONDS: '600',
      ...changes,
      ...more,
    })
    const { payouts, allowances } = config
    return {
      db,
      clock: systemClock,
      ids,
      log,
      wake: () => Promise.resolve(),
      ledger: gate.ledger,
      gate: gate.gate,
      metrics: createMoneyMetrics().metrics,
      treasury: openTreasury(config, db, log, TIMES),
      moves: openMoves(config),
      payments: openPayments(config, db, log, TIMES),
      settings: { payouts, allowances } as Ctx['settings'],
      controls: { isOn: () => Promise.resolve(true) } as unknown as PayoutCtx['controls'],
    }
  }
  const ctx = process()
  const world = { gate, db, chain, ctx, treasury: treasury.address, treasuryKey: treasury.privateKey, process }
  const buyer = await newAccount(db, 'buyer_credit')
  await deposit(db, buyer, 10_000_000_000n)
  return { ...world, ...selling(world, buyer), ...asking(world), ...watching(world), stop: () => gate.stop() }
}

/** Books tokens that came from outside. */
async function deposit(db: Database, account: AccountId, amount: bigint): Promise<void> {
  const id = ids.ulid()
  const entries = [
    { account: PLATFORM_ACCOUNTS.externalUsdc, amount: -amount },
    { account, amount },
  ]
  const head = { id, key: `deposit:test:${id}`, kind: 'deposit' } as const
  await createMoneyLedger(db).transact((trx) => postTransaction(trx, { ...head, entries }))
}

type Parts = Pick<PayoutWorld, 'gate' | 'db' | 'chain' | 'ctx'>

function selling({ gate, db, chain }: Parts, buyer: AccountId): Pick<PayoutWorld, 'seller' | 'earn'> {
  const earn: PayoutWorld['earn'] = async (seller, amountMicro, offer = `ofr_${seller.id.slice(4)}`) => {
    const given = { account: buyer, sellerAccount: seller.account, charge: amountMicro, hold: amountMicro, feeBps: 0 }
    const read = readEvent(eventText(given, { offer }), 'test', RAIL_POSTINGS)
    if (isPoison(read)) throw new Error(`no event: ${read.detail}`)
    const { balances } = await gate.ledger.transact((trx) => bookCalls(trx, [read], 'test'))
    await confirmBuyers(gate, balances)
  }
  return {
    earn,
    async seller(earnedMicro, payoutAddress) {
      const purse = await chain.newWallet({ eth: ONE_ETH })
      const user = await transact(db, (trx) =>
        ensureUser({ ids, clock: systemClock }, trx, purse.address.toLowerCase()),
      )
      const seller = { ...user, account: user.sellerAccount, purse }
      await insertOffer(db, seller, payoutAddress ?? null)
      if (earnedMicro > 0) await earn(seller, earnedMicro)
      return seller
    },
  }
}

/** Inserts an offer of a seller. Its model and credential need not exist. */
export async function insertOffer(
  db: Database,
  { id, account }: Pick<TestSeller, 'id' | 'account'>,
  payoutAddress: string | null,
  offer = `ofr_${id.slice(4)}`,
): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`set session_replication_role = replica`.execute(connection)
    await sql`insert into offer (id, seller_account, model, provider, credential_id, fingerprint, base_url, api_format,
      provider_model, pricing_mode, kept_bps, payout_address, status, created_at, updated_at)
      values (${offer}, ${account}, 'm', 'p', 'crd_x', ${offer}, 'https://x/v1', 'openai', 'm', 'discount', 5000,
      ${payoutAddress}, 'active', now(), now())`.execute(connection)
    await sql`reset session_replication_role`.execute(connection)
  })
}

function asking({ db, chain, ctx }: Parts): Pick<PayoutWorld, 'request' | 'submit'> {
  return {
    request: ({ id: user, account, purse }, { selfSubmit = false, recipient } = {}, by = ctx) => {
      const actor = { kind: 'seller', keyId: null, user, account, wallet: purse.address.toLowerCase() } as const
      const change: RunCtx['change'] = (run) => transact(db, run)
      return requestPayout.run({ ...by, change } as RunCtx, actor, {
        selfSubmit,
        recipient: recipient?.toLowerCase(),
      })
    },
    async submit({ authorization }, { account }) {
      if (authorization === undefined) throw new Error('there is no authorization')
      const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
      const [to, data] = [`0x${authorization.to.slice(2)}`, `0x${authorization.data.slice(2)}`] as const
      const hash = await wallet.sendTransaction({ to, data, gas: 200_000n })
      return (await chain.publicClient.waitForTransactionReceipt({ hash })).status
    },
  }
}

type Watching = Pick<PayoutWorld, 'payouts' | 'payout' | 'books' | 'settle' | 'breaches'>

function watching({ gate, db, ctx }: Parts): Watching {
  const payouts: PayoutWorld['payouts'] = ({ account }) => listPayouts(db, account, { before: undefined, limit: 100 })
  return {
    payouts,
    async payout(id) {
      const found = await findTransfer(db, id)
      if (found === undefined) throw new Error(`there is no transfer ${id}`)
      return found
    },
    async books(seller) {
      const all = await payouts(seller)
      const [first] = all
      const sum = (is: (payout: TreasuryTransfer) => boolean) =>
        Number(all.filter(is).reduce((total, { amount }) => total + amount, 0n))
      return {
        available: await balanceOf(db, seller.account),
        inFlight: first?.inFlight == null ? 0 : await balanceOf(db, first.inFlight),
        paid: sum(({ state }) => state === 'paid'),
      }
    },
    async settle(by = ctx, each = () => Promise.resolve()) {
      await until('no transfer is open', ENDED_MS, async () => {
        await moveTransfers(by)
        await each()
        const open = await db
          .selectFrom('treasury_transfer')
          .select('id')
          .where('state', 'in', ['scheduled', 'signed', 'mined'])
          .limit(1)
          .execute()
        return open.length === 0
      })
    },
    async breaches() {
      const where = { databaseUrl: gate.databaseUrl, redisUrl: gate.redisUrl, journalDir: undefined }
      const { findings } = await checkMoney(where, { isQuiesced: false, quiescenceMs: 1_000, maxLooks: 1 })
      return findings.filter(({ state }) => state === 'breach').map(({ id, detail }) => `${id}: ${detail}`)
    },
  }
}

/** Adds or removes money of a test's treasury, in micro-USD. */
export function setTreasury({ chain, treasury }: Pick<PayoutWorld, 'chain' | 'treasury'>, usdcMicro: bigint) {
  return fundWallets(chain.rpcUrl, [{ address: treasury, usdcMicro, wei: 100n * ONE_ETH }])
}
