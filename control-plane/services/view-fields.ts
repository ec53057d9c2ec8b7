import { z } from 'zod'
import type { MicroUsd } from '#shared/money.ts'
import { formatUnitPrice, picoUsd } from '#shared/money.ts'

/** Fields of operations' answers. The API reference shows their descriptions. */

export const UnixMs = z.number().int().describe('Unix milliseconds.')
export const WholeMicro = z.number().int().describe('Micro-USD.')
export const MicroDigits = z
  .string()
  .regex(/^-?\d+$/)
  .describe('Micro-USD as decimal digits.')
/** A provider's own cost of a call, in US dollars with every digit that the provider gave. */
export const ProviderCost = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .nullable()
  .describe('US dollars by the provider’s own account, as a decimal number; null where its answer has none.')

export function providerCostOf(pico: bigint | null): string | null {
  return pico === null ? null : formatUnitPrice(picoUsd(pico))
}

/** An amount as the code holds it, in micro-USD. */
export const Amount = z.custom<MicroUsd>((value) => typeof value === 'bigint')
export const Count = z.number().int()

/** The schema of a stream of lines. It does not read the stream. */
export function linesOf<Line extends z.ZodType>(line: Line) {
  return Object.assign(z.custom<AsyncIterable<z.output<Line>>>(isStream), { line })
}

/** The schema of a stream's lines; undefined when the schema is no stream. */
export function lineOf(schema: z.ZodType): z.ZodType | undefined {
  return 'line' in schema && schema.line instanceof z.ZodType ? schema.line : undefined
}

function isStream(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Prices in US dollars by unit: of media, and of a million tokens of images or sound. */
export const UnitPriceList = z
  .array(
    z.object({ unit: z.string(), usd: z.number() }).meta({
      id: 'ShownUnitPrice',
      description: 'The price of one unit, such as an image or a second, in US dollars.',
    }),
  )
  .readonly()
  .describe('US dollars of each unit: media, and a million tokens of pictures or sound.')
