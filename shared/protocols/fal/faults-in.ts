import { isRecord } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'

/** The faults that a model's schema found in an input. Empty where the text is no such refusal. */
export function faultsIn(text: string): readonly Readonly<Record<string, unknown>>[] {
  const body = parseJson(text)
  const detail = isRecord(body) ? body['detail'] : undefined
  return Array.isArray(detail) ? detail.filter(isRecord) : []
}
