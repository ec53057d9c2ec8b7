import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '#shared/errors.ts'

const MAX_DEPTH = 64

/** Accepts JSON in UTF-8 and nothing else. An empty body counts as none. */
export function acceptJsonOnly(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
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
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw new AppError('invalid_json', { cause })
  }
  if (nestingOf(text) > MAX_DEPTH) {
    throw new AppError('invalid_json', { message: `A body is nested at most ${MAX_DEPTH} levels deep.` })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new AppError('invalid_json', { cause })
  }
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    throw new AppError('invalid_request', { message: 'A body has no field called __proto__.' })
  }
  return value
}

/** The deepest nesting of a JSON text. It builds nothing. */
function nestingOf(text: string): number {
  let depth = 0
  let deepest = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (isInString) {
      if (char === '\\') at++
      else if (char === '"') isInString = false
    } else if (char === '"') isInString = true
    else if (char === '{' || char === '[') deepest = Math.max(deepest, ++depth)
    else if (char === '}' || char === ']') depth--
  }
  return deepest
}
