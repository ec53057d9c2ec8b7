import { z } from 'zod'
import { dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { isSet, pageOf, textOption } from '#control-plane/cli/read-options.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { nextPage } from './account.ts'
import { openWallet } from './login.ts'

const Address = z.templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]{40}$/)])
const Members = z.array(z.object({ name: z.string(), type: z.string() }))
const Typed = z.object({
  domain: z.object({ name: z.string(), version: z.string(), chainId: z.number(), verifyingContract: Address }),
  types: z.record(z.string(), Members),
  primaryType: z.literal('TransferWithAuthorization'),
  message: z.looseObject({ from: Address, to: Address, value: z.string() }),
})
/** Says where transfers go, or signs a deposit with a wallet, which needs no ETH for it. */
export const deposit: Action = async (cli, { options }) => {
  const { connection } = cli
  const usd = textOption(options, 'usd')
  if (usd === undefined) {
    const way = await connection.as('buyer', (client) => client.deposit.open.mutate({}))
    const shown = {
      'send USDC to': way.address,
      'on chain': way.chainId,
      token: way.asset,
      from: way.sender ?? 'no linked wallet: add --usd to deposit by signature',
      'credited after': `${way.confirmations} blocks`,
    }
    return { json: toSnakeBody(way), blocks: [facts(shown)] }
  }
  const wallet = await openWallet(cli, options)
  const input = { amountUsd: usd, sender: wallet.address }
  const way = await connection.as('buyer', (client) => client.deposit.open.mutate(input))
  const typed = Typed.parse(JSON.parse(way.typedData ?? 'null'))
  const isAsAsked =
    typed.message.to.toLowerCase() === way.address.toLowerCase() && typed.message.value === way.deposit?.amountUsdc
  const id = way.deposit?.id
  if (!isAsAsked || id === undefined) throw usageError('The market asked for a different transfer. Nothing was signed.')
  await confirm(
    cli,
    `Send ${dollars(typed.message.value)} from ${wallet.address} to ${way.address}?`,
    isSet(options, 'yes'),
  )
  const signature = await wallet.signTypedData(typed)
  const given = await connection.as('buyer', (client) => client.deposit.sign.mutate({ id, signature }))
  const shown = { deposit: given.id, amount: dollars(given.amountUsdc), status: given.status, from: given.sender }
  return { json: toSnakeBody(given), blocks: [facts(shown)] }
}

export const listDeposits: Action = async ({ connection }, { options }) => {
  const page = await connection.as('buyer', (client) => client.deposit.list.query(pageOf(options)))
  const rows = table(
    page.items,
    [
      { title: 'DEPOSIT', value: ({ id }) => id },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'AMOUNT', alignsRight: true, value: (row) => dollars(row.amountUsdc) },
      { title: 'FROM', value: ({ sender }) => sender },
      { title: 'WHEN', value: (row) => instant(row.createdAt) },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'TRANSACTION', value: (row) => row.txHash },
    ],
    'No deposits yet.',
  )
  return { json: toSnakeBody(page), blocks: [rows, ...nextPage(page.nextToken)] }
}
