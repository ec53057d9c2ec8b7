import { dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { argument, choiceOption, isSet, requiredOption, wholeOption } from '#control-plane/cli/read-options.ts'

const KINDS = ['new', 'deposit', 'payment', 'capital', 'payout', 'sweep', 'unknown'] as const

export const listMoves: Action = async ({ connection }, { options }) => {
  const kind = choiceOption(options, 'kind', KINDS)
  const moves = await connection.asOperator((client) => client.treasury.moves.query({ ...(kind && { kind }) }))
  const rows = table(
    moves,
    [
      { title: 'TRANSACTION', value: ({ transaction }) => transaction },
      { title: 'PLACE', value: ({ place }) => String(place) },
      { title: 'WAY', value: ({ direction }) => direction },
      { title: 'AMOUNT', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
      { title: 'OTHER SIDE', value: ({ party }) => party },
      { title: 'KIND', value: (row) => row.kind },
      { title: 'OF', value: ({ ref }) => ref },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'SEEN', value: ({ seenAt }) => instant(seenAt) },
    ],
    'No such transfer.',
  )
  return { json: moves, blocks: [rows] }
}

export const listStrays: Action = async ({ connection }) => {
  const tokens = await connection.asOperator((client) => client.treasury.strays.query({}))
  const rows = table(
    tokens,
    [
      { title: 'TOKEN', value: ({ token }) => token },
      { title: 'TRANSFERS', alignsRight: true, value: ({ transfers }) => String(transfers) },
      { title: 'AMOUNT', alignsRight: true, value: ({ amount }) => amount },
      { title: 'LAST FROM', value: ({ lastSender }) => lastSender },
      { title: 'LAST IN', value: ({ lastTransaction }) => lastTransaction },
    ],
    'No other tokens came.',
  )
  return { json: tokens, blocks: [rows] }
}

export const assign: Action = async (cli, given) => {
  const wanted = {
    transaction: argument(given, 0),
    wallet: argument(given, 1),
    reason: requiredOption(given.options, 'reason'),
    place: wholeOption(given.options, 'place', { min: 0, max: 10_000 }) ?? 0,
  }
  await confirm(cli, `Give what this transaction brought to ${wanted.wallet}?`, isSet(given.options, 'yes'))
  const done = await cli.connection.asOperator((client) => client.deposit.assign.mutate(wanted))
  const shown = { transaction: done.transaction, amount: dollars(done.amountMicro), kind: done.kind, deposit: done.ref }
  return { json: done, blocks: [facts(shown)] }
}

export const reconcile: Action = async (cli, { options }) => {
  const isReread = isSet(options, 'reread')
  const done = await cli.connection.asOperator((client) => client.treasury.reconcile.mutate({ isReread }))
  const known = facts({
    block: done.block,
    'on the chain': dollars(done.chainMicro),
    'left by its transfers': dollars(done.movesMicro),
    'took ms': done.tookMs,
    'not compared': done.failure,
  })
  const sums = table(
    done.sums,
    [
      { title: 'WAY', value: ({ direction }) => direction },
      { title: 'KIND', value: ({ kind }) => kind },
      { title: 'TRANSFERS', alignsRight: true, value: ({ count }) => String(count) },
      { title: 'AMOUNT', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
    ],
    'Nothing came or left yet.',
  )
  const wrong = table(done.mismatches, [{ title: 'MISMATCH', value: (sentence) => sentence }], 'Everything fits.')
  return { json: done, blocks: [known, sums, wrong] }
}

export const withdraw: Action = async (cli, given) => {
  const wanted = {
    transaction: argument(given, 0),
    reason: requiredOption(given.options, 'reason'),
    place: wholeOption(given.options, 'place', { min: 0, max: 10_000 }) ?? 0,
  }
  await confirm(cli, 'Book what left with this transaction as taken out of the capital?', isSet(given.options, 'yes'))
  const done = await cli.connection.asOperator((client) => client.treasury.withdraw.mutate(wanted))
  return { json: done, blocks: [facts({ transaction: done.transaction, amount: dollars(done.amountMicro) })] }
}

/** Accounts whose wallets owe, and those whose lines are stopped. */
export const listOwing: Action = async ({ connection }) => {
  const lines = await connection.asOperator((client) => client.allowance.owing.query({}))
  const rows = table(
    lines,
    [
      { title: 'ACCOUNT', value: ({ account }) => account },
      { title: 'WALLET', value: ({ wallet }) => wallet },
      { title: 'STATUS', value: ({ status }) => status },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'OWES', alignsRight: true, value: ({ owedMicro }) => dollars(owedMicro) },
      { title: 'SINCE', value: ({ owedSince }) => (owedSince === null ? null : instant(owedSince)) },
      { title: 'UNDER WAY', alignsRight: true, value: ({ drawingMicro }) => dollars(drawingMicro) },
      { title: 'NEXT TRY', value: ({ retryAt }) => (retryAt === null ? null : instant(retryAt)) },
    ],
    'No wallet owes anything.',
  )
  return { json: lines, blocks: [rows] }
}
