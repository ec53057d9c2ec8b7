import { dollars, eth, instant, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { argument, choiceOption, isSet, requiredOption, textOption } from '#control-plane/cli/read-options.ts'

const STATES = ['claimed', 'due', 'mined', 'confirmed', 'released', 'written_off'] as const

export const readState: Action = async ({ connection }) => {
  const state = await connection.as('operator', (client) => client.payments.state.query())
  const known = facts({
    open: yesNo(state.isOpen),
    'closed for': state.closedFor,
    network: state.network,
    facilitator: state.facilitator,
    gas: eth(state.gasWei),
    exposure: dollars(state.exposureMicro),
    'exposure limit': dollars(state.exposureLimitMicro),
    hanging: String(state.hanging),
    'transactions without a block': String(state.unminedTransactions),
  })
  const rows = table(
    state.states,
    [
      { title: 'STATE', value: (row) => row.state },
      { title: 'PAYMENTS', alignsRight: true, value: ({ count }) => String(count) },
      { title: 'AMOUNT', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
      { title: 'OLDEST', value: ({ oldestAt }) => instant(oldestAt) },
    ],
    'No open payments.',
  )
  return { json: state, blocks: [known, rows] }
}

export const listPayments: Action = async ({ connection }, { options }) => {
  const state = choiceOption(options, 'state', STATES)
  const payer = textOption(options, 'payer')
  const payments = await connection.as('operator', (client) =>
    client.payments.list.query({
      ...(state && { state }),
      ...(payer && { payer }),
      ...(isSet(options, 'hanging') && { isHanging: true }),
    }),
  )
  const rows = table(
    payments,
    [
      { title: 'REQUEST', value: ({ rid }) => rid },
      { title: 'STATE', value: (row) => row.state },
      { title: 'PAYER', value: (row) => row.payer },
      { title: 'DUE', alignsRight: true, value: ({ dueMicro }) => dollars(dueMicro) },
      { title: 'CHARGE', alignsRight: true, value: ({ chargeMicro }) => dollars(chargeMicro) },
      { title: 'CAME', alignsRight: true, value: ({ cameMicro }) => dollars(cameMicro) },
      { title: 'LAST STEP', value: ({ changedAt }) => instant(changedAt) },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'TRANSACTION', value: ({ transaction }) => transaction },
    ],
    'No such payment.',
  )
  return { json: payments, blocks: [rows] }
}

export const listDebtors: Action = async ({ connection }) => {
  const debtors = await connection.as('operator', (client) => client.payments.debtors.query({}))
  const rows = table(
    debtors,
    [
      { title: 'WALLET', value: ({ payer }) => payer },
      { title: 'OWES', alignsRight: true, value: ({ owedMicro }) => dollars(owedMicro) },
      { title: 'PAYMENTS', alignsRight: true, value: ({ payments }) => String(payments) },
      { title: 'SINCE', value: ({ since }) => instant(since) },
    ],
    'No debts.',
  )
  return { json: debtors, blocks: [rows] }
}

export const forgiveDebt: Action = async (cli, given) => {
  const input = { rid: argument(given), reason: requiredOption(given.options, 'reason') }
  await confirm(cli, `Forgive the debt of ${input.rid}?`, isSet(given.options, 'yes'))
  const forgiven = await cli.connection.as('operator', (client) => client.payments.forgive.mutate(input))
  return { json: forgiven, blocks: [text(`The debt of ${forgiven.payer} from this payment is forgiven.`)] }
}
