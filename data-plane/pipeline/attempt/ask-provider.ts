import type { AttemptPlan, UpstreamRequest } from '#data-plane/call.ts'
import { connectOf } from '#data-plane/pipeline/attempt-result.ts'
import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import { classifyError, classifyStatus } from '#data-plane/upstream/classify.ts'
import type { AskedProvider } from '#data-plane/upstream/provider-words.ts'
import type { Destination, UpstreamHead } from '#data-plane/upstream/send.ts'
import { modelNameAt, protocolOf } from '#shared/protocols/index.ts'

/** Most bytes that are read of an answer about a job. */
const MAX_ANSWER_BYTES = 262_144

export type ProviderAnswer = {
  /** The provider's HTTP status, or 0 when there was none. */
  readonly status: number
  readonly ms: number
  /** Milliseconds until a new connection was ready. Absent for an open one. */
  readonly connectMs?: number | undefined
  readonly text: string
  /** False when it is certain that no byte of the request was sent. */
  readonly isSent: boolean
  readonly failure: UpstreamFailure | undefined
}

/**
 * Describes the provider of an answer, for the redaction of its text. `hidden` is a name in the request that the seller
 * chose and the buyer must not see.
 */
export function speakerOf(
  { upstream }: Pick<CallPlane, 'upstream'>,
  to: Destination,
  { body, pieces }: UpstreamRequest,
  hidden?: string,
): AskedProvider {
  return {
    holdsKey: (text) => upstream.holdsKey(to, text),
    requestText() {
      // A form may have several megabytes, so it is not searched for names.
      const text = pieces === undefined ? body : ''
      return hidden === undefined ? text : text.replaceAll(`"${hidden}"`, '""')
    },
  }
}

/** The provider of an attempt. The seller's name for the model is hidden, unless the buyer gave the same name. */
export function speakerIn(
  plane: Pick<CallPlane, 'upstream'>,
  { offer, target }: AttemptPlan,
  request: UpstreamRequest,
): AskedProvider {
  const name = modelNameAt(offer)
  const isShown = name === target.requested || name === target.id
  return speakerOf(plane, offer, request, isShown ? undefined : name)
}

/** Calls a provider once and reads its whole answer, which is short. Never rejects. */
export function askProvider(
  plane: CallPlane,
  to: Destination,
  request: UpstreamRequest,
  limitMs: number,
): Promise<ProviderAnswer> {
  const startedAt = plane.clock.monotonic()
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let head: UpstreamHead | undefined
    let connectedAt: number | undefined
    let bytes = 0
    const finish = (failure: UpstreamFailure | undefined, isSent = true) => {
      endWait()
      const ms = Math.round(plane.clock.monotonic() - startedAt)
      const times = { ms, ...connectOf({ sentAt: startedAt, connectedAt }) }
      resolve({ status: head?.status ?? 0, ...times, text: Buffer.concat(chunks).toString('utf8'), isSent, failure })
    }
    const fail = (code: string) => finish(classifyError(Object.assign(new Error(code), { code }), head !== undefined))
    const flow = plane.upstream.send(
      to,
      request,
      { firstByteMs: limitMs },
      {
        onConnected() {
          connectedAt = plane.clock.monotonic()
        },
        onHead(upstreamHead) {
          head = upstreamHead
        },
        onData(chunk) {
          bytes += chunk.length
          if (bytes <= MAX_ANSWER_BYTES) chunks.push(chunk)
          else {
            flow.abort()
            fail('RESPONSE_EXCEEDED')
          }
        },
        onEnd() {
          const isGood = head !== undefined && head.status >= 200 && head.status < 300
          const text = Buffer.concat(chunks).toString('utf8')
          finish(
            isGood
              ? undefined
              : classifyStatus(
                  head?.status ?? 0,
                  protocolOf(to).readError(text, head?.headers),
                  speakerOf(plane, to, request),
                  head?.retryAfterMs,
                ),
          )
        },
        onError(error, isSent) {
          finish(classifyError(error, head !== undefined), isSent)
        },
      },
    )
    const endWait = plane.clock.after(limitMs, () => {
      flow.abort()
      fail('TIMEOUT')
    })
  })
}
