import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { PicoUsd } from '#shared/money.ts'
import { picoUsd } from '#shared/money.ts'
import type { CountName, CountTree, OwnCost, Place } from './usage-dialects.ts'
import {
  BESIDE_TREE,
  OPENAI_TREE,
  OWN_COST_BEHIND,
  OWN_COSTS,
  SERVED_WORDS,
  THOUGHTS_OUTSIDE,
} from './usage-dialects.ts'

/** Counts of one usage object. */
export type UsageCounts = { [Name in CountName]?: number }

/** The provider's own figures. Each is the last plausible one, and is absent without one. */
export type ReportedUsage = UsageCounts & {
  /** Tokens of the total that neither input, output nor a detail names. For a reasoning model they are reasoning. */
  unnamedTokens?: number
  /** Delivered images, and their pixels together if the provider names sizes. */
  images?: number
  pixels?: number
  /** Partial images of a stream. */
  partialImages?: number
  milliseconds?: number
  /** The provider's own cost of the call. */
  ownCost?: PicoUsd
  /** The tier, the speed and the region that the provider reports. */
  serviceTier?: string
  speed?: string
  region?: string
  /** The amount of search context that the provider reports. */
  searchContext?: string
  /** The number of members with impossible values. */
  insaneFields: number
}

/** The largest plausible number of tokens of an answer. A larger figure is ignored. */
const MAX_SANE_TOKENS = 1_000_000_000
const SERVED_WORD = /^[\w.:-]{1,40}$/

/** Reads a member as a count. Undefined, and counted as insane, for an impossible value. */
export function takeCount(into: ReportedUsage, source: unknown, field: string): number | undefined {
  if (!isRecord(source)) return undefined
  const value = source[field]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_SANE_TOKENS) return value
  into.insaneFields++
  return undefined
}

/** Reads the counts of a usage object in the dialects of a protocol. */
export function takeCounts(into: ReportedUsage, usage: JsonObject, tree: CountTree): UsageCounts {
  const counts: UsageCounts = {}
  takeBranch(into, counts, usage, tree)
  // Some providers report the parts of a cache write and no sum of them, or a sum of zero.
  const { cacheWriteTokens = 0, cacheWriteShortTokens = 0, cacheWriteLongTokens = 0 } = counts
  const parts = cacheWriteShortTokens + cacheWriteLongTokens
  if (parts > cacheWriteTokens) counts.cacheWriteTokens = parts
  return counts
}

function takeBranch(into: ReportedUsage, counts: UsageCounts, source: JsonObject, tree: CountTree): void {
  for (const member in source) {
    const name = tree[member]
    if (name === undefined) continue
    if (typeof name === 'string') {
      const count = takeCount(into, source, member)
      const other = counts[name]
      if (count !== undefined && (other === undefined || count > other)) counts[name] = count
    } else {
      const branch = source[member]
      if (isRecord(branch)) takeBranch(into, counts, branch, name)
    }
  }
}

/** True when the provider counts output, visible or not. */
export function hasOutput({ outputTokens = 0, unnamedTokens = 0 }: ReportedUsage): boolean {
  return outputTokens + unnamedTokens > 0
}

/** Keeps the counts of one usage object. */
export function keepCounts(into: ReportedUsage, counts: UsageCounts): void {
  for (const key in counts) {
    const name = key as CountName
    const count = counts[name]
    if (count !== undefined) into[name] = count
  }
}

/** Adds the figures of an answer in an OpenAI protocol, or of a frame of one, from any of their places. */
export function mergeAnswerUsage(into: ReportedUsage, answer: JsonObject): void {
  const { choices, x_groq: groq, usage, service_tier: tier, tool_usage: tools } = answer
  if (Array.isArray(choices)) {
    // Moonshot's streams.
    for (const choice of choices) if (isRecord(choice)) mergeUsage(into, choice['usage'])
  }
  if (isRecord(groq)) mergeUsage(into, groq['usage'])
  mergeUsage(into, usage)
  keepServedTier(into, tier)
  if (tools !== undefined) keepCounts(into, takeCounts(into, { tool_usage: tools }, BESIDE_TREE))
}

/** Adds the figures of an OpenAI-shaped `usage` object to `into`. Of each member the last plausible value stays. */
export function mergeUsage(into: ReportedUsage, raw: unknown): void {
  if (!isRecord(raw)) return
  const counts = takeCounts(into, raw, OPENAI_TREE)
  const { cachedTokens = 0, cacheMissTokens } = counts
  if (cacheMissTokens !== undefined) counts.inputTokens ??= cachedTokens + cacheMissTokens
  // Some streams end with an object of zeros after the figures.
  if (counts.inputTokens === 0 && counts.outputTokens === 0 && hasOutput(into)) return
  placeRest(into, counts, raw)
  keepCounts(into, counts)
  keepServed(into, raw)
  keepOwnCost(into, raw)
}

/** Assigns the tokens of the total above input and output. Reasoning and caches are inside those or outside. */
function placeRest(into: ReportedUsage, counts: UsageCounts, raw: JsonObject): void {
  const { inputTokens = 0, outputTokens, reasoningTokens = 0 } = counts
  if (outputTokens === undefined) return
  const caches = (counts.cachedTokens ?? 0) + (counts.cacheWriteTokens ?? 0)
  // An impossible total spoils no figure.
  const total = takeCount({ insaneFields: 0 }, raw, 'total_tokens') ?? 0
  const rest = Math.max(0, total - inputTokens - outputTokens)
  const isOutside = THOUGHTS_OUTSIDE.some((name) => raw[name] !== undefined)
  let unnamed = 0
  if (isOutside) counts.outputTokens = outputTokens + reasoningTokens
  else if (rest > 0 && rest === caches && rest !== reasoningTokens) counts.inputTokens = inputTokens + caches
  else if (reasoningTokens > 0) counts.outputTokens = outputTokens + Math.min(rest, reasoningTokens)
  else unnamed = rest
  if (unnamed > 0 || into.unnamedTokens !== undefined) into.unnamedTokens = unnamed
}

/** Keeps the members of a usage object about the service of the request. */
export function keepServed(into: ReportedUsage, usage: JsonObject): void {
  for (const [word, name] of SERVED_WORDS) {
    const value = usage[name]
    if (isServedWord(value)) into[word] = value
  }
}

/** Keeps a word for the tier that has served a request. */
export function keepServedTier(into: ReportedUsage, tier: unknown): void {
  if (isServedWord(tier)) into.serviceTier = tier
}

function isServedWord(value: unknown): value is string {
  return typeof value === 'string' && SERVED_WORD.test(value)
}

/** The largest plausible cost of a call: a thousand US dollars, in pico-USD. */
const MAX_OWN_COST = 1e15

/**
 * The provider's own cost of a call, by its usage object. With a customer's own key it is the provider's fee and the
 * bill behind it. An impossible cost is ignored.
 */
export function ownCostOf(usage: JsonObject): PicoUsd | undefined {
  const behind = usage['is_byok'] === true ? picoIn(usage, OWN_COST_BEHIND) : 0
  if (behind === undefined) return undefined
  for (const row of OWN_COSTS) {
    const pico = picoIn(usage, row)
    if (pico !== undefined) return picoUsd(BigInt(pico + behind))
  }
  return undefined
}

function picoIn(usage: JsonObject, { place, picoAUnit }: OwnCost): number | undefined {
  const value = valueAt(usage, place)
  const pico = typeof value === 'number' && value >= 0 ? Math.round(value * picoAUnit) : Number.NaN
  return pico <= MAX_OWN_COST ? pico : undefined
}

/** Keeps the provider's own cost of a usage object. */
export function keepOwnCost(into: ReportedUsage, usage: JsonObject): void {
  const cost = ownCostOf(usage)
  if (cost !== undefined) into.ownCost = cost
}

function valueAt(source: JsonObject, place: Place): unknown {
  let value: unknown = source
  for (const name of place) value = isRecord(value) ? value[name] : undefined
  return value
}
