import { CORS_HEADERS } from './http-reply.ts'
import type { Method } from './row.ts'
import type { Exchange } from './send-error.ts'

const PREFLIGHT_SECONDS = 86_400

/** Responds to a preflight. The answer is the same for every path. */
export function answerPreflight({ request, reply }: Exchange, methods: readonly Method[]): void {
  reply
    .code(204)
    .headers({
      ...CORS_HEADERS,
      'x-request-id': request.id,
      'access-control-allow-methods': [...methods, 'OPTIONS'].join(', '),
      'access-control-allow-headers': request.raw.headers['access-control-request-headers'] ?? '*',
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    })
    .send()
}
