import { z } from 'zod'
import { isRecord } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'

const MAX_MODELS = 100_000
const ModelList = z.object({ data: z.array(z.object({ id: z.string() })).max(MAX_MODELS) })

/** The ids of a list under `data`, in OpenAI's form. Undefined for anything else. */
export function readModelList(text: string): ReadonlySet<string> | undefined {
  const parsed = ModelList.safeParse(parseJson(text))
  return parsed.success ? new Set(parsed.data.data.map(({ id }) => id)) : undefined
}

/** True for an answer of status 200 without an `error`. */
export function isErrorFree(status: number, text: string): boolean {
  if (status !== 200) return false
  const value = parseJson(text)
  return isRecord(value) && !('error' in value)
}
