import { dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import type { Answers } from '#control-plane/cli/market-client.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { argument, isSet, pageOf, textOption } from '#control-plane/cli/read-options.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { readTypedData } from '#shared/typed-data.ts'
import { nextPage } from './account.ts'

type Answer = Answers['payout']['request']

const payoutTable = (payouts: Answer['payouts']) =>
  table(
    payouts,
    [
      { title: 'PAYOUT', value: (row) => row.payoutId },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'AMOUNT', alignsRight: true, value: (row) => dollars(row.amountUsdc) },
      { title: 'TO', value: ({ recipient }) => recipient },
      { title: 'WHEN', value: (row) => instant(row.createdAt) },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'TRANSACTION', value: (row) => row.txHash },
    ],
    'No payouts yet.',
  )

export const showPayouts: Action = async ({ connection }, { options }) => {
  const position = await connection.as('seller', (client) => client.earnings.payouts.query(pageOf(options)))
  const figures = facts({
    available: dollars(position.availableUsdc),
    'on its way': dollars(position.inFlightUsdc),
    paid: dollars(position.paidUsdc),
    threshold: dollars(position.thresholdUsdc),
  })
  const recipients = table(
    position.recipients,
    [
      { title: 'ADDRESS', value: ({ recipient }) => recipient ?? 'none' },
      { title: 'AVAILABLE', alignsRight: true, value: (row) => dollars(row.availableUsdc) },
      { title: 'ON ITS WAY', alignsRight: true, value: (row) => dollars(row.inFlightUsdc) },
      { title: 'PAID', alignsRight: true, value: (row) => dollars(row.paidUsdc) },
      { title: 'WITHHELD FOR', value: (row) => row.holdReason },
    ],
    'No earnings yet.',
  )
  return {
    json: toSnakeBody(position),
    blocks: [figures, recipients, payoutTable(position.payouts), ...nextPage(position.nextToken)],
  }
}

const submission = (authorization: Answer['authorization']) =>
  authorization === undefined
    ? []
    : [
        facts({
          'send a transaction to': authorization.to,
          'with the data': authorization.data,
          before: instant(authorization.validUntil),
        }),
      ]

/** A payout in the form of REST: the signed message is an object with the names of EIP-712. */
const bodyOf = <Shown extends Pick<Answer, 'authorization'>>({ authorization, ...rest }: Shown) =>
  toSnakeBody({
    ...rest,
    ...(authorization && { authorization: { ...authorization, typedData: readTypedData(authorization.typedData) } }),
  })

export const requestPayout: Action = async (cli, { options }) => {
  const recipient = textOption(options, 'to')
  const input = { selfSubmit: isSet(options, 'selfSubmit'), ...(recipient && { recipient }) }
  await confirm(cli, 'Pay out the available balance?', isSet(options, 'yes'))
  const answer = await cli.connection.as('seller', (client) => client.payout.request.mutate(input))
  const outcome = facts({ status: answer.status, 'withheld for': answer.reason })
  return { json: bodyOf(answer), blocks: [outcome, payoutTable(answer.payouts), ...submission(answer.authorization)] }
}

export const showPayout: Action = async ({ connection }, given) => {
  const report = await connection.as('seller', (client) => client.payout.get.query({ id: argument(given, 0) }))
  const known = facts({
    status: report.status,
    amount: dollars(report.amountUsdc),
    to: report.recipient,
    reason: report.reason,
    transaction: report.txHash,
    block: report.block,
    final: instant(report.confirmedAt),
  })
  return { json: bodyOf(report), blocks: [known, ...submission(report.authorization)] }
}
