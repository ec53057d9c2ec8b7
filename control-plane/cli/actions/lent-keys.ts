import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { instant, percent, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action, Cli, CommandOptions } from '#control-plane/cli/command.ts'
import { readSecretVariable } from '#control-plane/cli/config.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import type { OutputBlock } from '#control-plane/cli/output.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { argument, isSet, listOption, numberOption, textOption, wholeOption } from '#control-plane/cli/read-options.ts'
import { readSecretIn } from '#control-plane/cli/secret-files.ts'
import { nextPage } from './account.ts'

const side = 'seller'
const OFFERS = '/v1/resource/seller/offers'

const Names = z.array(z.string()).nullish()
const Lent = z.looseObject({
  id: z.string(),
  resource_type: z.string(),
  discount_percent: z.number(),
  status: z.string(),
  delisted_reason: z.string().nullish(),
  healthy: z.boolean().nullish(),
  label: z.string().nullish(),
  cap_daily_usd: z.number().nullish(),
  cap_daily_remaining_usd: z.number().nullish(),
  models: Names,
  methods: Names,
  paths: Names,
  rate_per_minute: z.number().nullish(),
  buyer_share_pct: z.number().nullish(),
  traits: z.array(z.looseObject({ name: z.string(), provenance: z.string() })),
  purged_at: z.number().nullish(),
})
type Lent = z.output<typeof Lent>
const Page = z.object({ items: z.array(Lent), next_token: z.string().nullable() })

const usd = (value: number | null | undefined) => (value == null ? null : `$${value}`)
const pathOf = (id: string) => `${OFFERS}/${encodeURIComponent(id)}`

function describe(offer: Lent): OutputBlock {
  const { traits, rate_per_minute: rate, buyer_share_pct: share, delisted_reason: reason } = offer
  return facts({
    'lent key': offer.id,
    resource: offer.resource_type,
    status: offer.purged_at == null ? offer.status : 'destroyed',
    ...(reason == null ? {} : { 'taken off by the operator': reason }),
    healthy: yesNo(offer.healthy),
    discount: percent(offer.discount_percent),
    'daily cap': usd(offer.cap_daily_usd),
    models: offer.models?.join(', ') ?? 'all',
    methods: offer.methods?.join(', ') ?? 'all',
    paths: offer.paths?.join(', ') ?? 'all',
    'calls a minute': rate == null ? 'no limit' : String(rate),
    'share of one buyer': share == null ? 'no limit' : percent(share),
    traits: traits.map(({ name, provenance }) => `${name} (${provenance})`).join(', '),
    label: offer.label,
  })
}

/** The key, from a variable or a file. It is never an argument, because others read the list of processes. */
function keyOf(options: CommandOptions): string {
  const [variable, file] = [textOption(options, 'keyEnv'), textOption(options, 'keyFrom')]
  if ((variable === undefined) === (file === undefined)) throw usageError('Name the key by --key-env or --key-from.')
  const key = file === undefined ? readSecretVariable(variable ?? '') : readSecretIn(file)
  if (key === undefined) throw usageError(`The variable ${variable} is not set.`)
  return key.reveal()
}

/** The terms that options name. A word of `none` lifts a rule. */
function termsOf(options: CommandOptions): Record<string, unknown> {
  const lists = { models: 'models', methods: 'methods', paths: 'paths' } as const
  const numbers = [
    ['capDaily', 'cap_daily_usd', { min: 0.000001, max: 1_000_000_000 }],
    ['rate', 'rate_per_minute', { min: 1, max: 1_000_000 }],
    ['buyerShare', 'buyer_share_pct', { min: 1, max: 100 }],
  ] as const
  const terms: Record<string, unknown> = {}
  const discount = wholeOption(options, 'discount', { min: 5, max: 80 })
  if (discount !== undefined) terms['discount_percent'] = discount
  for (const [name, member] of Object.entries(lists)) {
    if (textOption(options, name) !== undefined)
      terms[member] = textOption(options, name) === 'none' ? null : listOption(options, name)
  }
  for (const [name, member, bounds] of numbers) {
    if (textOption(options, name) !== undefined)
      terms[member] = textOption(options, name) === 'none' ? null : numberOption(options, name, bounds)
  }
  const label = textOption(options, 'label')
  if (label !== undefined) terms['label'] = label
  return terms
}

/** Lends a key. It asks for the two confirmations that the market wants, unless they are given as options. */
export const lendKey: Action = async (cli, given) => {
  const { options } = given
  const resource = argument(given)
  const apiKey = keyOf(options)
  const terms = termsOf(options)
  if (terms['discount_percent'] === undefined) throw usageError('--discount is needed.')
  const isSure = isSet(options, 'yes')
  await confirm(cli, `Calls leave files and jobs in your account at ${resource}. Is that all right?`, isSure)
  await confirm(cli, `Do the terms of ${resource} allow others to call with your account?`, isSure)
  const traits = listOption(options, 'traits')
  const body = {
    resource_type: resource,
    api_key: apiKey,
    ack_persists_state: true,
    ack_provider_terms: true,
    ...terms,
    ...(traits === undefined ? {} : { traits }),
  }
  const sent = { side, body, headers: { 'idempotency-key': randomUUID() } } as const
  const offer = readAnswer(Lent, await cli.connection.call('POST', OFFERS, sent))
  return { json: offer, blocks: [text('It is lent.'), describe(offer)] }
}

const Probe = z.union([
  z.looseObject({ ok: z.literal(true), latency_ms: z.number(), traits: z.array(z.string()) }),
  z.looseObject({ ok: z.literal(false), error: z.string(), status: z.number().nullish() }),
])

export const tryKey: Action = async ({ connection }, given) => {
  const body = { resource_id: argument(given), api_key: keyOf(given.options) }
  const probe = readAnswer(Probe, await connection.call('POST', '/v1/resource/seller/keys/probe', { side, body }))
  const said = probe.ok
    ? facts({ 'the key': 'is good', 'in milliseconds': String(probe.latency_ms), traits: probe.traits.join(', ') })
    : text(`The key is no good: ${probe.error}.`)
  return { json: probe, blocks: [said], ...(probe.ok ? {} : { exit: 'failure' as const }) }
}

export const listLent: Action = async ({ connection }, { options }) => {
  const query = {
    status: textOption(options, 'status'),
    resource_type: textOption(options, 'resource'),
    max_items: wholeOption(options, 'limit', { min: 1, max: 100 }),
    next_token: textOption(options, 'nextToken'),
  }
  const page = readAnswer(Page, await connection.call('GET', OFFERS, { side, query }))
  const rows = table(
    page.items,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'RESOURCE', value: ({ resource_type: resource }) => resource },
      { title: 'STATUS', value: (offer) => (offer.purged_at == null ? offer.status : 'destroyed') },
      { title: 'HEALTHY', value: ({ healthy }) => yesNo(healthy) },
      { title: 'OFF', alignsRight: true, value: ({ discount_percent: off }) => percent(off) },
      { title: 'CAP LEFT', alignsRight: true, value: (offer) => usd(offer.cap_daily_remaining_usd) },
      { title: 'LABEL', value: ({ label }) => label ?? null },
    ],
    'No lent keys. Lend one: market lend provider-p2 --key-env VAR --discount 30',
  )
  return { json: page, blocks: [rows, ...nextPage(page.next_token)] }
}

export const showLent: Action = async ({ connection }, given) => {
  const offer = readAnswer(Lent, await connection.call('GET', pathOf(argument(given)), { side }))
  return { json: offer, blocks: [describe(offer)] }
}

async function patch({ connection }: Cli, id: string, body: object) {
  const offer = readAnswer(Lent, await connection.call('PATCH', pathOf(id), { side, body }))
  return { json: offer, blocks: [describe(offer)] }
}

export const updateLent: Action = async (cli, given) => {
  const terms = termsOf(given.options)
  if (Object.keys(terms).length === 0) throw usageError('Nothing to change: name a discount, a cap, a rule or a label.')
  return patch(cli, argument(given), terms)
}

export const pauseLent: Action = (cli, given) => patch(cli, argument(given), { status: 'paused' })
export const activateLent: Action = (cli, given) => patch(cli, argument(given), { status: 'active' })

export const removeLent: Action = async (cli, given) => {
  const id = argument(given)
  await confirm(cli, `Take ${id} off the market for good?`, isSet(given.options, 'yes'))
  const offer = readAnswer(Lent, await cli.connection.call('DELETE', pathOf(id), { side }))
  return { json: offer, blocks: [describe(offer)] }
}

export const purgeLent: Action = async (cli, given) => {
  const id = argument(given)
  await confirm(cli, `Take ${id} off the market and destroy its key?`, isSet(given.options, 'yes'))
  const offer = readAnswer(Lent, await cli.connection.call('POST', `${pathOf(id)}/purge`, { side, body: {} }))
  return { json: offer, blocks: [text('The key is destroyed.'), describe(offer)] }
}

const Gone = z.object({ delisted: z.number(), ids: z.array(z.string()) })

export const removeAllLent: Action = async (cli, { options }) => {
  await confirm(cli, 'Take all your lent keys off the market for good?', isSet(options, 'yes'))
  const gone = readAnswer(Gone, await cli.connection.call('DELETE', OFFERS, { side }))
  return { json: gone, blocks: [text(`${gone.delisted} are off the market.`)] }
}

const Analytics = z.looseObject({
  since: z.number(),
  earned_micro: z.number(),
  calls: z.number(),
  by_offer: z.array(
    z.looseObject({
      offer_id: z.string().nullable(),
      resource: z.string(),
      good: z.string().nullable(),
      calls: z.number(),
      earned_micro: z.number(),
    }),
  ),
  refused_demand: z.array(
    z.looseObject({ offer_id: z.string(), rule: z.string(), calls: z.number(), quoted_micro: z.number() }),
  ),
})

const inUsd = (micro: number) => `$${micro / 1_000_000}`

export const showLentEarnings: Action = async ({ connection }, { options }) => {
  const query = { range: textOption(options, 'range') }
  const found = readAnswer(Analytics, await connection.call('GET', '/v1/resource/seller/analytics', { side, query }))
  const sums = facts({ since: instant(found.since), calls: String(found.calls), earned: inUsd(found.earned_micro) })
  const sold = table(
    found.by_offer,
    [
      { title: 'RESOURCE', value: ({ resource }) => resource },
      { title: 'GOOD', value: ({ good }) => good },
      { title: 'LENT KEY', value: ({ offer_id: id }) => id },
      { title: 'CALLS', alignsRight: true, value: ({ calls }) => String(calls) },
      { title: 'EARNED', alignsRight: true, value: ({ earned_micro: micro }) => inUsd(micro) },
    ],
    'Nothing was sold.',
  )
  const refused = table(
    found.refused_demand,
    [
      { title: 'LENT KEY', value: ({ offer_id: id }) => id },
      { title: 'RULE THAT REFUSED', value: ({ rule }) => rule },
      { title: 'CALLS', alignsRight: true, value: ({ calls }) => String(calls) },
      { title: 'WORTH', alignsRight: true, value: ({ quoted_micro: micro }) => inUsd(micro) },
    ],
    'Your rules refused nothing.',
  )
  return { json: found, blocks: [sums, sold, refused] }
}
