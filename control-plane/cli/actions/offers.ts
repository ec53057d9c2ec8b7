import { dollars, dollarsOf, instant, percent, yesNo } from '#control-plane/cli/amounts.ts'
import { OFFER_STATES } from '#control-plane/cli/choices.ts'
import type { Action, Cli } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { CommandFailure, usageError } from '#control-plane/cli/failure.ts'
import type { Answers, MarketClient } from '#control-plane/cli/market-client.ts'
import type { OutputBlock } from '#control-plane/cli/output.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { startProgress } from '#control-plane/cli/progress.ts'
import {
  argument,
  choiceOption,
  choicesOption,
  isSet,
  numberOption,
  pageOf,
  textOption,
} from '#control-plane/cli/read-options.ts'
import { unitPrices } from '#control-plane/cli/unit-prices.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { PASSES } from '#shared/members/surcharge.ts'
import { nextPage } from './account.ts'

type Offer = Answers['offer']['get']

export const listOffers: Action = async ({ connection }, { options }) => {
  const input = {
    ...pageOf(options),
    status: choiceOption(options, 'status', OFFER_STATES),
    model: textOption(options, 'model'),
  }
  const page = await connection.as('seller', (client) => client.offer.list.query(input))
  const rows = table(
    page.items,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'PROVIDER', value: ({ provider }) => provider },
      { title: 'STATUS', value: (offer) => (offer.delistedReason == null ? offer.status : 'delisted') },
      { title: 'HEALTHY', value: ({ healthy }) => yesNo(healthy) },
      { title: 'OFF', alignsRight: true, value: ({ discount }) => percent(discount) },
      { title: 'IN/1M', alignsRight: true, value: (offer) => dollars(offer.effectiveInputPer1m) },
      { title: 'OUT/1M', alignsRight: true, value: (offer) => dollars(offer.effectiveOutputPer1m) },
      { title: 'BY UNIT', value: (offer) => unitPrices(offer.effectiveUnitPrices) },
      { title: 'CAP LEFT', alignsRight: true, value: (offer) => dollarsOf(offer.capDailyRemainingUsd) },
    ],
    'No offers. List some: market sell --provider URL --key-env VAR --discount 30',
  )
  return { json: toSnakeBody(page), blocks: [rows, ...nextPage(page.nextToken)] }
}

function describe(offer: Offer): OutputBlock {
  return facts({
    offer: offer.id,
    model: offer.model,
    provider: `${offer.provider} (${offer.sellerBaseUrl})`,
    protocol: offer.apiFormat,
    'name at the provider': offer.providerModel,
    status: offer.status,
    ...(offer.delistedReason == null ? {} : { 'taken off by the operator': offer.delistedReason }),
    healthy: yesNo(offer.healthy),
    ...(offer.backedOffUntil == null ? {} : { 'backed off until': instant(offer.backedOffUntil) }),
    discount: percent(offer.discount),
    'input, per million tokens': dollars(offer.effectiveInputPer1m),
    'output, per million tokens': dollars(offer.effectiveOutputPer1m),
    'by unit': unitPrices(offer.effectiveUnitPrices),
    'daily cap': dollarsOf(offer.capDailyUsd),
    ...(offer.passes.length === 0 ? {} : { allows: offer.passes.join(', ') }),
    label: offer.label,
  })
}

const shown = (offer: Offer) => ({ json: toSnakeBody(offer), blocks: [describe(offer)] })

export const showOffer: Action = async ({ connection }, given) =>
  shown(await connection.as('seller', (client) => client.offer.get.query({ id: argument(given) })))

type Change = Parameters<MarketClient['offer']['update']['mutate']>[0]
const change = async ({ connection }: Cli, input: Change) =>
  shown(await connection.as('seller', (client) => client.offer.update.mutate(input)))

export const updateOffer: Action = async (cli, given) => {
  const { options } = given
  const cap = textOption(options, 'capDaily')
  const discount = numberOption(options, 'discount', { min: 0, max: 100 })
  const label = textOption(options, 'label')
  const capUsd = cap === 'none' ? null : numberOption(options, 'capDaily', { min: 0.000001, max: 1_000_000_000 })
  const passes = textOption(options, 'passes') === 'none' ? [] : choicesOption(options, 'passes', PASSES)
  const terms = {
    ...(discount === undefined ? {} : { discount }),
    ...(capUsd === undefined ? {} : { capDailyUsd: capUsd }),
    ...(passes === undefined ? {} : { passes }),
    ...(label === undefined ? {} : { label }),
  }
  if (Object.keys(terms).length === 0)
    throw usageError('Nothing to change. Pass --discount, --cap-daily, --passes or --label.')
  return change(cli, { id: argument(given), ...terms })
}

export const activateOffer: Action = (cli, given) => change(cli, { id: argument(given), status: 'active' })
export const pauseOffer: Action = (cli, given) => change(cli, { id: argument(given), status: 'paused' })

export const removeOffer: Action = async (cli, given) => {
  const id = argument(given)
  await confirm(cli, `Delete ${id}? New calls no longer go to this offer.`, isSet(given.options, 'yes'))
  return shown(await cli.connection.as('seller', (client) => client.offer.delete.mutate({ id })))
}

export const resetOffer: Action = async ({ connection }, given) => {
  const health = await connection.as('seller', (client) => client.offer.resetHealth.mutate({ id: argument(given) }))
  return { json: toSnakeBody(health), blocks: [text('The offer is healthy again.')] }
}

const POLL_MS = 300
const MAX_POLLS = 2_000

/** Takes every active offer of the seller off the market, and waits until that is done. */
export const cancelOffers: Action = async (cli, { options }) => {
  const { connection, terminal, isJson } = cli
  await confirm(cli, 'Cancel all your active offers?', isSet(options, 'yes'))
  let operation = await connection.as('seller', (client) => client.offer.bulkCancel.mutate())
  const progress = startProgress(terminal, { label: 'Cancelling', isQuiet: isJson, now: () => performance.now() })
  try {
    for (let poll = 0; operation.status === 'pending' || operation.status === 'running'; poll++) {
      const id = operation.operationId
      if (poll >= MAX_POLLS) throw new CommandFailure('unavailable', `${id} still runs: ask later.`)
      progress.update(operation.processed, operation.total)
      await pause(POLL_MS, terminal.interrupted)
      operation = await connection.as('seller', (client) => client.operation.get.query({ id }))
    }
  } finally {
    progress.end()
  }
  const { processed, total, failedCount: failed } = operation
  const message = text(`${processed - failed} of ${total} are off the market.`)
  const exit = operation.status === 'failed' ? 'failure' : failed > 0 ? 'partial' : 'ok'
  return { json: toSnakeBody(operation), blocks: [message], exit }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(new CommandFailure('declined', 'Stopped waiting. The work goes on.'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
