import { z } from 'zod'
import { dollars, instant, percent, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action, Cli } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { CommandFailure, usageError } from '#control-plane/cli/failure.ts'
import type { OutputBlock } from '#control-plane/cli/output.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { startProgress } from '#control-plane/cli/progress.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { argument, isSet, listOption, numberOption, textOption, wholeOption } from '#control-plane/cli/read-options.ts'
import { UnitPrices, unitPrices } from '#control-plane/cli/unit-prices.ts'
import { nextPage } from './account.ts'

const Offer = z.looseObject({
  id: z.string(),
  model: z.string(),
  provider: z.string(),
  seller_base_url: z.string(),
  status: z.string(),
  healthy: z.boolean().nullish(),
  discount: z.number(),
  effective_input_per_1m: z.number().nullish(),
  effective_output_per_1m: z.number().nullish(),
  effective_unit_prices: UnitPrices,
  cap_daily_usd: z.number().nullish(),
  cap_daily_remaining_usd: z.number().nullish(),
  passes: z.array(z.string()).default([]),
  delisted_reason: z.string().nullish(),
  backed_off_until: z.number().nullish(),
  label: z.string().nullish(),
})
type Offer = z.output<typeof Offer>
const Page = z.object({ items: z.array(Offer), next_token: z.string().nullable() })

const usd = (value: number | null | undefined) => (value == null ? null : `$${value}`)

export const listOffers: Action = async ({ connection }, { options }) => {
  const query = {
    status: textOption(options, 'status'),
    model: textOption(options, 'model'),
    max_items: wholeOption(options, 'limit', { min: 1, max: 100 }),
    next_token: textOption(options, 'nextToken'),
  }
  const page = readAnswer(Page, await connection.call('GET', '/v1/seller/offers', { side: 'seller', query }))
  const rows = table(
    page.items,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'PROVIDER', value: ({ provider }) => provider },
      { title: 'STATUS', value: (offer) => (offer.delisted_reason == null ? offer.status : 'delisted') },
      { title: 'HEALTHY', value: ({ healthy }) => yesNo(healthy) },
      { title: 'OFF', alignsRight: true, value: ({ discount }) => percent(discount) },
      { title: 'IN/1M', alignsRight: true, value: (offer) => dollars(offer.effective_input_per_1m) },
      { title: 'OUT/1M', alignsRight: true, value: (offer) => dollars(offer.effective_output_per_1m) },
      { title: 'BY UNIT', value: (offer) => unitPrices(offer.effective_unit_prices) },
      { title: 'CAP LEFT', alignsRight: true, value: (offer) => usd(offer.cap_daily_remaining_usd) },
    ],
    'No offers. List some: market sell --provider URL --key-env VAR --discount 30',
  )
  return { json: page, blocks: [rows, ...nextPage(page.next_token)] }
}

function describe(offer: Offer): OutputBlock {
  return facts({
    offer: offer.id,
    model: offer.model,
    provider: `${offer.provider} (${offer.seller_base_url})`,
    status: offer.status,
    ...(offer.delisted_reason == null ? {} : { 'taken off by the operator': offer.delisted_reason }),
    healthy: yesNo(offer.healthy),
    ...(offer.backed_off_until == null ? {} : { 'rests until': instant(offer.backed_off_until) }),
    discount: percent(offer.discount),
    'input a million': dollars(offer.effective_input_per_1m),
    'output a million': dollars(offer.effective_output_per_1m),
    'by unit': unitPrices(offer.effective_unit_prices),
    'daily cap': usd(offer.cap_daily_usd),
    ...(offer.passes.length === 0 ? {} : { allows: offer.passes.join(', ') }),
    label: offer.label,
  })
}

const pathOf = (id: string) => `/v1/seller/offers/${encodeURIComponent(id)}`

export const showOffer: Action = async ({ connection }, given) => {
  const offer = readAnswer(Offer, await connection.call('GET', pathOf(argument(given)), { side: 'seller' }))
  return { json: offer, blocks: [describe(offer)] }
}

async function patch({ connection }: Cli, id: string, body: object) {
  const offer = readAnswer(Offer, await connection.call('PATCH', pathOf(id), { side: 'seller', body }))
  return { json: offer, blocks: [describe(offer)] }
}

export const updateOffer: Action = async (cli, given) => {
  const { options } = given
  const cap = textOption(options, 'capDaily')
  const discount = numberOption(options, 'discount', { min: 0, max: 100 })
  const label = textOption(options, 'label')
  const capUsd = cap === 'none' ? null : numberOption(options, 'capDaily', { min: 0.000001, max: 1_000_000_000 })
  const passes = listOption(options, 'passes')
  const body = {
    ...(discount === undefined ? {} : { discount }),
    ...(capUsd === undefined ? {} : { cap_daily_usd: capUsd }),
    ...(passes === undefined ? {} : { passes: passes.join() === 'none' ? [] : passes }),
    ...(label === undefined ? {} : { label }),
  }
  if (Object.keys(body).length === 0)
    throw usageError('Nothing to change: --discount, --cap-daily, --passes or --label.')
  return patch(cli, argument(given), body)
}

export const activateOffer: Action = (cli, given) => patch(cli, argument(given), { status: 'active' })
export const pauseOffer: Action = (cli, given) => patch(cli, argument(given), { status: 'paused' })

export const removeOffer: Action = async (cli, given) => {
  const id = argument(given)
  await confirm(cli, `Take ${id} off the market?`, isSet(given.options, 'yes'))
  const offer = readAnswer(Offer, await cli.connection.call('DELETE', pathOf(id), { side: 'seller' }))
  return { json: offer, blocks: [describe(offer)] }
}

export const resetOffer: Action = async ({ connection }, given) => {
  const answer = await connection.call('POST', `${pathOf(argument(given))}/reset-health`, { side: 'seller', body: {} })
  return { json: answer, blocks: [text('It counts as healthy again.')] }
}

const Operation = z.looseObject({
  operation_id: z.string(),
  status: z.enum(['pending', 'running', 'succeeded', 'failed']),
  processed: z.number().default(0),
  total: z.number(),
  failed_count: z.number().default(0),
})
const POLL_MS = 300
const MAX_POLLS = 2_000

/** Takes every active offer of the seller off the market, and waits until that is done. */
export const cancelOffers: Action = async (cli, { options }) => {
  const { connection, terminal, isJson } = cli
  await confirm(cli, 'Take all your active offers off the market?', isSet(options, 'yes'))
  const side = 'seller'
  const begun = await connection.call('POST', '/v1/seller/offers/bulk-cancel', { side, body: {} })
  let operation = readAnswer(Operation, begun)
  const progress = startProgress(terminal, { label: 'Cancelling', isQuiet: isJson, now: () => performance.now() })
  try {
    for (let poll = 0; operation.status === 'pending' || operation.status === 'running'; poll++) {
      if (poll >= MAX_POLLS) throw new CommandFailure('unavailable', `${operation.operation_id} still runs: ask later.`)
      progress.update(operation.processed, operation.total)
      await pause(POLL_MS, terminal.interrupted)
      const path = `/v1/seller/operations/${encodeURIComponent(operation.operation_id)}`
      operation = readAnswer(Operation, await connection.call('GET', path, { side }))
    }
  } finally {
    progress.end()
  }
  const { processed, total, failed_count: failed } = operation
  const said = text(`${processed - failed} of ${total} are off the market.`)
  const exit = operation.status === 'failed' ? 'failure' : failed > 0 ? 'partial' : 'ok'
  return { json: operation, blocks: [said], exit }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(new CommandFailure('declined', 'Stopped waiting; the work goes on.'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
