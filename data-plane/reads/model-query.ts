import type { Market } from '#data-plane/store/market.ts'
import type { Model } from '#shared/catalog/model.ts'
import { mustBe } from '#shared/invalid-member.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import type { ModelStanding } from './availability.ts'
import type { ReadSources } from './read.ts'

/** A model of a list, its price, and whether it can be bought now. */
export type ListedModel = ModelStanding & { readonly model: Model; readonly price: ReferencePrice | undefined }

const MAX_PAGE = 1_000
const MICRO_PER_USD = 1e6
/** Longest value of a filter in characters. */
const MAX_FILTER_CHARS = 1_000

type Test = (model: ListedModel) => boolean
type Order = (sources: Pick<ReadSources, 'market'>) => (left: ListedModel, right: ListedModel) => number

/** A query on a list of models. */
export type ModelChoiceQuery = {
  readonly tests: readonly Test[]
  readonly order: Order | undefined
  readonly limit: number | undefined
  readonly offset: number
}

/**
 * Filters of OpenRouter's lists that mean the same here, and the market's own. Each makes a test of its value, or
 * throws.
 */
const FILTERS: Readonly<Record<string, (value: string, param: string) => Test>> = {
  /** Our own filter: models that an offer can serve now, or that none can. */
  available(value, param) {
    if (value !== 'true' && value !== 'false') throw mustBe(param, 'true or false')
    return ({ isAvailable }) => isAvailable === (value === 'true')
  },
  q(value) {
    const text = value.toLowerCase()
    return ({ model: { id, lab, name } }) =>
      `${lab}/${id}`.toLowerCase().includes(text) || name.toLowerCase().includes(text)
  },
  supported_parameters: (value) => hasAll(value, ({ parameters }) => parameters),
  input_modalities: (value) => hasAll(value, ({ inputModalities }) => inputModalities),
  output_modalities(value) {
    const words = wordsOf(value)
    // OpenRouter has speech and transcripts as modalities. Here they are endpoints.
    return ({ model: { outputModalities, endpoints } }) =>
      words.some((word) => word === 'all' || outputModalities.includes(word) || endpoints.some((name) => name === word))
  },
  model_authors(value) {
    const words = wordsOf(value)
    return ({ model: { lab } }) => words.includes(lab.toLowerCase())
  },
  context(value, param) {
    const least = readNumber(value, param)
    return ({ model: { contextLength } }) => contextLength >= least
  },
  min_price: priceTest('input', (price, bound) => price >= bound),
  max_price: priceTest('input', (price, bound) => price <= bound),
  min_output_price: priceTest('output', (price, bound) => price >= bound),
  max_output_price: priceTest('output', (price, bound) => price <= bound),
  // Promises that no seller of this market makes, so no model has them.
  zdr: (value) => () => value !== 'true',
  distillable: (value) => () => value !== 'true',
  region: () => () => false,
}

/** Orders of OpenRouter's lists that mean the same here. Without one a list is newest first, sandbox models last. */
const ORDERS: ReadonlyMap<string, Order> = new Map([
  ['newest', by(({ model }) => -model.created)],
  ['pricing-low-to-high', by((model) => priceOf(model))],
  ['pricing-high-to-low', by((model) => -priceOf(model))],
  ['context-high-to-low', by(({ model }) => -model.contextLength)],
  ['throughput-high-to-low', by(({ model }, { rowByModel }) => -(rowByModel.get(model.id)?.tpsP50 ?? 0))],
  ['latency-low-to-high', by(({ model }, { rowByModel }) => rowByModel.get(model.id)?.ttftP50Ms ?? Infinity)],
])

/** Members of a query that {@link readModelQuery} uses. */
export const MODEL_QUERY: readonly string[] = ['limit', 'offset', 'sort', ...Object.keys(FILTERS)]

/** Parses the query of a list of models, and the members whose value has no meaning here. Throws `invalid_request`. */
export function readModelQuery(query: URLSearchParams): {
  readonly choice: ModelChoiceQuery
  readonly ignored: readonly string[]
} {
  const tests: Test[] = []
  for (const [name, value] of query) {
    if (value.length > MAX_FILTER_CHARS) throw mustBe(name, `at most ${MAX_FILTER_CHARS} characters`)
    const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined
    // An empty value filters nothing.
    if (filter !== undefined && value !== '') tests.push(filter(value, name))
  }
  const sort = query.get('sort')
  const order = ORDERS.get(sort ?? '')
  const limit = readWhole(query, 'limit', { least: 1, most: MAX_PAGE })
  const offset = readWhole(query, 'offset', { least: 0, most: Number.MAX_SAFE_INTEGER }) ?? 0
  const ignored = sort !== null && order === undefined ? ['sort'] : []
  return { choice: { tests, order, limit, offset }, ignored }
}

/** The models of a list that a query selects, in the order that it asks for. */
export function select(
  sources: Pick<ReadSources, 'market'>,
  { tests, order }: ModelChoiceQuery,
  all: readonly ListedModel[],
): readonly ListedModel[] {
  const selected = tests.length === 0 ? all : all.filter((model) => tests.every((test) => test(model)))
  return order === undefined ? selected : selected.toSorted(order(sources))
}

/** The page of a list that a query asks for: all of it without a limit. */
export function page({ limit, offset }: ModelChoiceQuery, models: readonly ListedModel[]): readonly ListedModel[] {
  return models.slice(offset, limit === undefined ? undefined : offset + limit)
}

/** The query of the page after this one; undefined for the last. */
export function nextPage(
  query: URLSearchParams,
  { limit, offset }: ModelChoiceQuery,
  total: number,
): string | undefined {
  if (limit === undefined || offset + limit >= total) return undefined
  const next = new URLSearchParams(query)
  next.set('offset', String(offset + limit))
  return next.toString()
}

function hasAll(value: string, membersOf: (model: Model) => readonly string[]): Test {
  const words = wordsOf(value)
  return ({ model }) => words.every((word) => membersOf(model).includes(word))
}

function wordsOf(value: string): readonly string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
}

/** A bound for the reference price in USD of a million tokens. A model without such a price never passes. */
function priceTest(unit: 'input' | 'output', passes: (price: number, bound: number) => boolean) {
  return (value: string, param: string): Test => {
    const bound = readNumber(value, param)
    return ({ price }) => {
      const micro = price?.unitPrices[unit]
      return micro !== undefined && passes(Number(micro) / MICRO_PER_USD, bound)
    }
  }
}

/** The mean of the prices of an input token and an output token. A model that is not priced by tokens comes last. */
function priceOf({ price }: ListedModel): number {
  const { input, output } = price?.unitPrices ?? {}
  return input === undefined && output === undefined ? Infinity : (Number(input ?? 0n) + Number(output ?? 0n)) / 2
}

function by(figure: (model: ListedModel, market: Market) => number): Order {
  return ({ market }) => {
    const now = market()
    return (left, right) => compare(figure(left, now), figure(right, now))
  }
}

function compare(left: number, right: number): number {
  return left === right ? 0 : left < right ? -1 : 1
}

function readNumber(value: string, param: string): number {
  if (!/^\d{1,12}(?:\.\d{1,12})?$/.test(value)) throw mustBe(param, 'a number')
  return Number(value)
}

function readWhole(query: URLSearchParams, param: string, { least, most }: { least: number; most: number }) {
  const text = query.get(param)
  // Clients send an absent number as an empty text or as null.
  if (text === null || text === '' || text === 'null') return undefined
  const number = /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : -1
  if (number < least || number > most) {
    throw mustBe(param, most === MAX_PAGE ? `a whole number from ${least} to ${most}` : 'a whole number')
  }
  return number
}
