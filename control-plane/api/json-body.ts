import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '#shared/errors.ts'
import { createJsonGauge } from '#shared/json-gauge.ts'

/** A form of a mail program, `List-Unsubscribe=One-Click` (RFC 8058). */
const FORM = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)(?:;|$)/i
const MAX_FORM_BYTES = 1_024

/**
 * Accepts JSON in UTF-8 and nothing else. An empty body counts as none. On `formPath` a short form is taken, too, and
 * not read.
 */
export function acceptJsonOnly(server: FastifyInstance, formPath: string): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser(
    FORM,
    { parseAs: 'buffer', bodyLimit: MAX_FORM_BYTES },
    async ({ routeOptions }: FastifyRequest) => {
      if (routeOptions.url !== formPath) throw new AppError('unsupported_media_type')
      return undefined
    },
  )
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const charset = /charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
      if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw new AppError('unsupported_media_type')
      if (request.headers['content-encoding'] !== undefined) throw new AppError('unsupported_media_type')
      return body.length === 0 ? undefined : parseJson(body)
    },
  )
}

function parseJson(body: Buffer): unknown {
  // A body that would take long to parse is refused here, before the parser.
  createJsonGauge().add(body)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw new AppError('invalid_json', { cause })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new AppError('invalid_json', { cause })
  }
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    throw new AppError('invalid_request', { message: 'A body must not have a field called __proto__.' })
  }
  return value
}
