import type { AnswerFile, Decoder, InlinedSource, ModelPlan, Receipt } from '#data-plane/call.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import type { AnswerAround } from '#data-plane/wires/inlined-data.ts'
import { piecesOf } from '#data-plane/wires/inlined-data.ts'
import { costMembers } from '#data-plane/wires/usage-json.ts'
import type { AnswerFindings } from '#data-plane/wires/whole-answer.ts'
import { foundMalformed, gatherAround } from '#data-plane/wires/whole-answer.ts'
import { hostOf } from '#shared/catalog/providers.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import { checkPublicUrl } from '#shared/outbound-guard.ts'
import { parseJson } from '#shared/parse-json.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { GivenImage, ImageAnswer, ImageFormat } from '#shared/protocols/image-codec.ts'
import { imageCodecOf } from '#shared/protocols/index.ts'
import { imageCount, inputTokens, outputTokens } from '#shared/usage.ts'
import { pictureBytes, pictureType } from './picture-bytes.ts'
import type { ImageRequest } from './read-request.ts'
import { holdsPicture } from './sources.ts'

type State = {
  readonly reported: ReportedUsage
  answer: ImageAnswer
  /** The place of large images' data. */
  inlined: InlinedSource
  contentBytes: number
}

const NO_ANSWER: ImageAnswer = { images: [], usage: undefined, facts: {} }
const NO_DATA: InlinedSource = { bytes: Buffer.alloc(0), hasStandIns: false }
const NOTHING_ADAPTED: readonly string[] = []
const FORMAT_ADAPTED: readonly string[] = ['response_format']
const PIXELS_A_MEGAPIXEL = 1_000_000

/** Images, whole. The data of large ones stays in the received bytes and is never a text. */
export function imageDecoder({ ask }: ImageRequest, plan: ModelPlan): Decoder {
  const state: State = {
    reported: { insaneFields: 0 },
    answer: NO_ANSWER,
    inlined: NO_DATA,
    contentBytes: 0,
  }
  const whole = gatherAround((around) => read(state, around, plan, ask.count))
  const adaptedParams = () => (isInOtherForm(state.answer, ask.format) ? FORMAT_ADAPTED : NOTHING_ADAPTED)
  const write = (receipt: Receipt) => answerText(state.answer, plan, withAdapted(receipt, adaptedParams()))
  // This object is made for every call, and a literal with a spread takes some twenty times longer.
  return {
    push: whole.push,
    end: whole.end,
    contentPieces: whole.contentPieces,
    isDone: whole.isDone,
    failure: whole.failure,
    stop: whole.stop,
    keepAlive: whole.keepAlive,
    ending: () => ({
      reported: state.reported,
      finishReason: null,
      contentBytes: whole.contentBytes(),
      reasoningBytes: 0,
    }),
    whole: {
      files: () => (ask.format === 'url' ? filesIn(state) : []),
      adaptedParams,
      pieces: (receipt) => (state.inlined.hasStandIns ? piecesOf(write(receipt), state.inlined) : undefined),
    },
    finish(receipt) {
      const text = write(receipt)
      return state.inlined.hasStandIns ? Buffer.concat(piecesOf(text, state.inlined)).toString('utf8') : text
    },
    fail: (error) => openAiErrorBody(error, plan.rid),
  }
}

function read(state: State, around: AnswerAround | undefined, plan: ModelPlan, count: number): AnswerFindings {
  const body = around && parseObject(around.text)
  if (around === undefined || body === undefined) return foundMalformed('not a JSON object of a sane depth')
  const codec = imageCodecOf(plan.offer, plan.target.model)
  const failure = errorInside(body) ?? codec.failureIn?.(body)
  if (failure) return { failure, contentBytes: 0 }
  const answer = codec.read(body)
  if (answer === undefined) return foundMalformed('not a list of pictures')
  // More images than requested are neither charged nor sent.
  const images = answer.images.slice(0, count)
  const fault = images.map((image) => faultOf(image, plan, around.source)).find((text) => text !== undefined)
  if (fault !== undefined) return foundMalformed(fault)
  // The bytes are kept only for the data in them.
  state.inlined = around.source
  if (codec.mergeUsage === undefined) mergeUsage(state.reported, answer.usage)
  else codec.mergeUsage(state.reported, answer.usage)
  state.reported.images = images.length
  const pixels = areaOf(images)
  if (pixels !== undefined) state.reported.pixels = pixels
  state.answer = { ...answer, images }
  return { contentBytes: images.length === 0 ? 0 : around.text.length }
}

/** A gauge has found its depth acceptable. */
function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isRecord(value) ? value : undefined
}

/** Returns the reason why no client can load an image. */
export function faultOf({ url, base64 }: GivenImage, { offer }: ModelPlan, inlined: InlinedSource): string | undefined {
  if (url !== undefined) {
    // A provider on the same machine may have its files there.
    const isLoadable =
      checkPublicUrl(url, { allowsLoopback: false }) !== undefined || hostOf(url) === hostOf(offer.baseUrl)
    return isLoadable ? undefined : 'an image URL that cannot be loaded'
  }
  return holdsPicture(base64 ?? '', inlined) ? undefined : 'data that is no image'
}

/** The images that were received as bytes. */
function filesIn(state: State): readonly AnswerFile[] {
  const { inlined } = state
  return state.answer.images.flatMap(({ base64 }, index) => {
    if (base64 === undefined) return []
    const link = (url: string) => putLink(state, index, url)
    return [{ index, contentType: pictureType(base64, inlined), pieces: pictureBytes(base64, inlined), link }]
  })
}

function putLink(state: State, place: number, url: string): void {
  const images = state.answer.images.map((image, index) => {
    if (index !== place) return image
    const { base64: _, ...rest } = image
    return { ...rest, url }
  })
  state.answer = { ...state.answer, images }
  // The received data is not needed once a link replaces all of it.
  if (images.every(({ base64 }) => base64 === undefined)) state.inlined = NO_DATA
}

function isInOtherForm({ images }: ImageAnswer, format: ImageFormat | undefined): boolean {
  return format !== undefined && images.some(({ url }) => (url === undefined) === (format === 'url'))
}

function withAdapted(receipt: Receipt, names: readonly string[]): Receipt {
  const { adaptedParams = [] } = receipt
  return names.length === 0 ? receipt : { ...receipt, adaptedParams: [...adaptedParams, ...names] }
}

function areaOf(images: readonly GivenImage[]): number | undefined {
  let pixels = 0
  for (const { width, height } of images) {
    if (width === undefined || height === undefined) return undefined
    pixels += width * height
  }
  return pixels
}

function answerText({ images, facts }: ImageAnswer, { createdAt, target, offer }: ModelPlan, receipt: Receipt): string {
  const head = { created: createdAt, data: images.map(entryOf), model: target.id, provider: offer.provider }
  const beside = JSON.stringify(facts)
  const more = beside === '{}' ? '' : `,${beside.slice(1, -1)}`
  return `${JSON.stringify(head).slice(0, -1)}${more},"usage":${usageJson(receipt)}}`
}

/** Undefined members are left out of the JSON. */
function entryOf({ url, base64, revisedPrompt, width, height }: GivenImage) {
  return {
    b64_json: url === undefined ? base64 : undefined,
    url,
    revised_prompt: revisedPrompt,
    width,
    height: width === undefined ? undefined : height,
  }
}

/** OpenAI's usage of images, OpenRouter's names for it, the priced units, and the cost. */
export function usageJson(receipt: Receipt): string {
  const { usage } = receipt
  const [input, output] = [inputTokens(usage), outputTokens(usage)]
  const { imageInput = 0, imageOutput = 0, pixels } = usage
  const tokens =
    `"input_tokens":${input},"output_tokens":${output},"total_tokens":${input + output},` +
    `"prompt_tokens":${input},"completion_tokens":${output},` +
    `"input_tokens_details":{"text_tokens":${input - imageInput},"image_tokens":${imageInput}},` +
    `"output_tokens_details":{"text_tokens":${output - imageOutput},"image_tokens":${imageOutput}}`
  const count = imageCount(usage)
  const settings =
    (count > 0 ? `,"images":${count}` : '') +
    (pixels === undefined ? '' : `,"megapixels":${pixels / PIXELS_A_MEGAPIXEL}`)
  return `{${tokens}${settings},${costMembers(receipt)}}`
}
