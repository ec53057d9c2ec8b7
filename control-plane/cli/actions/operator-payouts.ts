import { dollars, eth, instant, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action, CommandInput } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import type { Answers } from '#control-plane/cli/market-client.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { argument, choiceOption, isSet, requiredOption, textOption } from '#control-plane/cli/read-options.ts'

const STATES = ['scheduled', 'held', 'signed', 'mined', 'paid', 'returned'] as const

type State = Answers['payouts']['state']

/** The hold of money that would leave, after the ledger went back in time. */
function heldFacts(hold: State['departureHold']) {
  if (hold === null) return {}
  return {
    'held since': instant(hold.since),
    'waits for': hold.waitsFor,
    'of the treasury': hold.treasury,
    'read up to block': hold.block,
    'must be read up to': hold.until === null ? null : instant(hold.until),
    'not in the books': hold.open.length === 0 ? null : hold.open.join(', '),
  }
}

export const readState: Action = async ({ connection }) => {
  const state = await connection.as('operator', (client) => client.payouts.state.query())
  const known = facts({
    'set up': yesNo(state.isSetUp),
    'stopped for': state.stoppedFor,
    ...heldFacts(state.departureHold),
    treasury: state.treasury,
    balance: dollars(state.balanceMicro),
    gas: eth(state.gasWei),
    floor: dollars(state.floorMicro),
    ceiling: dollars(state.ceilingMicro),
    'owed to buyers': dollars(state.owedToBuyersMicro),
    'owed to sellers': dollars(state.owedToSellersMicro),
    'cold address': state.coldAddress,
    'needs a refill': yesNo(state.needsRefill),
    'last payout run': instant(state.drainedAt),
  })
  const rows = table(
    state.states,
    [
      { title: 'STATE', value: (row) => row.state },
      { title: 'TRANSFERS', alignsRight: true, value: ({ count }) => String(count) },
      { title: 'AMOUNT', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
      { title: 'OLDEST', value: ({ oldestAt }) => instant(oldestAt) },
    ],
    'No transfers on their way.',
  )
  const stops = table(
    state.stops,
    [
      { title: 'SELLER', value: ({ seller }) => seller },
      { title: 'SINCE', value: ({ setAt }) => instant(setAt) },
      { title: 'REASON', value: ({ reason }) => reason },
    ],
    'No stopped sellers.',
  )
  return { json: state, blocks: [known, rows, stops] }
}

export const listTransfers: Action = async ({ connection }, { options }) => {
  const state = choiceOption(options, 'state', STATES)
  const wallet = textOption(options, 'wallet')
  const transfers = await connection.as('operator', (client) =>
    client.payouts.list.query({ ...(state && { state }), ...(wallet && { wallet }) }),
  )
  const rows = table(
    transfers,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'STATE', value: (row) => row.state },
      { title: 'AMOUNT', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
      { title: 'TO', value: ({ recipient }) => recipient },
      { title: 'LAST STEP', value: ({ changedAt }) => instant(changedAt) },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'TRANSACTION', value: ({ transaction }) => transaction },
    ],
    'No such transfer.',
  )
  return { json: transfers, blocks: [rows] }
}

export const drain: Action = async (cli, { options }) => {
  await confirm(cli, 'Pay out every balance above the threshold now?', isSet(options, 'yes'))
  const { planned } = await cli.connection.as('operator', (client) => client.payouts.drain.mutate({}))
  return { json: { planned }, blocks: [facts({ 'payouts planned': String(planned) })] }
}

const DECISIONS = {
  hold: 'Hold this payout?',
  release: 'Release this payout?',
  cancel: 'Cancel this payout? The money goes back to its seller.',
} as const

const decide =
  (decision: keyof typeof DECISIONS): Action =>
  async (cli, given) => {
    const input = { id: argument(given, 0), reason: requiredOption(given.options, 'reason') }
    await confirm(cli, DECISIONS[decision], isSet(given.options, 'yes'))
    const after = await cli.connection.as('operator', (client) => client.payouts[decision].mutate(input))
    const shown = { id: after.id, state: after.state, amount: dollars(after.amountMicro), to: after.recipient }
    return { json: after, blocks: [facts(shown)] }
  }

export const hold = decide('hold')
export const release = decide('release')
export const cancel = decide('cancel')

const sellerOf = (given: CommandInput) => ({
  wallet: argument(given, 0),
  reason: requiredOption(given.options, 'reason'),
})

export const stopSeller: Action = async (cli, given) => {
  await confirm(cli, 'Stop the payouts of this seller?', isSet(given.options, 'yes'))
  const after = await cli.connection.as('operator', (client) => client.payouts.stopSeller.mutate(sellerOf(given)))
  return { json: after, blocks: [facts({ seller: after.seller, stopped: yesNo(after.isStopped) })] }
}

export const startSeller: Action = async (cli, given) => {
  await confirm(cli, 'Resume the payouts of this seller?', isSet(given.options, 'yes'))
  const after = await cli.connection.as('operator', (client) => client.payouts.startSeller.mutate(sellerOf(given)))
  return { json: after, blocks: [facts({ seller: after.seller, stopped: yesNo(after.isStopped) })] }
}

export const fund: Action = async (cli, given) => {
  const input = { transaction: argument(given, 0), reason: requiredOption(given.options, 'reason') }
  await confirm(cli, 'Book the tokens of this transaction as capital?', isSet(given.options, 'yes'))
  const booked = await cli.connection.as('operator', (client) => client.treasury.fund.mutate(input))
  const shown = {
    transaction: booked.transaction,
    amount: dollars(booked.amountMicro),
    'booked before': yesNo(booked.isRepeat),
  }
  return { json: booked, blocks: [facts(shown)] }
}
