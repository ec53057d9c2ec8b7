import { z } from 'zod'
import type { MicroUsd } from '#shared/money.ts'

/** Fields of what operations answer. Their descriptions stand in the reference. */

export const UnixMs = z.number().int().describe('Unix milliseconds.')
export const WholeMicro = z.number().int().describe('Micro-USD.')
export const MicroDigits = z
  .string()
  .regex(/^-?\d+$/)
  .describe('Micro-USD as decimal digits.')
/** An amount of micro-USD as the code has it. */
export const Amount = z.custom<MicroUsd>((value) => typeof value === 'bigint')
export const Count = z.number().int()

/** A stream of lines. It is not read here: whoever passes it on reads it. */
export function linesOf<Line extends z.ZodType>(line: Line) {
  return Object.assign(z.custom<AsyncIterable<z.output<Line>>>(isStream), { line })
}

/** What a stream yields; undefined for what is no stream. */
export function lineOf(schema: z.ZodType): z.ZodType | undefined {
  return 'line' in schema && schema.line instanceof z.ZodType ? schema.line : undefined
}

function isStream(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
