import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { dollars, dollarsOf } from '#control-plane/cli/amounts.ts'
import type { Action, Cli, CommandInput, CommandOptions } from '#control-plane/cli/command.ts'
import { readSecretVariable } from '#control-plane/cli/config.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { CommandFailure, usageError } from '#control-plane/cli/failure.ts'
import type { OutputBlock } from '#control-plane/cli/output.ts'
import { table, text } from '#control-plane/cli/output.ts'
import { startProgress } from '#control-plane/cli/progress.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { isSet, listOption, numberOption, requiredOption, textOption } from '#control-plane/cli/read-options.ts'
import { readSecretIn } from '#control-plane/cli/secret-files.ts'
import { UnitPrices, unitPrices } from '#control-plane/cli/unit-prices.ts'
import { didYouMean } from '#shared/closest-name.ts'
import { dollarsToMicroUsd, sum } from '#shared/money.ts'
import { DEFAULT_PROTOCOL, hasListing, PROTOCOL_NAMES } from '#shared/protocols/index.ts'

/** The largest number of rows in one request. */
const MAX_ROWS = 200

const Discovery = z.looseObject({
  model: z.string(),
  supported: z.boolean(),
  pricing: z.looseObject({
    input_per_1m: z.number().nullish(),
    output_per_1m: z.number().nullish(),
    unit_prices: UnitPrices,
  }),
  metadata: z.looseObject({ provider_model_id: z.string(), availability_status: z.string().nullish() }),
})
type Discovery = z.output<typeof Discovery>

const Line = z.looseObject({
  model: z.string(),
  status: z.enum(['created', 'error']),
  offer_id: z.string().nullish(),
  probe_cost_usd: z.number().nullish(),
  error: z.string().nullish(),
  code: z.string().nullish(),
})
type Line = z.output<typeof Line>

/** The provider's address and key, from the options. */
function placeOf(options: CommandOptions): { base_url: string; api_format: string } & Record<string, string> {
  const base = {
    base_url: requiredOption(options, 'provider'),
    api_format: textOption(options, 'format') ?? DEFAULT_PROTOCOL,
  }
  const [variable, file, saved] = ['keyEnv', 'keyFrom', 'reuseKey'].map((name) => textOption(options, name))
  if ([variable, file, saved].filter((one) => one !== undefined).length !== 1) {
    throw usageError("Name the provider's key by one of --key-env, --key-from and --reuse-key.")
  }
  if (saved !== undefined) return { ...base, reuse_key_fingerprint: saved }
  const key = file === undefined ? readSecretVariable(variable ?? '') : readSecretIn(file)
  if (key === undefined) throw usageError(`The variable ${variable} is not set.`)
  return { ...base, api_key: key.reveal() }
}

/** Asks a provider for its models. Nothing is stored. */
export const discover: Action = async (cli, { options }) => {
  const found = await findModels(cli, placeOf(options))
  return { json: found, blocks: [modelTable(found)] }
}

async function findModels(cli: Cli, place: ReturnType<typeof placeOf>): Promise<Discovery[]> {
  try {
    return await askForModels(cli, place)
  } catch (thrown) {
    throw withVersionHint(thrown, place.base_url)
  }
}

/** Most providers have their paths under /v1, which is easily forgotten. */
function withVersionHint(thrown: unknown, address: string): unknown {
  const isRefused = thrown instanceof CommandFailure && HINTED.has(thrown.facts.code ?? '')
  if (!isRefused || /\/v\d+\w*\/?$/.test(address)) return thrown
  const message = `${thrown.message} Does its address end in /v1? Try --provider ${address.replace(/\/+$/, '')}/v1.`
  return new CommandFailure(thrown.exit, message, { ...thrown.facts, cause: thrown })
}

const HINTED = new Set(['provider_probe_failed', 'invalid_base_url'])

async function askForModels({ terminal, connection }: Cli, body: object): Promise<Discovery[]> {
  const found: Discovery[] = []
  const asked = { side: 'seller', body, signal: terminal.interrupted } as const
  for await (const line of connection.lines('POST', '/v1/seller/discover', asked)) {
    if (line !== '') found.push(readAnswer(Discovery, JSON.parse(line)))
  }
  return found
}

function modelTable(found: readonly Discovery[]): OutputBlock {
  return table(
    found,
    [
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'AT THE PROVIDER', value: ({ metadata }) => metadata.provider_model_id },
      { title: 'REFERENCE IN/1M', alignsRight: true, value: ({ pricing }) => dollarsOf(pricing.input_per_1m) },
      { title: 'OUT/1M', alignsRight: true, value: ({ pricing }) => dollarsOf(pricing.output_per_1m) },
      { title: 'BY UNIT', value: ({ pricing }) => unitPrices(pricing.unit_prices) },
      { title: 'CAN BE SOLD', value: (row) => (row.supported ? 'yes' : (row.metadata.availability_status ?? 'no')) },
    ],
    'The provider lists no models.',
  )
}

/**
 * Lists capacity with one command: asks the provider for its models, picks some of them, and makes offers for those.
 */
export const sell: Action = async (cli, given) => {
  const { options } = given
  const discount = numberOption(options, 'discount', { min: 0, max: 100 })
  if (discount === undefined) throw usageError('--discount is needed: percent off the list price.')
  const place = placeOf(options)
  const names = listOption(options, 'models')
  const found = isListed(place.api_format) ? pick(await findModels(cli, place), names) : undefined
  const picked: readonly Picked[] = found ?? named(names)
  if (isSet(options, 'dryRun')) {
    const shown = found === undefined ? pickedTable(picked) : modelTable(found)
    return { json: { would_list: picked, discount }, blocks: [shown] }
  }
  if (!cli.isJson) {
    const models = picked.length === 1 ? '1 model' : `${picked.length} models`
    cli.terminal.err(`${models} of ${place.base_url} at ${discount}% off the list price.\n`)
  }
  await confirm(cli, 'List them?', isSet(options, 'yes'))
  const cap = numberOption(options, 'capDaily', { min: 0.000001, max: 1_000_000_000 })
  const passes = listOption(options, 'passes')
  const rows = picked.map(({ model, metadata }) => ({
    model,
    provider_model: metadata.provider_model_id,
    discount,
    ...(cap === undefined ? {} : { cap_daily_usd: cap }),
    ...(passes === undefined ? {} : { passes }),
  }))
  const label = textOption(options, 'label')
  const payout = textOption(options, 'payoutAddress')
  const common = { ...place, ...(label && { label }), ...(payout && { payout_address: payout }) }
  const lines = await createAll(cli, common, rows)
  const failed = lines.filter(({ status }) => status === 'error').length
  const summary = text(`${lines.length - failed} of ${lines.length} listed.`)
  const costs = lines.flatMap(({ probe_cost_usd: cost }) => (cost == null ? [] : [dollarsToMicroUsd(cost)]))
  const spent = text(`The test calls cost about ${dollars(sum(costs))} at the provider.`)
  const exit = failed === 0 ? {} : { exit: failed === lines.length ? ('failure' as const) : ('partial' as const) }
  return {
    json: { offers: lines, created: lines.length - failed, failed },
    blocks: [lineTable(lines), summary, ...(costs.length === 0 ? [] : [spent])],
    ...exit,
  }
}

/** A model to list, and its name at the provider. */
type Picked = Pick<Discovery, 'model' | 'metadata'>

/** True where the protocol has a list of the models of a key. The market refuses an unknown protocol. */
function isListed(format: string): boolean {
  const apiFormat = PROTOCOL_NAMES.find((name) => name === format)
  return apiFormat === undefined || hasListing({ apiFormat })
}

/** Models by their names here, each with that of the provider behind an equals sign where it is another. */
function named(names: readonly string[] | undefined): Picked[] {
  if (names === undefined) throw usageError('This protocol has no list of models. Name them: --models MODEL=NAME,…')
  return names.map((text) => {
    // A name at the provider may have an equals sign.
    const [, model = text, own = model] = /^([^=]+)=(.+)$/.exec(text) ?? []
    return { model, metadata: { provider_model_id: own, availability_status: null } }
  })
}

function pickedTable(picked: readonly Picked[]): OutputBlock {
  return table(picked, [
    { title: 'MODEL', value: ({ model }) => model },
    { title: 'AT THE PROVIDER', value: ({ metadata }) => metadata.provider_model_id },
  ])
}

function pick(found: readonly Discovery[], names: readonly string[] | undefined): Discovery[] {
  const sold = found.filter(({ supported }) => supported)
  if (names === undefined) {
    if (sold.length === 0) throw new CommandFailure('notFound', 'The market sells none of the models of this provider.')
    return sold
  }
  const known = sold.flatMap(({ model }) => model ?? [])
  return names.map((name) => {
    const match = sold.find(({ model, metadata }) => model === name || metadata.provider_model_id === name)
    if (match === undefined)
      throw new CommandFailure('notFound', `${name} isn't offered by this provider.${didYouMean(name, known)}`)
    return match
  })
}

async function createAll(cli: Cli, common: object, rows: readonly object[]): Promise<Line[]> {
  const { terminal, connection, isJson } = cli
  const now = () => performance.now()
  const progress = startProgress(terminal, { label: 'Listing', isQuiet: isJson, now })
  const lines: Line[] = []
  try {
    for (let from = 0; from < rows.length; from += MAX_ROWS) {
      const body = { ...common, offers: rows.slice(from, from + MAX_ROWS) }
      const headers = { 'idempotency-key': randomUUID() }
      const asked = { side: 'seller', body, headers, signal: terminal.interrupted } as const
      for await (const line of connection.lines('POST', '/v1/seller/offers/bulk', asked)) {
        if (line === '') continue
        lines.push(readAnswer(Line, JSON.parse(line)))
        progress.update(lines.length, rows.length)
      }
    }
  } finally {
    progress.end()
  }
  return lines
}

function lineTable(lines: readonly Line[]): OutputBlock {
  return table(lines, [
    { title: 'MODEL', value: ({ model }) => model },
    { title: 'RESULT', value: ({ status }) => status },
    { title: 'OFFER', value: (line) => line.offer_id },
    { title: 'WHY NOT', value: whyNot },
  ])
}

/** The code and the words. Some words begin with the code. */
function whyNot({ code, error }: Line): string | null | undefined {
  return code == null || error?.startsWith(`${code}: `) === true ? error : `${code}: ${error}`
}

const Tested = z.looseObject({
  ok: z.boolean(),
  latency_ms: z.number().nullish(),
  probe_cost_usd: z.number().nullish(),
  error: z.string().nullish(),
})

/** Asks a provider whether it takes the key, and whether a named model answers. */
export const testProvider: Action = async ({ connection }, { options }: CommandInput) => {
  const model = textOption(options, 'model')
  const body = { ...placeOf(options), ...(model === undefined ? {} : { model }) }
  const answer = readAnswer(
    Tested,
    await connection.call('POST', '/v1/seller/test-connection', { side: 'seller', body }),
  )
  const message = answer.ok
    ? `The model answers, in ${answer.latency_ms} ms.`
    : `The model does not answer: ${answer.error}`
  const cost = dollarsOf(answer.probe_cost_usd)
  const spent = cost === null ? [] : [text(`The test call cost about ${cost}.`)]
  return { json: answer, blocks: [text(message), ...spent], ...(answer.ok ? {} : { exit: 'failure' as const }) }
}
