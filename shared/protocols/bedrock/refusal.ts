import type { ErrorBody, RefusalHeaders } from '#shared/protocols/answers/error-body.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'

/** The text of a refusal of the key itself. The type of such a refusal is that of a missing permission. */
const KEY_WORDS = /^(?:authentication failed|the security token|the request signature|invalid api key|api key )/i
const ACCESS_DENIED = 'accessdeniedexception'
const WRONG_KEY = 'unrecognizedclientexception'

/** Parses a refusal of Bedrock. Its type is in a header, at times followed by a URL, and not in the body. */
export function readBedrockError(text: string, headers?: RefusalHeaders): ErrorBody {
  const body = readErrorBody(text)
  const header = headers?.['x-amzn-errortype']
  const type = typeof header === 'string' ? nameOf(header) : undefined
  const codes = [...body.codes.map(withoutNamespace), ...(type === undefined ? [] : [type])]
  const isOfKey = codes.includes(ACCESS_DENIED) && KEY_WORDS.test(body.message)
  return { ...body, codes: isOfKey ? [WRONG_KEY] : [...new Set(codes)] }
}

/** The name of an exception without its address: `ThrottlingException:http://…`. */
function nameOf(type: string): string {
  return withoutNamespace(type.split(':', 1)[0] ?? '')
}

/** The name of an exception without its namespace: `com.amazon#ThrottlingException`. */
function withoutNamespace(name: string): string {
  return (name.split('#').at(-1) ?? '').trim().toLowerCase()
}
