import { z } from 'zod'
import { dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { argument, isSet, textOption, wholeOption } from '#control-plane/cli/read-options.ts'
import { nextPage } from './account.ts'

const Payout = z.looseObject({
  payout_id: z.string(),
  status: z.string(),
  recipient: z.string(),
  amount_usdc: z.string(),
  reason: z.string().nullish(),
  tx_hash: z.string().nullish(),
  block: z.number().nullish(),
  created_at: z.number(),
  confirmed_at: z.number().nullish(),
})

const Position = z.looseObject({
  available_usdc: z.string(),
  in_flight_usdc: z.string(),
  paid_usdc: z.string(),
  threshold_usdc: z.string(),
  recipients: z.array(
    z.looseObject({
      recipient: z.string().nullable(),
      available_usdc: z.string(),
      in_flight_usdc: z.string(),
      paid_usdc: z.string(),
      hold_reason: z.string().nullish(),
    }),
  ),
  payouts: z.array(Payout),
  next_token: z.string().nullish(),
})

const payoutTable = (payouts: readonly z.infer<typeof Payout>[]) =>
  table(
    payouts,
    [
      { title: 'PAYOUT', value: (row) => row.payout_id },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'AMOUNT', alignsRight: true, value: (row) => dollars(row.amount_usdc) },
      { title: 'TO', value: ({ recipient }) => recipient },
      { title: 'WHEN', value: (row) => instant(row.created_at) },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'TRANSACTION', value: (row) => row.tx_hash },
    ],
    'Nothing was paid out yet.',
  )

export const showPayouts: Action = async ({ connection }, { options }) => {
  const query = {
    max_items: wholeOption(options, 'limit', { min: 1, max: 100 }),
    next_token: textOption(options, 'nextToken'),
  }
  const position = readAnswer(Position, await connection.call('GET', '/v1/seller/payouts', { side: 'seller', query }))
  const figures = facts({
    available: dollars(position.available_usdc),
    'on its way': dollars(position.in_flight_usdc),
    paid: dollars(position.paid_usdc),
    threshold: dollars(position.threshold_usdc),
  })
  const recipients = table(
    position.recipients,
    [
      { title: 'ADDRESS', value: ({ recipient }) => recipient ?? 'none' },
      { title: 'AVAILABLE', alignsRight: true, value: (row) => dollars(row.available_usdc) },
      { title: 'ON ITS WAY', alignsRight: true, value: (row) => dollars(row.in_flight_usdc) },
      { title: 'PAID', alignsRight: true, value: (row) => dollars(row.paid_usdc) },
      { title: 'WITHHELD FOR', value: (row) => row.hold_reason },
    ],
    'Nothing was earned yet.',
  )
  return {
    json: position,
    blocks: [figures, recipients, payoutTable(position.payouts), ...nextPage(position.next_token)],
  }
}

const Answer = z.looseObject({
  status: z.string(),
  reason: z.string().nullish(),
  payouts: z.array(Payout),
  authorization: z
    .looseObject({ to: z.string(), data: z.string(), signature: z.string(), valid_until: z.number() })
    .optional(),
})

const submission = (authorization: z.infer<typeof Answer>['authorization']) =>
  authorization === undefined
    ? []
    : [
        facts({
          'send a transaction to': authorization.to,
          'with the data': authorization.data,
          before: instant(authorization.valid_until),
        }),
      ]

export const requestPayout: Action = async (cli, { options }) => {
  const recipient = textOption(options, 'to')
  const body = { self_submit: isSet(options, 'selfSubmit'), ...(recipient && { recipient }) }
  await confirm(cli, 'Pay out what is available?', isSet(options, 'yes'))
  const given = await cli.connection.call('POST', '/v1/seller/payouts', { side: 'seller', body })
  const answer = readAnswer(Answer, given)
  const outcome = facts({ status: answer.status, 'withheld for': answer.reason ?? null })
  return { json: answer, blocks: [outcome, payoutTable(answer.payouts), ...submission(answer.authorization)] }
}

export const showPayout: Action = async ({ connection }, given) => {
  const path = `/v1/seller/payouts/${encodeURIComponent(argument(given, 0))}/tx`
  const report = readAnswer(
    Payout.extend({ authorization: Answer.shape.authorization }),
    await connection.call('GET', path, { side: 'seller' }),
  )
  const known = facts({
    status: report.status,
    amount: dollars(report.amount_usdc),
    to: report.recipient,
    reason: report.reason ?? null,
    transaction: report.tx_hash ?? null,
    block: report.block == null ? null : String(report.block),
    final: instant(report.confirmed_at ?? null),
  })
  return { json: report, blocks: [known, ...submission(report.authorization)] }
}
