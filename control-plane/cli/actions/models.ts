import { z } from 'zod'
import { count, dollars, percent, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { argument, textOption } from '#control-plane/cli/read-options.ts'
import { cataloguePrices, leastBilled, UnitPrices, unitPrices } from '#control-plane/cli/unit-prices.ts'

const Micro = z.number().nullish()
const Models = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string().nullish(),
      context_length: z.number().nullish(),
      pricing: z.looseObject({ prompt: z.string().nullish(), completion: z.string().nullish() }).nullish(),
    }),
  ),
})

/** A model of media has a price of zero for tokens, which means that it is not sold by tokens. */
function tokenPrice(pricing: z.infer<typeof Models>['data'][number]['pricing'], side: 'prompt' | 'completion') {
  const isByTokens = [pricing?.prompt, pricing?.completion].some((price) => price != null && Number(price) > 0)
  return isByTokens || cataloguePrices(pricing).length === 0 ? ofMillion(pricing?.[side]) : null
}

/** Converts the price of one token to dollars of a million tokens. */
function ofMillion(text: string | null | undefined): string | null {
  if (text == null) return null
  const [whole = '0', fraction = ''] = text.split('.')
  const micro = `${whole}${fraction.padEnd(12, '0').slice(0, 12)}`
  return /^\d+$/.test(micro) ? dollars(BigInt(micro)) : text
}

export const listModels: Action = async ({ connection }, { options }) => {
  const { data } = readAnswer(Models, await connection.call('GET', '/v1/models'))
  const search = textOption(options, 'search')?.toLowerCase()
  const found = data.filter(
    ({ id, name }) => search === undefined || `${id} ${name ?? ''}`.toLowerCase().includes(search),
  )
  const rows = table(
    found,
    [
      { title: 'MODEL', value: ({ id }) => id },
      { title: 'NAME', value: ({ name }) => name },
      { title: 'CONTEXT', alignsRight: true, value: ({ context_length }) => count(context_length) },
      { title: 'IN/1M', alignsRight: true, value: ({ pricing }) => tokenPrice(pricing, 'prompt') },
      { title: 'OUT/1M', alignsRight: true, value: ({ pricing }) => tokenPrice(pricing, 'completion') },
      {
        title: 'BY UNIT',
        value: ({ pricing }) =>
          [unitPrices(cataloguePrices(pricing)), leastBilled(pricing)].filter(Boolean).join(', ') || null,
      },
    ],
    'No model matches.',
  )
  return { json: found, blocks: [rows] }
}

const Markets = z.object({
  markets: z.array(
    z.looseObject({
      model: z.string(),
      best_input_per_1m: Micro,
      best_output_per_1m: Micro,
      best_unit_prices: UnitPrices,
      best_discount_pct: Micro,
      healthy_seller_count: Micro,
      requests_24h: Micro,
      ttft_p50_ms: Micro,
      uptime_pct: Micro,
    }),
  ),
})

export const listMarkets: Action = async ({ connection }) => {
  const { markets } = readAnswer(Markets, await connection.call('GET', '/api/markets'))
  const busiest = markets.toSorted(
    (one, other) => (other.requests_24h ?? 0) - (one.requests_24h ?? 0) || one.model.localeCompare(other.model),
  )
  const rows = table(busiest, [
    { title: 'MODEL', value: ({ model }) => model },
    { title: 'BEST IN/1M', alignsRight: true, value: (row) => dollars(row.best_input_per_1m) },
    { title: 'BEST OUT/1M', alignsRight: true, value: (row) => dollars(row.best_output_per_1m) },
    { title: 'BEST BY UNIT', value: (row) => unitPrices(row.best_unit_prices) },
    { title: 'OFF', alignsRight: true, value: (row) => percent(row.best_discount_pct) },
    { title: 'SELLERS', alignsRight: true, value: (row) => row.healthy_seller_count },
    { title: 'CALLS 24H', alignsRight: true, value: (row) => count(row.requests_24h) },
    { title: 'TTFT MS', alignsRight: true, value: (row) => row.ttft_p50_ms },
    { title: 'UPTIME', alignsRight: true, value: (row) => percent(row.uptime_pct) },
  ])
  return { json: markets, blocks: [rows] }
}

const Book = z.looseObject({
  model: z.string(),
  offers: z.array(
    z.looseObject({
      id: z.string(),
      rank: z.number().nullish(),
      provider: z.string(),
      discount_pct: Micro,
      effective_input_per_1m: Micro,
      effective_output_per_1m: Micro,
      unit_prices: UnitPrices,
      cap_remaining: Micro,
      healthy: z.boolean().nullish(),
      trusted: z.boolean().nullish(),
    }),
  ),
})

export const showBook: Action = async ({ connection }, given) => {
  const path = `/api/markets/${encodeURIComponent(argument(given))}`
  const book = readAnswer(Book, await connection.call('GET', path))
  const rows = table(
    book.offers,
    [
      { title: '#', alignsRight: true, value: ({ rank }) => rank },
      { title: 'OFFER', value: ({ id }) => id },
      { title: 'PROVIDER', value: ({ provider }) => provider },
      { title: 'OFF', alignsRight: true, value: (offer) => percent(offer.discount_pct) },
      { title: 'IN/1M', alignsRight: true, value: (offer) => dollars(offer.effective_input_per_1m) },
      { title: 'OUT/1M', alignsRight: true, value: (offer) => dollars(offer.effective_output_per_1m) },
      { title: 'BY UNIT', value: (offer) => unitPrices(offer.unit_prices) },
      { title: 'CAP LEFT', alignsRight: true, value: (offer) => dollars(offer.cap_remaining) },
      { title: 'HEALTHY', value: ({ healthy }) => yesNo(healthy) },
      { title: 'TRUSTED', value: ({ trusted }) => yesNo(trusted) },
    ],
    'No offers for this model right now.',
  )
  return { json: book, blocks: [facts({ model: book.model }), rows] }
}
