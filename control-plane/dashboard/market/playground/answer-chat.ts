import { at } from '#control-plane/dashboard/data/answer-of.ts'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'
import { readEvents } from '#control-plane/dashboard/data/read-events.ts'
import type { ApiCall } from './call-of.ts'
import type { Media, ModelReply } from './reply.ts'
import { bodyFacts, headFacts } from './reply.ts'

/** The screen is drawn anew at most this often while an answer comes. */
const DRAW_EVERY_MS = 40

export type Answering = {
  readonly paid: PayingCall
  readonly signal: AbortSignal
  /** Receives the known parts of the answer. */
  readonly onKnown: (facts: Partial<ModelReply>) => void
}

/** Streams the answer of a chat call. Throws what the call throws. */
export async function answerChat({ path, body }: ApiCall, { paid, signal, onKnown }: Answering): Promise<void> {
  const began = performance.now()
  const answer = await paid(path, { body, signal })
  onKnown(headFacts(answer.headers))
  if (answer.body === null) return
  const [texts, thoughts]: [string[], string[]] = [[], []]
  const media: Media[] = []
  let drawnAt = Number.NEGATIVE_INFINITY
  let firstMs: number | undefined
  const draw = () => {
    drawnAt = performance.now()
    onKnown({ state: 'answering', text: texts.join(''), thoughts: thoughts.join(''), media: [...media], firstMs })
  }
  try {
    for await (const event of readEvents(answer.body)) {
      refuseError(event)
      const delta = at(event, 'choices', 0, 'delta')
      const count = texts.length + thoughts.length + media.length
      push(texts, at(delta, 'content'))
      push(thoughts, at(delta, 'reasoning') ?? at(delta, 'reasoning_content'))
      media.push(...picturesOf(at(delta, 'images')))
      if (texts.length + thoughts.length + media.length > count) firstMs ??= performance.now() - began
      onKnownEnd(event, onKnown)
      if (performance.now() - drawnAt >= DRAW_EVERY_MS) draw()
    }
  } finally {
    draw()
  }
}

function push(parts: string[], part: unknown): void {
  if (typeof part === 'string' && part !== '') parts.push(part)
}

function picturesOf(images: unknown): Media[] {
  if (!Array.isArray(images)) return []
  return images.flatMap((image: unknown) => {
    const url = at(image, 'image_url', 'url')
    return typeof url === 'string' && url.startsWith('data:image/') ? [{ kind: 'picture', url, name: 'picture' }] : []
  })
}

/** Reports the cost, and an answer that its limit cut short. */
function onKnownEnd(event: unknown, onKnown: Answering['onKnown']): void {
  const facts = bodyFacts(event)
  if (facts.costMicro !== undefined) onKnown(facts)
  if (at(event, 'choices', 0, 'finish_reason') === 'length') onKnown({ isCut: true })
}

/**
 * An answer that fails after its beginning ends with an event that has the error and the cost of the delivered part.
 */
function refuseError(event: unknown): void {
  const message = at(event, 'error', 'message')
  if (typeof message === 'string') throw new MarketError('upstream_error', message)
}
