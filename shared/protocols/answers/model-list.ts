import { z } from 'zod'

const MAX_MODELS = 100_000
const ModelList = z.object({ data: z.array(z.object({ id: z.string() })).max(MAX_MODELS) })

/** The ids of a list under `data`, in OpenAI's form. Undefined for anything else. */
export function readModelList(text: string): ReadonlySet<string> | undefined {
  const parsed = ModelList.safeParse(parseJson(text))
  return parsed.success ? new Set(parsed.data.data.map(({ id }) => id)) : undefined
}

/** False for an answer with an `error`, whatever its status. */
export function isErrorFree(text: string): boolean {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !('error' in value)
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
