import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { errorFrame, KEEP_ALIVE } from '#data-plane/wires/openai-frames.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { readJsonObject } from '#shared/json-members.ts'
import { malformed, NO_OBJECT } from '#shared/protocols/answers/bad-answer.ts'
import type { StreamState } from '#shared/protocols/answers/frames.ts'
import { frameReader } from '#shared/protocols/answers/frames.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeUsage } from '#shared/protocols/answers/reported-usage.ts'
import { MAX_PICTURE_EVENT_CHARS } from '#shared/protocols/answers/sse.ts'
import type { GivenImage, ImageAnswer, ImageCodec } from '#shared/protocols/image-codec.ts'
import { imageCodecOf } from '#shared/protocols/index.ts'
import { faultOf, usageJson } from './decoder.ts'
import type { ImageRequest } from './read-request.ts'

type State = StreamState & {
  readonly plan: ModelPlan
  readonly codec: ImageCodec
  readonly family: ImageRequest['family']
  /** Requested partial images. */
  readonly most: number
  readonly reported: ReportedUsage
  readonly chunks: Buffer[]
  /** True when a provider answers whole although a stream was requested. */
  isWhole: boolean
  partials: number
  contentBytes: number
  /** Events to send. */
  out: string
  /** The event of the whole image, which waits for its cost. */
  last: string
}

const NOTHING_INLINED = { bytes: Buffer.alloc(0), hasStandIns: false }

/**
 * An image as OpenAI streams it: partial ones as they arrive, and one last event with the whole one, its usage and its
 * cost. Base64 is forwarded as text.
 */
export function pictureEvents({ ask, family }: ImageRequest, plan: ModelPlan): Decoder {
  const state: State = {
    plan,
    codec: imageCodecOf(plan.offer, plan.target.model),
    family,
    most: ask.stream?.partials ?? 0,
    reported: { insaneFields: 0 },
    chunks: [],
    isWhole: false,
    partials: 0,
    contentBytes: 0,
    out: '',
    last: '',
    isDone: false,
    failure: undefined,
  }
  const grammar = {
    takeFrame: (event: JsonObject) => takeEvent(state, event),
    // No content follows this mark, but it does not end the answer. Only the event of the whole image does.
    takeDoneMark: () => false,
    takeStop: () => false,
  }
  const frames = frameReader(state, grammar, MAX_PICTURE_EVENT_CHARS)
  return {
    head: {
      contentType: () => 'text/event-stream; charset=utf-8',
      takes({ status, contentType }) {
        state.isWhole = contentType.includes('json')
        return status === 200 && (state.isWhole || contentType.startsWith('text/event-stream'))
      },
    },
    push(chunk) {
      if (state.isWhole) state.chunks.push(chunk)
      else frames.push(chunk)
      const { out } = state
      state.out = ''
      return out
    },
    end() {
      if (state.isWhole) readWhole(state)
      else frames.end()
    },
    contentPieces: () => state.partials + (state.last === '' ? 0 : 1),
    isDone: () => state.isDone && !state.isWhole,
    failure: () => state.failure,
    ending: () => ({
      reported: state.reported,
      finishReason: null,
      contentBytes: state.contentBytes,
      reasoningBytes: 0,
    }),
    stop() {
      // An image has no limit of its own.
    },
    finish: (receipt) => `${state.last},"usage":${usageJson(receipt)}}\n\n`,
    fail: (error) => errorFrame(error, plan.rid),
    keepAlive: () => KEEP_ALIVE,
  }
}

function takeEvent(state: State, event: JsonObject): void {
  state.failure = errorInside(event)
  if (state.failure) return
  const imageEvent = state.codec.readEvent?.(event)
  if (imageEvent === undefined) state.failure = malformed('an event without its image')
  else if (imageEvent.kind === 'partial') showPartial(state, imageEvent.image, imageEvent.facts)
  else if (imageEvent.kind === 'whole') keepWhole(state, imageEvent.image, imageEvent)
}

/** More partial images than requested are neither charged nor sent. */
function showPartial(state: State, image: GivenImage, facts: ImageAnswer['facts']): void {
  if (!isUsable(state, image) || state.partials === state.most) return
  state.out += `${eventText(state, 'partial_image', image, facts)},"partial_image_index":${state.partials}}\n\n`
  state.partials++
  state.reported.partialImages = state.partials
}

function keepWhole(state: State, image: GivenImage, { facts, usage }: Pick<ImageAnswer, 'facts' | 'usage'>): void {
  if (!isUsable(state, image)) return
  mergeUsage(state.reported, usage)
  state.reported.images = 1
  state.last = eventText(state, 'completed', image, facts)
  state.isDone = true
}

function isUsable(state: State, image: GivenImage): boolean {
  const fault = image.base64 === undefined ? 'an event without bytes' : faultOf(image, state.plan, NOTHING_INLINED)
  if (fault !== undefined) state.failure = malformed(fault)
  else state.contentBytes += image.base64?.length ?? 0
  return fault === undefined
}

/** An event without its last members and the brace that ends it. */
function eventText(
  { plan, family }: State,
  kind: 'partial_image' | 'completed',
  { base64 }: GivenImage,
  facts: ImageAnswer['facts'],
): string {
  const { target, offer, createdAt } = plan
  const type = `${family}.${kind}`
  const event = { type, created_at: createdAt, ...facts, model: target.id, provider: offer.provider, b64_json: base64 }
  return `event: ${type}\ndata: ${JSON.stringify(event).slice(0, -1)}`
}

function readWhole(state: State): void {
  const body = readJsonObject(Buffer.concat(state.chunks).toString('utf8'))
  state.chunks.length = 0
  state.failure = body === undefined ? NO_OBJECT : errorInside(body)
  if (body === undefined || state.failure) return
  const answer = state.codec.read(body)
  const [image] = answer?.images ?? []
  if (answer === undefined || image === undefined) state.failure = malformed('an answer without an image')
  else keepWhole(state, image, answer)
}
