import { z } from 'zod'
import { dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { isSet, textOption, wholeOption } from '#control-plane/cli/read-options.ts'
import { nextPage } from './account.ts'
import { openWallet } from './login.ts'

const Deposit = z.looseObject({
  id: z.string(),
  status: z.string(),
  method: z.string(),
  sender: z.string(),
  amount_usdc: z.string(),
  tx_hash: z.string().nullish(),
  reason: z.string().nullish(),
  created_at: z.number(),
})
const Address = z.templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]{40}$/)])
const Members = z.array(z.object({ name: z.string(), type: z.string() }))
const Typed = z.object({
  domain: z.object({ name: z.string(), version: z.string(), chainId: z.number(), verifyingContract: Address }),
  types: z.record(z.string(), Members),
  primaryType: z.literal('TransferWithAuthorization'),
  message: z.looseObject({ from: Address, to: Address, value: z.string() }),
})
const Way = z.looseObject({
  address: z.string(),
  chain_id: z.number(),
  asset: z.string(),
  confirmations: z.number(),
  sender: z.string().nullable(),
  deposit: Deposit.nullable(),
  typed_data: z.unknown(),
})

/** Says where transfers go, or signs a deposit with a wallet, which needs no ETH for it. */
export const deposit: Action = async (cli, { options }) => {
  const { connection } = cli
  const usd = textOption(options, 'usd')
  const ask = async (body: object) =>
    readAnswer(Way, await connection.call('POST', '/v1/payments/deposits', { side: 'buyer', body }))
  if (usd === undefined) {
    const way = await ask({})
    const shown = {
      'send USDC to': way.address,
      'on chain': way.chain_id,
      token: way.asset,
      from: way.sender ?? 'by signature: name an amount',
      'credited after': `${way.confirmations} blocks`,
    }
    return { json: way, blocks: [facts(shown)] }
  }
  const wallet = await openWallet(cli, options)
  const way = await ask({ amount_usd: usd, sender: wallet.address })
  const typed = Typed.parse(way.typed_data)
  const isAsAsked =
    typed.message.to.toLowerCase() === way.address.toLowerCase() && typed.message.value === way.deposit?.amount_usdc
  if (!isAsAsked || way.deposit === null) throw usageError('The market asks for another transfer: nothing was signed.')
  await confirm(
    cli,
    `Send ${dollars(typed.message.value)} from ${wallet.address} to ${way.address}?`,
    isSet(options, 'yes'),
  )
  const signature = await wallet.signTypedData(typed)
  const path = `/v1/payments/deposits/${encodeURIComponent(way.deposit.id)}/signature`
  const given = readAnswer(Deposit, await connection.call('POST', path, { side: 'buyer', body: { signature } }))
  const shown = { deposit: given.id, amount: dollars(given.amount_usdc), status: given.status, from: given.sender }
  return { json: given, blocks: [facts(shown)] }
}

const Page = z.looseObject({ items: z.array(Deposit), next_token: z.string().nullish() })

export const listDeposits: Action = async ({ connection }, { options }) => {
  const query = {
    max_items: wholeOption(options, 'limit', { min: 1, max: 100 }),
    next_token: textOption(options, 'nextToken'),
  }
  const page = readAnswer(Page, await connection.call('GET', '/v1/payments/deposits', { side: 'buyer', query }))
  const rows = table(
    page.items,
    [
      { title: 'DEPOSIT', value: ({ id }) => id },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'AMOUNT', alignsRight: true, value: (row) => dollars(row.amount_usdc) },
      { title: 'FROM', value: ({ sender }) => sender },
      { title: 'WHEN', value: (row) => instant(row.created_at) },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'TRANSACTION', value: (row) => row.tx_hash },
    ],
    'Nothing was deposited yet.',
  )
  return { json: page, blocks: [rows, ...nextPage(page.next_token)] }
}
