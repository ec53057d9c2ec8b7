import type { IncomingHttpHeaders } from 'node:http'
import { INERT_HEADERS } from '#shared/inert-headers.ts'
import type { CompiledResource } from '#shared/resources/compile-resource.ts'

/** The longest value of a forwarded header, in characters. */
const MAX_VALUE_CHARS = 4_096
/** A value that is one line of plain characters. */
const PLAIN = /^[\t\x20-\x7e]*$/

/**
 * The buyer's headers that a provider may see, one after another: those that its record names. Everything else of the
 * request's head is made anew.
 */
export function headersFor({ record }: CompiledResource, headers: IncomingHttpHeaders): readonly string[] {
  return record.requestHeaders
    .filter((name) => name !== record.credential.header)
    .flatMap((name) => {
      const value = headers[name]
      return isPlain(value) ? [name, value] : []
    })
}

/** The provider's headers that a buyer may see, besides the media type, and those that make its body inert. */
export function headersOf({ record }: CompiledResource, headers: IncomingHttpHeaders): Record<string, string> {
  const own: Record<string, string> = {}
  for (const name of ['content-disposition', ...record.answerHeaders]) {
    const value = headers[name]
    if (isPlain(value)) own[name] = value
  }
  return { ...own, ...INERT_HEADERS }
}

function isPlain(value: string | readonly string[] | undefined): value is string {
  return typeof value === 'string' && value.length <= MAX_VALUE_CHARS && PLAIN.test(value)
}
