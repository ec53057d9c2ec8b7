import { isRecord } from '#shared/json-members.ts'
import type { Sampling } from '#shared/protocols/middle-form/conversation.ts'
import { SAMPLING_KNOBS } from '#shared/protocols/middle-form/sampling-knobs.ts'

/** Members of a request that {@link readSampling} reads. */
export const SAMPLING_FIELDS: readonly string[] = [...SAMPLING_KNOBS.map(([name]) => name), 'logit_bias']

/** The sampling parameters of a request under OpenAI's names. */
export function readSampling(body: Readonly<Record<string, unknown>>): Sampling {
  const sampling: { [key in (typeof SAMPLING_KNOBS)[number][1]]?: number } = {}
  for (const [name, key] of SAMPLING_KNOBS) {
    const value = body[name]
    if (typeof value === 'number') sampling[key] = value
  }
  return isRecord(body['logit_bias']) ? { ...sampling, logitBias: body['logit_bias'] } : sampling
}

/** `stop`, which may be one text or a list, as a list. */
export function readStop(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : []
}

/** A switch that may be absent. */
export function flagOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** A text that may be absent; an empty one counts as absent. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
