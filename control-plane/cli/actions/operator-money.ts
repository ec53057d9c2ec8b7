import { dollars, instant, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action, CommandOptions } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { argument, choiceOption, isSet, requiredOption, textOption } from '#control-plane/cli/read-options.ts'

type Line = { readonly account: string; readonly amountMicro: string }

function linesOf(lines: readonly Line[]) {
  return table(lines, [
    { title: 'ACCOUNT', value: ({ account }) => account },
    { title: 'AMOUNT', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
  ])
}

/** The account to act on, named by a wallet or by its id. */
function partyOf(options: CommandOptions): { wallet?: string; account?: string } {
  const [wallet, account] = [textOption(options, 'wallet'), textOption(options, 'account')]
  if ((wallet === undefined) === (account === undefined)) throw usageError('Pass one of --wallet and --account.')
  return { ...(wallet && { wallet }), ...(account && { account }) }
}

export const grantCredit: Action = async ({ connection }, { options }) => {
  const granted = await connection.as('operator', (client) =>
    client.credit.grant.mutate({
      ...partyOf(options),
      amountUsd: requiredOption(options, 'usd'),
      ticket: requiredOption(options, 'ticket'),
      note: requiredOption(options, 'note'),
    }),
  )
  return { json: granted, blocks: [text(`Granted under the ticket ${requiredOption(options, 'ticket')}.`)] }
}

export const depositCredit: Action = async ({ connection }, { options }) => {
  const note = textOption(options, 'note')
  const booked = await connection.as('operator', (client) =>
    client.deposit.recordFiat.mutate({
      ...partyOf(options),
      amountUsd: requiredOption(options, 'usd'),
      eventId: requiredOption(options, 'event'),
      ...(note && { note }),
    }),
  )
  return {
    json: booked,
    blocks: [facts({ key: booked.key, repeat: yesNo(booked.isRepeat) }), linesOf(booked.lines)],
  }
}

export const refundCredit: Action = async (cli, { options }) => {
  const input = {
    ...partyOf(options),
    amountUsd: requiredOption(options, 'usd'),
    ticket: requiredOption(options, 'ticket'),
    note: requiredOption(options, 'note'),
  }
  await confirm(cli, `Refund $${input.amountUsd}?`, isSet(options, 'yes'))
  const booked = await cli.connection.as('operator', (client) => client.refund.fiat.mutate(input))
  return {
    json: booked,
    blocks: [facts({ key: booked.key, repeat: yesNo(booked.isRepeat) }), linesOf(booked.lines)],
  }
}

export const readTransaction: Action = async ({ connection }, given) => {
  const found = await connection.as('operator', (client) => client.ledger.read.query({ key: argument(given) }))
  return { json: found, blocks: [facts({ key: found.key, kind: found.kind }), linesOf(found.lines)] }
}

export const reverseTransaction: Action = async (cli, given) => {
  const input = { key: argument(given), reason: requiredOption(given.options, 'reason') }
  await confirm(cli, `Reverse ${input.key}?`, isSet(given.options, 'yes'))
  const booked = await cli.connection.as('operator', (client) => client.ledger.reverse.mutate(input))
  return { json: booked, blocks: [facts({ key: booked.key, repeat: yesNo(booked.isRepeat) })] }
}

const DIRECTIONS = ['credit', 'debit'] as const
const COUNTERS = ['promo', 'shortfall'] as const

export const adjustLedger: Action = async (cli, { options }) => {
  const direction = choiceOption(options, 'direction', DIRECTIONS)
  if (direction === undefined) throw usageError('--direction is needed: credit or debit.')
  const counter = choiceOption(options, 'counter', COUNTERS)
  const input = {
    ...partyOf(options),
    amountUsd: requiredOption(options, 'usd'),
    direction,
    ticket: requiredOption(options, 'ticket'),
    reason: requiredOption(options, 'reason'),
    ...(counter && { counter }),
  }
  await confirm(cli, `Book a ${direction} of $${input.amountUsd} by hand?`, isSet(options, 'yes'))
  const booked = await cli.connection.as('operator', (client) => client.ledger.adjust.mutate(input))
  return {
    json: booked,
    blocks: [facts({ key: booked.key, repeat: yesNo(booked.isRepeat) }), linesOf(booked.lines)],
  }
}

export const listShortfall: Action = async ({ connection }) => {
  const report = await connection.as('operator', (client) => client.shortfall.read.query({}))
  const rows = table(
    report.lines,
    [
      { title: 'TRANSACTION', value: ({ tx }) => tx },
      { title: 'AMOUNT', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
      { title: 'BUYER', value: ({ account }) => account },
      { title: 'TRACED TO', value: ({ reason }) => reason },
    ],
    'No shortfalls.',
  )
  return { json: report, blocks: [facts({ owed: dollars(report.owedMicro) }), rows] }
}

export const explainShortfall: Action = async ({ connection }, given) => {
  const input = { tx: argument(given), reason: requiredOption(given.options, 'reason') }
  const explained = await connection.as('operator', (client) => client.shortfall.explain.mutate(input))
  return { json: explained, blocks: [text(`Recorded with ${input.tx}.`)] }
}

export const repostJournals: Action = async (cli, { options }) => {
  const input = { since: requiredOption(options, 'since'), reason: requiredOption(options, 'reason') }
  await confirm(cli, `Post the journals again since ${input.since}?`, isSet(options, 'yes'))
  const asked = await cli.connection.as('operator', (client) => client.journal.repost.mutate(input))
  return { json: asked, blocks: [text('The journals are posted again. The gate admits no calls until this is done.')] }
}

export const listPayoutHolds: Action = async ({ connection }) => {
  const { payoutHolds } = await connection.as('operator', (client) => client.invariants.read.query())
  const rows = table(
    payoutHolds,
    [
      { title: 'HOLD', value: ({ id }) => id },
      { title: 'SINCE', value: ({ setAt }) => instant(setAt) },
      { title: 'BECAUSE OF', value: ({ reason }) => reason },
    ],
    'No holds on payouts.',
  )
  return { json: payoutHolds, blocks: [rows] }
}

export const clearPayoutHold: Action = async (cli, given) => {
  const input = { id: argument(given), reason: requiredOption(given.options, 'reason') }
  await confirm(cli, 'Resume payouts?', isSet(given.options, 'yes'))
  const cleared = await cli.connection.as('operator', (client) => client.payoutHold.clear.mutate(input))
  return { json: cleared, blocks: [text(`The hold ${input.id} is cleared.`)] }
}
