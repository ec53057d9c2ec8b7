import { z } from 'zod'
import { dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action, Cli, CommandOptions } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import type { Answers } from '#control-plane/cli/market-client.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { isSet, textOption } from '#control-plane/cli/read-options.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { dollarsToMicroUsd } from '#shared/money.ts'
import { readTypedData } from '#shared/typed-data.ts'
import { openWallet } from './login.ts'

const Address = z.templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]{40}$/)])
const Members = z.array(z.object({ name: z.string(), type: z.string() }))
const Typed = z.object({
  domain: z.object({ name: z.string(), version: z.string(), chainId: z.number(), verifyingContract: Address }),
  types: z.record(z.string(), Members),
  primaryType: z.literal('Permit'),
  message: z.looseObject({ owner: Address, spender: Address, value: z.string(), deadline: z.string() }),
})
type Typed = z.infer<typeof Typed>
type Allowance = Answers['allowance']['read']

const money = (digits: string | null) => (digits === null ? 'not read yet' : dollars(digits))

/** Says how the account pays from its wallet. */
export const showAllowance: Action = async ({ connection }) =>
  shown(await connection.as('buyer', (client) => client.allowance.read.query()))

/** Lets the account pay from its wallet. With an amount the wallet signs a permit, for which it needs no ETH. */
export const openAllowance: Action = async (cli, { options }) => {
  const { connection } = cli
  const usd = textOption(options, 'usd')
  const open = (input: { amountUsd?: string }) =>
    connection.as('buyer', (client) => client.allowance.open.mutate(input))
  if (usd === undefined) return shown(await open({}))
  const wallet = await ownWallet(cli, options)
  const asked = await open({ amountUsd: usd })
  const typed = Typed.parse(JSON.parse(asked.typedData ?? 'null'))
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
  await confirm(cli, 'Stop payment from the wallet?', isSet(options, 'yes'))
  const closed = await cli.connection.as('buyer', (client) => client.allowance.close.mutate())
  if (wallet === undefined || closed.typedData === null) return shown(closed)
  return handIn(cli, { asked: closed, typed: Typed.parse(JSON.parse(closed.typedData)), wallet, value: '0' })
}

/** The wallet of the account, by its key. Throws for the key of another wallet, before anything is changed. */
async function ownWallet(cli: Cli, options: CommandOptions) {
  const wallet = await openWallet(cli, options)
  const { wallet: own } = await cli.connection.as('buyer', (client) => client.allowance.read.query())
  if (own.toLowerCase() === wallet.address.toLowerCase()) return wallet
  throw usageError(
    `The private key is that of the wallet ${wallet.address}, and this account pays from ${own}: nothing was changed.`,
  )
}

type Order = {
  readonly asked: Allowance
  readonly typed: Typed
  readonly wallet: Awaited<ReturnType<typeof openWallet>>
  readonly value: string
}

/** Signs a permit of the wallet for the market's spender and the requested amount, and submits it. */
async function handIn({ connection }: Cli, { asked, typed, wallet, value }: Order) {
  const { owner, spender, deadline } = typed.message
  const isAsAsked =
    owner.toLowerCase() === wallet.address.toLowerCase() &&
    spender.toLowerCase() === asked.spender.toLowerCase() &&
    typed.domain.verifyingContract.toLowerCase() === asked.asset.toLowerCase() &&
    typed.message.value === value
  if (!isAsAsked) throw usageError('The market asked for a different permit. Nothing was signed.')
  const permit = { value, deadline: Number(deadline), signature: await wallet.signTypedData(typed) }
  return shown(await connection.as('buyer', (client) => client.allowance.sign.mutate(permit)))
}

function shown(allowance: Allowance) {
  const { permit, draws, typedData } = allowance
  const standing = facts({
    status: allowance.reason === null ? allowance.status : `${allowance.status}: ${allowance.reason}`,
    wallet: allowance.wallet,
    'the wallet has': money(allowance.balanceUsdc),
    'and allows': money(allowance.allowanceUsdc),
    spender: allowance.spender,
    advanced: dollars(allowance.advancedUsdc),
    owed: dollars(allowance.owedUsdc),
    'at most': dollars(allowance.limitUsdc),
    permit: permit === null ? null : `${dollars(permit.valueUsdc)}, ${permit.status}`,
  })
  const taken = table(
    draws,
    [
      { title: 'TAKEN', alignsRight: true, value: (row) => dollars(row.amountUsdc) },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'WHEN', value: (row) => instant(row.createdAt) },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'TRANSACTION', value: (row) => row.txHash },
    ],
    'No draws from the wallet yet.',
  )
  const json = { ...allowance, typedData: typedData === null ? null : readTypedData(typedData) }
  return { json: toSnakeBody(json), blocks: [standing, taken] }
}
