import { isRecord } from '#shared/json-members.ts'
import type { ErrorBody } from '#shared/protocols/answers/error-body.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { parseJson } from '#shared/protocols/answers/model-list.ts'

/** `detail` holds one text, or a list of what is wrong with which member. */
export function readFalError(text: string): ErrorBody {
  const plain = readErrorBody(text)
  const body = parseJson(text)
  const detail = isRecord(body) ? body['detail'] : undefined
  if (typeof detail === 'string') return { ...plain, message: detail }
  const [first] = faultsIn(text)
  if (first === undefined) return plain
  const { msg: message, loc } = first
  const param: unknown = Array.isArray(loc) ? loc.at(-1) : undefined
  return {
    ...plain,
    ...(typeof message === 'string' && { message }),
    ...(typeof param === 'string' && { param }),
  }
}

/** The faults that a model's schema found in an input. Empty where the text is no such refusal. */
export function faultsIn(text: string): readonly Readonly<Record<string, unknown>>[] {
  const body = parseJson(text)
  const detail = isRecord(body) ? body['detail'] : undefined
  return Array.isArray(detail) ? detail.filter(isRecord) : []
}
