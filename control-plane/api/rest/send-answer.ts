import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { toAppError } from '#shared/errors.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import type { RestAnswer } from './route.ts'

/** Files are downloads: a browser must not run or frame them, or guess another type. */
const FILE_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Sends an answer that is not one JSON body. Streams are pulled, so a slow reader slows the work. */
export function sendAnswer(
  ctx: Pick<Ctx, 'log'>,
  reply: FastifyReply,
  answer: Exclude<RestAnswer, { kind: 'json' }>,
): FastifyReply {
  switch (answer.kind) {
    case 'redirect':
      return reply.redirect(answer.location, 302)
    case 'lines':
      reply.header('content-type', 'application/x-ndjson; charset=utf-8')
      return reply.send(Readable.from(textLines(ctx, answer.lines), { objectMode: false }))
    case 'file':
      reply.header('content-type', answer.contentType)
      reply.headers(FILE_HEADERS)
      reply.header('content-disposition', `attachment; filename="${answer.fileName}"`)
      // A file that fails half-way ends with a broken connection, so that a part cannot look like the whole.
      return reply.send(Readable.from(answer.chunks, { objectMode: false }))
  }
}

/** Writes one JSON value a line. The status is already sent, so a failure becomes the last line. */
async function* textLines(ctx: Pick<Ctx, 'log'>, lines: AsyncIterable<unknown>): AsyncGenerator<string> {
  try {
    for await (const line of lines) yield `${JSON.stringify(toSnakeBody(line))}\n`
  } catch (thrown) {
    const error = toAppError(thrown)
    ctx.log.error({ err: error }, 'a stream of lines failed')
    yield `${JSON.stringify({ error: { code: error.code, message: error.message } })}\n`
  }
}
