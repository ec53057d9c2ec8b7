import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import type { Download } from '#data-plane/pipeline/jobs/open-artifact.ts'
import { DOWNLOAD_IDLE_MS, openArtifact } from '#data-plane/pipeline/jobs/open-artifact.ts'
import { AppError } from '#shared/errors.ts'
import { INERT_HEADERS } from '#shared/inert-headers.ts'
import { readQuery } from './answer.ts'
import type { RangeAnswer } from './byte-range.ts'
import { readRangeAnswer } from './byte-range.ts'
import { CORS_HEADERS, idHeaders } from './http-reply.ts'
import { readRequestHead } from './raw-request.ts'
import type { ServesOf } from './row.ts'
import { requestIdOf, sendError } from './send-error.ts'
import type { Handler, Mounted } from './take-in.ts'

const QUERY = ['expires', 'signature'] as const

/** Types that a browser may show. All others are downloads. */
const SHOWN_TYPES: ReadonlySet<string> = new Set([
  ...['png', 'jpeg', 'webp', 'gif', 'avif'].map((name) => `image/${name}`),
  ...['mp4', 'webm', 'quicktime'].map((name) => `video/${name}`),
  ...['mpeg', 'wav', 'x-wav', 'ogg', 'flac', 'aac', 'mp4', 'opus', 'webm'].map((name) => `audio/${name}`),
])

const FILE_HEADERS: Readonly<Record<string, string>> = {
  ...CORS_HEADERS,
  'access-control-expose-headers': `${CORS_HEADERS['access-control-expose-headers']}, content-range, accept-ranges, etag`,
  'accept-ranges': 'bytes',
  'cache-control': 'private',
  ...INERT_HEADERS,
}

/**
 * Sends a media file, or a part of it. The bytes bypass the framework, and are read no faster than the buyer takes
 * them.
 */
export function answerArtifact({ surface, row, reading }: Mounted, route: ServesOf<'artifact'>): Handler {
  return async (request, reply) => {
    const head = readRequestHead(request, requestIdOf(request), reading)
    readQuery(request, { query: QUERY })
    const download = await openArtifact(surface.jobs, route, head)
    const { bytes, tag, contentType } = download.file.facts
    const etag = `"${tag}"`
    const rangeAnswer = readRangeAnswer(head.method, head.headers, etag, bytes)
    if (rangeAnswer.status === 416) {
      await closeFile(download)
      const message = `The file has ${bytes} bytes.`
      reply.headers({ 'content-range': `bytes */${bytes}`, 'accept-ranges': 'bytes' })
      return sendError({ request, reply }, row, new AppError('invalid_request', { message, param: 'range' }), 416)
    }
    const headers = {
      ...FILE_HEADERS,
      ...idHeaders(row, request.id),
      etag,
      ...contentHeaders(rangeAnswer, contentType, bytes),
    }
    reply.hijack()
    reply.raw.writeHead(rangeAnswer.status, headers)
    if (head.method !== 'HEAD' && rangeAnswer.status !== 304) return sendFile(download, rangeAnswer, reply.raw)
    reply.raw.end()
    return closeFile(download)
  }
}

function contentHeaders(
  rangeAnswer: RangeAnswer,
  contentType: string,
  bytes: number,
): Readonly<Record<string, string>> {
  if (rangeAnswer.status === 304) return {}
  const [type = ''] = contentType.toLowerCase().split(';', 1)
  const isShown = SHOWN_TYPES.has(type.trim())
  const { first, last } = rangeAnswer.status === 206 ? rangeAnswer.part : { first: 0, last: bytes - 1 }
  return {
    'content-type': isShown ? type.trim() : 'application/octet-stream',
    'content-length': String(last - first + 1),
    ...(isShown ? {} : { 'content-disposition': 'attachment' }),
    ...(rangeAnswer.status === 206 ? { 'content-range': `bytes ${first}-${last}/${bytes}` } : {}),
  }
}

/** A buyer who leaves ends the read at once, and one who no longer reads is cut. */
function sendFile({ file, leave }: Download, rangeAnswer: RangeAnswer, response: ServerResponse): void {
  response.setTimeout(DOWNLOAD_IDLE_MS, () => response.destroy())
  pipeline(file.stream(rangeAnswer.status === 206 ? rangeAnswer.part : undefined), response, () => leave())
}

async function closeFile({ file, leave }: Download): Promise<void> {
  leave()
  await file.close()
}
