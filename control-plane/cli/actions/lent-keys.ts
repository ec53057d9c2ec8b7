import { randomUUID } from 'node:crypto'
import { dollarsOf, instant, percent, yesNo } from '#control-plane/cli/amounts.ts'
import { LENT_METHODS, LENT_RANGES, LENT_STATES } from '#control-plane/cli/choices.ts'
import type { Action, Cli, CommandOptions } from '#control-plane/cli/command.ts'
import { readSecretVariable } from '#control-plane/cli/config.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import type { Answers, MarketClient } from '#control-plane/cli/market-client.ts'
import { once } from '#control-plane/cli/market-client.ts'
import type { OutputBlock } from '#control-plane/cli/output.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import {
  argument,
  choiceOption,
  choicesOption,
  isSet,
  listOption,
  numberOption,
  pageOf,
  textOption,
  wholeOption,
} from '#control-plane/cli/read-options.ts'
import { readSecretIn } from '#control-plane/cli/secret-files.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { nextPage } from './account.ts'

type Lent = Answers['lentOffer']['get']

function describe(offer: Lent): OutputBlock {
  const { traits, ratePerMinute: rate, buyerSharePct: share, delistedReason: reason } = offer
  return facts({
    'lent key': offer.id,
    resource: offer.resourceType,
    status: offer.purgedAt == null ? offer.status : 'destroyed',
    ...(reason == null ? {} : { 'taken off by the operator': reason }),
    healthy: yesNo(offer.healthy),
    discount: percent(offer.discountPercent),
    'daily cap': dollarsOf(offer.capDailyUsd),
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
  if ((variable === undefined) === (file === undefined)) throw usageError('Pass the key with --key-env or --key-from.')
  const key = file === undefined ? readSecretVariable(variable ?? '') : readSecretIn(file)
  if (key === undefined) throw usageError(`The variable ${variable} is not set.`)
  return key.reveal()
}

/** The terms that options name. A word of `none` lifts a rule. */
function termsOf(options: CommandOptions) {
  const isLifted = (name: string) => textOption(options, name) === 'none'
  const list = (name: string) => (isLifted(name) ? null : listOption(options, name))
  const number = (name: string, bounds: { min: number; max: number }) =>
    isLifted(name) ? null : numberOption(options, name, bounds)
  return {
    discountPercent: wholeOption(options, 'discount', { min: 5, max: 80 }),
    models: list('models'),
    methods: isLifted('methods') ? null : choicesOption(options, 'methods', LENT_METHODS),
    paths: list('paths'),
    capDailyUsd: number('capDaily', { min: 0.000001, max: 1_000_000_000 }),
    ratePerMinute: number('rate', { min: 1, max: 1_000_000 }),
    buyerSharePct: number('buyerShare', { min: 1, max: 100 }),
    label: textOption(options, 'label'),
  }
}

/** Lends a key. It asks for the two confirmations that the market wants, unless they are given as options. */
export const lendKey: Action = async (cli, given) => {
  const { options } = given
  const resource = argument(given)
  const apiKey = keyOf(options)
  const { discountPercent, ...terms } = termsOf(options)
  if (discountPercent === undefined) throw usageError('--discount is needed.')
  const isSure = isSet(options, 'yes')
  await confirm(cli, `Calls leave files and jobs in your account at ${resource}. Is that all right?`, isSure)
  await confirm(cli, `Do the terms of ${resource} allow others to call with your account?`, isSure)
  const input = {
    resourceType: resource,
    apiKey,
    ackPersistsState: true as const,
    ackProviderTerms: true as const,
    discountPercent,
    ...terms,
    traits: listOption(options, 'traits'),
  }
  const sent = once(randomUUID())
  const offer = await cli.connection.as('seller', (client) => client.lentOffer.create.mutate(input, sent))
  return { json: toSnakeBody(offer), blocks: [text('The key is lent.'), describe(offer)] }
}

export const tryKey: Action = async ({ connection }, given) => {
  const input = { resourceId: argument(given), apiKey: keyOf(given.options) }
  const probe = await connection.as('seller', (client) => client.lentOffer.probe.mutate(input))
  const message = probe.ok
    ? facts({ 'the key': 'is good', 'in milliseconds': String(probe.latencyMs), traits: probe.traits.join(', ') })
    : text(`The key does not work: ${probe.error}.`)
  return { json: toSnakeBody(probe), blocks: [message], ...(probe.ok ? {} : { exit: 'failure' as const }) }
}

export const listLent: Action = async ({ connection }, { options }) => {
  const input = {
    ...pageOf(options),
    status: choiceOption(options, 'status', LENT_STATES),
    resourceType: textOption(options, 'resource'),
  }
  const page = await connection.as('seller', (client) => client.lentOffer.list.query(input))
  const rows = table(
    page.items,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'RESOURCE', value: ({ resourceType }) => resourceType },
      { title: 'STATUS', value: (offer) => (offer.purgedAt == null ? offer.status : 'destroyed') },
      { title: 'HEALTHY', value: ({ healthy }) => yesNo(healthy) },
      { title: 'OFF', alignsRight: true, value: (offer) => percent(offer.discountPercent) },
      { title: 'CAP LEFT', alignsRight: true, value: (offer) => dollarsOf(offer.capDailyRemainingUsd) },
      { title: 'LABEL', value: ({ label }) => label ?? null },
    ],
    'No lent keys. Lend one: market lend provider-p2 --key-env VAR --discount 30',
  )
  return { json: toSnakeBody(page), blocks: [rows, ...nextPage(page.nextToken)] }
}

const shown = (offer: Lent) => ({ json: toSnakeBody(offer), blocks: [describe(offer)] })

export const showLent: Action = async ({ connection }, given) =>
  shown(await connection.as('seller', (client) => client.lentOffer.get.query({ id: argument(given) })))

type Change = Parameters<MarketClient['lentOffer']['update']['mutate']>[0]
const change = async ({ connection }: Cli, input: Change) =>
  shown(await connection.as('seller', (client) => client.lentOffer.update.mutate(input)))

export const updateLent: Action = async (cli, given) => {
  const terms = termsOf(given.options)
  if (Object.values(terms).every((term) => term === undefined)) {
    throw usageError('Nothing to change. Pass a discount, a cap, a rule or a label.')
  }
  return change(cli, { id: argument(given), ...terms })
}

export const pauseLent: Action = (cli, given) => change(cli, { id: argument(given), status: 'paused' })
export const activateLent: Action = (cli, given) => change(cli, { id: argument(given), status: 'active' })

export const removeLent: Action = async (cli, given) => {
  const id = argument(given)
  await confirm(cli, `Delete ${id}? You cannot undo this.`, isSet(given.options, 'yes'))
  return shown(await cli.connection.as('seller', (client) => client.lentOffer.delete.mutate({ id })))
}

export const purgeLent: Action = async (cli, given) => {
  const id = argument(given)
  await confirm(cli, `Delete ${id} and destroy its key? You cannot undo this.`, isSet(given.options, 'yes'))
  const offer = await cli.connection.as('seller', (client) => client.lentOffer.purge.mutate({ id }))
  return { json: toSnakeBody(offer), blocks: [text('The secret is destroyed.'), describe(offer)] }
}

export const removeAllLent: Action = async (cli, { options }) => {
  await confirm(cli, 'Delete all your lent keys? You cannot undo this.', isSet(options, 'yes'))
  const gone = await cli.connection.as('seller', (client) => client.lentOffer.deleteAll.mutate())
  return { json: toSnakeBody(gone), blocks: [text(`${gone.delisted} are off the market.`)] }
}

const inUsd = (micro: number) => `$${micro / 1_000_000}`

export const showLentEarnings: Action = async ({ connection }, { options }) => {
  const input = { range: choiceOption(options, 'range', LENT_RANGES) }
  const found = await connection.as('seller', (client) => client.lentOffer.analytics.query(input))
  const sums = facts({ since: instant(found.since), calls: String(found.calls), earned: inUsd(found.earnedMicro) })
  const sold = table(
    found.byOffer,
    [
      { title: 'RESOURCE', value: ({ resource }) => resource },
      { title: 'GOOD', value: ({ good }) => good },
      { title: 'LENT KEY', value: ({ offerId }) => offerId },
      { title: 'CALLS', alignsRight: true, value: ({ calls }) => String(calls) },
      { title: 'EARNED', alignsRight: true, value: ({ earnedMicro }) => inUsd(earnedMicro) },
    ],
    'No sales.',
  )
  const refused = table(
    found.refusedDemand,
    [
      { title: 'LENT KEY', value: ({ offerId }) => offerId },
      { title: 'RULE THAT REFUSED', value: ({ rule }) => rule },
      { title: 'CALLS', alignsRight: true, value: ({ calls }) => String(calls) },
      { title: 'WORTH', alignsRight: true, value: ({ quotedMicro }) => inUsd(quotedMicro) },
    ],
    'Your rules refused no calls.',
  )
  return { json: toSnakeBody(found), blocks: [sums, sold, refused] }
}
