import { dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import {
  argument,
  choiceOption,
  isSet,
  requiredOption,
  textOption,
  wholeOption,
} from '#control-plane/cli/read-options.ts'

const KINDS = ['new', 'deposit', 'payment', 'capital', 'payout', 'sweep', 'unknown'] as const

export const listMoves: Action = async ({ connection }, { options }) => {
  const kind = choiceOption(options, 'kind', KINDS)
  const moves = await connection.as('operator', (client) => client.treasury.moves.query({ ...(kind && { kind }) }))
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
  const tokens = await connection.as('operator', (client) => client.treasury.strays.query({}))
  const rows = table(
    tokens,
    [
      { title: 'TOKEN', value: ({ token }) => token },
      { title: 'TRANSFERS', alignsRight: true, value: ({ transfers }) => String(transfers) },
      { title: 'AMOUNT', alignsRight: true, value: ({ amount }) => amount },
      { title: 'LAST FROM', value: ({ lastSender }) => lastSender },
      { title: 'LAST IN', value: ({ lastTransaction }) => lastTransaction },
    ],
    'No other tokens.',
  )
  return { json: tokens, blocks: [rows] }
}

export const assign: Action = async (cli, given) => {
  const input = {
    transaction: argument(given, 0),
    wallet: argument(given, 1),
    reason: requiredOption(given.options, 'reason'),
    place: wholeOption(given.options, 'place', { min: 0, max: 10_000 }) ?? 0,
  }
  await confirm(cli, `Assign this deposit to ${input.wallet}?`, isSet(given.options, 'yes'))
  const done = await cli.connection.as('operator', (client) => client.deposit.assign.mutate(input))
  const shown = { transaction: done.transaction, amount: dollars(done.amountMicro), kind: done.kind, deposit: done.ref }
  return { json: done, blocks: [facts(shown)] }
}

export const reconcile: Action = async (cli, { options }) => {
  const isReread = isSet(options, 'reread')
  const done = await cli.connection.as('operator', (client) => client.treasury.reconcile.mutate({ isReread }))
  const known = facts({
    block: done.block,
    'on the chain': dollars(done.chainMicro),
    'by its transfers': dollars(done.movesMicro),
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
    'No transfers yet.',
  )
  const wrong = table(done.mismatches, [{ title: 'MISMATCH', value: (sentence) => sentence }], 'No mismatches.')
  return { json: done, blocks: [known, sums, wrong] }
}

export const withdraw: Action = async (cli, given) => {
  const input = {
    transaction: argument(given, 0),
    reason: requiredOption(given.options, 'reason'),
    place: wholeOption(given.options, 'place', { min: 0, max: 10_000 }) ?? 0,
  }
  await confirm(cli, 'Book this transfer as a withdrawal of capital?', isSet(given.options, 'yes'))
  const done = await cli.connection.as('operator', (client) => client.treasury.withdraw.mutate(input))
  return { json: done, blocks: [facts({ transaction: done.transaction, amount: dollars(done.amountMicro) })] }
}

export const assignDeparture: Action = async (cli, given) => {
  const input = {
    transaction: argument(given, 0),
    wallet: argument(given, 1),
    treasury: textOption(given.options, 'treasury'),
    reason: requiredOption(given.options, 'reason'),
    place: wholeOption(given.options, 'place', { min: 0, max: 10_000 }) ?? 0,
  }
  await confirm(cli, `Book this transfer as a payout of ${input.wallet}?`, isSet(given.options, 'yes'))
  const { amountMicro, ...done } = await cli.connection.as('operator', (client) => client.treasury.payout.mutate(input))
  return { json: { ...done, amountMicro }, blocks: [facts({ ...done, amount: dollars(amountMicro) })] }
}

/** Shows the chain of the endpoint, and the records that end if an operator accepts that chain. */
export const readChain: Action = async ({ connection }) => {
  const found = await connection.as('operator', (client) => client.treasury.chain.query({}))
  const known = facts({
    chain: found.isReplaced ? 'replaced' : 'as before',
    since: found.replacedSince === null ? null : instant(found.replacedSince),
    genesis: found.genesis,
    'newest block': found.headBlock,
    'balance on this chain': dollars(found.balanceMicro),
    'balance in the books': dollars(found.booksMicro),
    'signatures are valid until': found.signedUntil === null ? null : instant(found.signedUntil),
  })
  const rows = table(
    found.underWay,
    [
      { title: 'UNDER WAY', value: ({ what }) => what },
      { title: 'COUNT', alignsRight: true, value: ({ count }) => String(count) },
      { title: 'AMOUNT', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
    ],
    'No unfinished work.',
  )
  return { json: found, blocks: [known, rows] }
}

/** Shows the work that ends, asks, and accepts the endpoint's chain. */
export const acceptChain: Action = async (cli, given) => {
  const { options } = given
  const [genesis, reason] = [argument(given, 0), requiredOption(options, 'reason')]
  const fromBlock = wholeOption(options, 'from-block', { min: 0, max: 2 ** 40 })
  const found = await cli.connection.as('operator', (client) => client.treasury.chain.query({}))
  const ended = found.underWay.map(({ what, count, amountMicro }) => `${count} ${what} of ${dollars(amountMicro)}`)
  const what = ended.length === 0 ? 'No unfinished work.' : `The new chain ends ${ended.join(', ')}.`
  await confirm(cli, `${what} Accept the chain ${genesis}?`, isSet(options, 'yes'))
  const input = { genesis, reason, ...(fromBlock === undefined ? {} : { fromBlock }) }
  const done = await cli.connection.as('operator', (client) => client.treasury.acceptChain.mutate(input))
  const shown = facts({
    'first block': done.firstBlock,
    opening: dollars(done.openingMicro),
    'payouts returned': done.returned,
    'payouts on this chain': done.followed,
    'transactions given up': done.buried,
  })
  return { json: done, blocks: [shown] }
}

export const awaitFormer: Action = async (cli, given) => {
  const input = { treasury: argument(given, 0), reason: requiredOption(given.options, 'reason') }
  const done = await cli.connection.as('operator', (client) => client.treasury.await.mutate(input))
  return { json: done, blocks: [facts({ treasury: done.treasury, 'first block': done.firstBlock })] }
}

export const retire: Action = async (cli, given) => {
  const input = { treasury: argument(given, 0), reason: requiredOption(given.options, 'reason') }
  const question = `Are all transfers out of ${input.treasury} in the books? A missing one may be paid again.`
  await confirm(cli, question, isSet(given.options, 'yes'))
  const done = await cli.connection.as('operator', (client) => client.treasury.retire.mutate(input))
  return { json: done, blocks: [facts({ treasury: done.treasury, 'tokens and chains': done.purses })] }
}

/** Accounts whose wallets owe, and those whose lines are stopped. */
export const listOwing: Action = async ({ connection }) => {
  const lines = await connection.as('operator', (client) => client.allowance.owing.query({}))
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
    'No debts.',
  )
  return { json: lines, blocks: [rows] }
}
