import type { Hex } from 'viem'
import { recoverTypedDataAddress } from 'viem'
import { z } from 'zod'
import { lockAccounts } from '#control-plane/db/accounts.ts'
import type { Deposit } from '#control-plane/db/deposits.ts'
import {
  changeDeposit,
  countOpenDeposits,
  findDeposit,
  insertDeposit,
  listDeposits,
  lockDeposit,
} from '#control-plane/db/deposits.ts'
import { walletOfActor } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { nonceOf, typedDataOf } from '#control-plane/ports/treasury/authorization.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import { DollarText, PageSize, Wallet } from '#control-plane/services/input-fields.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import { HOUR, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'
import { authorizationOf, DepositViewSchema, typedDataFor, viewDeposit } from './deposit-views.ts'
import { purseOf, requireMoves } from './move-ctx.ts'

/** Validity of a deposit: the time until its signature and its block. */
const VALID_MS = HOUR
/** The least amount of a signed deposit, in micro-USD: the treasury pays for its gas. */
const LEAST_MICRO = 1_000_000n
/** Most deposits of an account that wait for their money. */
const MAX_OPEN = 20

/** A way to fund an account. */
export const DepositWaySchema = z
  .object({
    address: z.string().describe('The address that receives the tokens.'),
    chainId: Count,
    asset: z.string().describe('The token. Other tokens are not credited.'),
    confirmations: Count.describe(
      'Blocks after which a transfer is credited. The block of the transfer is the first of them.',
    ),
    sender: z
      .string()
      .nullable()
      .describe(
        'Transfers of this wallet are credited to the account. Null in a workspace and without a linked wallet: then a wallet deposits by signature.',
      ),
    deposit: DepositViewSchema.nullable().describe('The deposit that waits for a signature.'),
    typedData: z
      .string()
      .nullable()
      .describe('The message that the sender signs for the deposit: domain, types and message of EIP-712, as JSON.'),
  })
  .meta({ id: 'DepositWay', description: 'A way to make a deposit.' })
export type DepositWay = z.infer<typeof DepositWaySchema>

/**
 * Returns the ways to fund the account: a transfer of the caller's wallet, or, with an amount, an authorization that a
 * wallet signs and the treasury submits, which costs the wallet no ETH. Throws `conflict` in a market that takes no
 * tokens, and for one deposit too many.
 */
export const openDeposit = defineOperation({
  name: 'deposit.open',
  summary: 'Create a deposit of USDC',
  about:
    'Answers the deposit address, and the wallet whose transfers we credit. With an amount it also creates a deposit by signature: the sender signs typed data (EIP-3009) and needs no ETH.',
  example: {},
  access: 'buyer',
  input: z.strictObject({ amountUsd: DollarText.optional(), sender: Wallet.optional() }),
  limit: 'write',
  idempotency: 'accepted',
  output: DepositWaySchema,
  run: async (ctx, actor, { amountUsd, sender: named }): Promise<DepositWay> => {
    const moves = requireMoves(ctx)
    const { treasury: address, chainId, asset, confirmations } = moves
    const isOwn = actor.workspace === undefined
    const way = { address, chainId, asset, confirmations, sender: isOwn ? actor.wallet : null }
    if (amountUsd === undefined) return { ...way, deposit: null, typedData: null }
    const sender = named ?? walletOfActor(actor)
    if (ctx.treasury === null) {
      throw new AppError('conflict', {
        message: 'This market does not submit signed deposits. Send the tokens yourself.',
      })
    }
    const amount: bigint = amountUsd
    if (amount < LEAST_MICRO) {
      throw new AppError('invalid_request', {
        message: 'A signed deposit must be at least 1 USD.',
        param: 'amount_usd',
      })
    }
    const { account } = actor
    const id = ctx.ids.make('dep')
    const validUntil = new Date(Math.floor((ctx.clock.now() + VALID_MS) / SECOND) * SECOND)
    const opened = await ctx.change(
      async (trx) => {
        await lockAccounts(trx, [account])
        if ((await countOpenDeposits(trx, account)) >= MAX_OPEN) {
          throw new AppError('conflict', { message: `At most ${MAX_OPEN} deposits can wait for money.` })
        }
        await insertDeposit(trx, purseOf(moves), { id, account, sender, amount, nonce: nonceOf(id), validUntil })
        return requireDeposit(await findDeposit(trx, id))
      },
      (newDeposit) => ({ subject: id, before: null, after: viewDeposit(newDeposit) }),
    )
    return { ...way, deposit: viewDeposit(opened), typedData: typedDataFor(moves, opened) ?? null }
  },
})

/**
 * Takes the signature of a deposit. The treasury submits it to the chain. A repeat returns the state of the deposit.
 * Throws `invalid_signature` for a signature of another sender, `insufficient_balance` for a wallet without the amount,
 * and `conflict` for a deposit that is over.
 */
export const signDeposit = defineOperation({
  name: 'deposit.sign',
  summary: 'Submit the signature of a deposit',
  about: 'The treasury sends the deposit to the chain. We credit the deposit after its last confirmation.',
  example: {
    signature:
      '0x1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111',
  },
  access: 'buyer',
  input: z.strictObject({
    id: oneLine(100),
    signature: z
      .string()
      .regex(/^0x[0-9a-fA-F]{130}$/)
      .toLowerCase(),
  }),
  limit: 'write',
  idempotency: 'none',
  output: DepositViewSchema,
  run: async (ctx, actor, { id, signature }): Promise<z.infer<typeof DepositViewSchema>> => {
    const deposit = await findDeposit(ctx.db, id)
    if (deposit === undefined || deposit.account !== actor.account) throw new AppError('not_found')
    if (deposit.signature !== null) return viewDeposit(deposit)
    await requireGood(ctx, requireMoves(ctx), deposit, signature)
    const signedDeposit = await ctx.change(
      async (trx) => {
        const now = requireDeposit(await lockDeposit(trx, id))
        // A concurrent request has stored a signature.
        if (now.signature !== null) return now
        if (now.state !== 'opened') throw over(now)
        await changeDeposit(trx, now.id, { state: 'signed', signature })
        return requireDeposit(await findDeposit(trx, id))
      },
      (after) => ({ subject: id, before: { status: 'opened' }, after: viewDeposit(after) }),
    )
    return viewDeposit(signedDeposit)
  },
})

function requireDeposit(deposit: Deposit | undefined): Deposit {
  if (deposit === undefined) throw new AppError('not_found')
  return deposit
}

function over({ state }: Deposit): AppError {
  return new AppError('conflict', { message: `The deposit is ${state}.`, detail: { status: state } })
}

/** Throws unless the sender signed exactly this authorization and has the money now. */
async function requireGood(
  ctx: Pick<RunCtx, 'clock'>,
  moves: MoveParts,
  deposit: Deposit,
  signature: string,
): Promise<void> {
  const { nonce, validUntil, sender, amount, state } = deposit
  if (state !== 'opened' || nonce === null || validUntil === null) throw over(deposit)
  if (validUntil.getTime() <= ctx.clock.now()) throw over({ ...deposit, state: 'expired' })
  const typed = typedDataOf(authorizationOf(moves, { sender, amount, nonce, validUntil }))
  const bytes: Hex = `0x${signature.slice(2)}`
  const signer = await recoverTypedDataAddress({ ...typed, signature: bytes }).catch(() => undefined)
  if (signer?.toLowerCase() !== sender) throw new AppError('invalid_signature')
  const balance = await moves.chain.balanceOf(moves.asset, sender).catch((cause: unknown) => {
    throw new AppError('service_unavailable', { message: 'The chain is out of reach.', cause, retryAfterSeconds: 5 })
  })
  if (balance < amount) {
    throw new AppError('insufficient_balance', {
      message: 'Not enough of the token in the wallet.',
      detail: { balance_usdc: balance.toString(), amount_usdc: amount.toString() },
    })
  }
}

export const DepositPageSchema = signedPageSchema(DepositViewSchema)
export type DepositPage = z.infer<typeof DepositPageSchema>

/** Lists the caller's deposits, newest first. A plain transfer is listed once it is credited. */
export const listOwnDeposits = defineOperation({
  name: 'deposit.list',
  summary: 'List deposits, newest first',
  about: 'Deposits of the account, with their states.',
  example: { maxItems: 10 },
  access: 'buyer',
  input: z.strictObject({ maxItems: PageSize, nextToken: PageToken.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: DepositPageSchema,
  run: async (ctx, actor, input): Promise<DepositPage> => {
    const pages = pagesById(ctx, { list: 'deposit.list', tenant: actor.account })
    const query = { before: pages.idIn(input.nextToken), limit: input.maxItems + 1 }
    return pages.pageOf(await listDeposits(ctx.db, actor.account, query), input.maxItems, viewDeposit)
  },
})
