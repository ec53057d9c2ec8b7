import { z } from 'zod'
import { dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action, Cli, CommandOptions } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { isSet, textOption } from '#control-plane/cli/read-options.ts'
import { dollarsToMicroUsd } from '#shared/money.ts'
import { openWallet } from './login.ts'

const PATH = '/v1/buyer/allowance'

const Draw = z.looseObject({
  id: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  amount_usdc: z.string(),
  tx_hash: z.string().nullish(),
  created_at: z.number(),
})
const Address = z.templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]{40}$/)])
const Members = z.array(z.object({ name: z.string(), type: z.string() }))
const Typed = z.object({
  domain: z.object({ name: z.string(), version: z.string(), chainId: z.number(), verifyingContract: Address }),
  types: z.record(z.string(), Members),
  primaryType: z.literal('Permit'),
  message: z.looseObject({ owner: Address, spender: Address, value: z.string(), deadline: z.string() }),
})
type Typed = z.infer<typeof Typed>
const Digits = z.string().nullable()
const Allowance = z.looseObject({
  status: z.string(),
  reason: z.string().nullable(),
  wallet: z.string(),
  spender: z.string(),
  chain_id: z.number(),
  asset: z.string(),
  balance_usdc: Digits,
  allowance_usdc: Digits,
  advanced_usdc: z.string(),
  owed_usdc: z.string(),
  limit_usdc: z.string(),
  permit: z.looseObject({ status: z.string(), value_usdc: z.string() }).nullable(),
  draws: z.array(Draw),
  typed_data: z.unknown(),
})
type Allowance = z.infer<typeof Allowance>

const side = 'buyer'
const money = (digits: string | null) => (digits === null ? 'not read yet' : dollars(digits))

/** Says how the account pays from its wallet. */
export const showAllowance: Action = async ({ connection }) =>
  shown(readAnswer(Allowance, await connection.call('GET', PATH, { side })))

/** Lets the account pay from its wallet. With an amount the wallet signs a permit, for which it needs no ETH. */
export const openAllowance: Action = async (cli, { options }) => {
  const { connection } = cli
  const usd = textOption(options, 'usd')
  const body = usd === undefined ? {} : { amount_usd: usd }
  if (usd === undefined) return shown(readAnswer(Allowance, await connection.call('POST', PATH, { side, body })))
  const wallet = await ownWallet(cli, options)
  const asked = readAnswer(Allowance, await connection.call('POST', PATH, { side, body }))
  const typed = Typed.parse(asked.typed_data)
  await confirm(
    cli,
    `Let ${asked.spender} take up to ${dollars(typed.message.value)} from ${wallet.address}?`,
    isSet(options, 'yes'),
  )
  return handIn(cli, { asked, typed, wallet, value: dollarsToMicroUsd(usd).toString() })
}

/** Ends payment from the wallet, and takes the allowance back where a wallet is named to sign that. */
export const revokeAllowance: Action = async (cli, { options }) => {
  const named = textOption(options, 'privateKeyEnv') ?? textOption(options, 'privateKeyFrom')
  const wallet = named === undefined ? undefined : await ownWallet(cli, options)
  await confirm(cli, 'End payment from the wallet?', isSet(options, 'yes'))
  const closed = readAnswer(Allowance, await cli.connection.call('DELETE', PATH, { side }))
  if (wallet === undefined || closed.typed_data === null) return shown(closed)
  return handIn(cli, { asked: closed, typed: Typed.parse(closed.typed_data), wallet, value: '0' })
}

/** The wallet of the account, by its key. Throws for the key of another wallet, before anything is changed. */
async function ownWallet(cli: Cli, options: CommandOptions) {
  const wallet = await openWallet(cli, options)
  const { wallet: own } = readAnswer(Allowance, await cli.connection.call('GET', PATH, { side }))
  if (own.toLowerCase() === wallet.address.toLowerCase()) return wallet
  throw usageError(
    `The private key is that of the wallet ${wallet.address}, and this account pays from ${own}: nothing was changed.`,
  )
}

type Wish = {
  readonly asked: Allowance
  readonly typed: Typed
  readonly wallet: Awaited<ReturnType<typeof openWallet>>
  readonly value: string
}

/** Signs a permit that is of the wallet, for the market's spender and of the wanted value, and hands it in. */
async function handIn({ connection }: Cli, { asked, typed, wallet, value }: Wish) {
  const { owner, spender, deadline } = typed.message
  const isAsAsked =
    owner.toLowerCase() === wallet.address.toLowerCase() &&
    spender.toLowerCase() === asked.spender.toLowerCase() &&
    typed.domain.verifyingContract.toLowerCase() === asked.asset.toLowerCase() &&
    typed.message.value === value
  if (!isAsAsked) throw usageError('The market asks for another permit: nothing was signed.')
  const body = { value, deadline: Number(deadline), signature: await wallet.signTypedData(typed) }
  return shown(readAnswer(Allowance, await connection.call('POST', `${PATH}/signature`, { side, body })))
}

function shown(allowance: Allowance) {
  const { permit, draws } = allowance
  const standing = facts({
    status: allowance.reason === null ? allowance.status : `${allowance.status}: ${allowance.reason}`,
    wallet: allowance.wallet,
    'the wallet has': money(allowance.balance_usdc),
    'and allows': money(allowance.allowance_usdc),
    spender: allowance.spender,
    advanced: dollars(allowance.advanced_usdc),
    owed: dollars(allowance.owed_usdc),
    'at most': dollars(allowance.limit_usdc),
    permit: permit === null ? null : `${dollars(permit.value_usdc)}, ${permit.status}`,
  })
  const taken = table(
    draws,
    [
      { title: 'TAKEN', alignsRight: true, value: (row) => dollars(row.amount_usdc) },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'WHEN', value: (row) => instant(row.created_at) },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'TRANSACTION', value: (row) => row.tx_hash },
    ],
    'Nothing was taken from the wallet yet.',
  )
  return { json: allowance, blocks: [standing, taken] }
}
