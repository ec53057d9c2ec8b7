import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { mustBe } from '#data-plane/wires/fields.ts'
import { ROUTING_FIELDS, readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import type { JobView, JobWire, ParsedJob } from '#data-plane/wires/wire.ts'
import { AppError } from '#shared/errors.ts'
import { microUsdToDollars } from '#shared/money.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'

const MAX_PROMPT_CHARS = 32_768
const DEFAULT_SECONDS = 5
const MAX_SECONDS = 60
const MILLISECONDS = 1_000

/** Video as long jobs: `POST /v1/video/generations`, then `GET` and `DELETE` of what it answered. */
export const video: JobWire = {
  name: 'video',
  envelope: openAiEnvelope,
  read(raw): ParsedJob {
    const { body } = readJsonBody(raw)
    const model = readModelName(body['model'])
    const prompt = readPrompt(body['prompt'])
    const seconds = readSeconds(body['seconds'])
    refuseSources(body)
    const length = { milliseconds: seconds * MILLISECONDS }
    return {
      demand: {
        kind: 'model',
        endpoint: 'video',
        model,
        isStreamed: false,
        ...readRouting(body, raw),
        needs: { imageInput: false },
        bounds: { ...NO_TOKENS, units: { most: length, least: length } },
      },
      adaptedParams: Object.keys(body).filter(
        (name) => !READ.has(name) && !ROUTING_FIELDS.has(name) && body[name] !== null,
      ),
      encode: (offer) => ({
        ...jobCodecOf(offer, 'video').submit(offer.providerModel, { prompt, seconds }),
        adaptedParams: [],
      }),
    }
  },
  submitted: (view, token) => JSON.stringify({ ...headOf(view), job_token: token }),
  shown: (view) => JSON.stringify(shown(view)),
}

/** Members that are read here. */
const READ: ReadonlySet<string> = new Set(['model', 'prompt', 'seconds'])

/** Members that hold a picture to begin with, to end with or to follow, under all their names. */
const SOURCES = [
  'image_url',
  'end_image_url',
  'input_images',
  'image',
  'input_image',
  'images',
  'input_reference',
] as const

/**
 * Throws `model_capability_unsupported` for a video from pictures: no seller's protocol takes them yet, and a video
 * without them would be another one than was asked for.
 */
function refuseSources(body: Readonly<Record<string, unknown>>): void {
  for (const name of SOURCES) {
    const value = body[name]
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue
    throw new AppError('model_capability_unsupported', {
      message: `Videos are made from words alone so far: no seller takes ${name}.`,
      param: name,
      detail: { capability: 'source_images' },
    })
  }
}

/** Nothing of a video is sold by the token. */
const NO_TOKENS = { inputTokens: 0, inputImages: 0, inputBytes: 0, maxOutputTokens: 0, choices: 1 }

function readPrompt(prompt: unknown): string {
  if (typeof prompt === 'string' && prompt !== '' && prompt.length <= MAX_PROMPT_CHARS) return prompt
  throw mustBe('prompt', `a text of up to ${MAX_PROMPT_CHARS} characters`)
}

function readSeconds(value: unknown): number {
  if (value === undefined || value === null) return DEFAULT_SECONDS
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_SECONDS) return value
  throw mustBe('seconds', `a whole number from 1 to ${MAX_SECONDS}`)
}

function headOf({ id, state, model, createdAt }: JobView) {
  return { id, object: 'video.generation', status: state, model, created: createdAt }
}

function shown(view: JobView) {
  const { artifacts, receipt, error } = view
  return {
    ...headOf(view),
    artifacts: artifacts.map(({ url, contentType }, index) => ({ index, url, content_type: contentType })),
    usage:
      receipt === undefined
        ? null
        : {
            seconds: (receipt.usage.milliseconds ?? 0) / MILLISECONDS,
            cost: microUsdToDollars(receipt.chargeMicro),
            buyer_cost_micro: Number(receipt.chargeMicro),
            cost_details: { upstream_inference_cost: microUsdToDollars(receipt.listMicro) },
          },
    error: error === undefined ? null : { type: error.type, code: error.code, message: error.message },
  }
}
