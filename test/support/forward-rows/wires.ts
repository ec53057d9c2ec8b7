import type { AttemptPlan, Decoder, ForwardDemand, RawRequest, UpstreamRequest } from '#data-plane/call.ts'
import { openAiEnvelope, openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { costMembers } from '#data-plane/wires/usage-json.ts'
import { foundMalformed, gatherWhole, readWholeAnswer } from '#data-plane/wires/whole-answer.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { AppError } from '#shared/errors.ts'

/**
 * Two wires that only tests have, for purchases that are no model: a forwarded family, priced by the call, and a
 * resource, priced by units that its request shows.
 */

/** The names under which the tests sell the family and the resource. */
export const FAMILY = 'weather'
export const RESOURCE = 'loom'

const WISHES = {
  isStreamed: false,
  hints: { only: [], blocked: [], order: [], allowsUntrusted: undefined },
  floorPercents: [],
  maxCostMicro: undefined,
} as const

/** `GET /family/weather/<rest>`: each call costs the same. */
export const familyWire: AnyWire = {
  name: FAMILY,
  envelope: openAiEnvelope,
  read({ params }) {
    const demand: ForwardDemand = {
      ...{ ...WISHES, kind: 'family', name: params['name'] ?? '', endpoint: 'forwarded' },
      bounds: { units: { most: { calls: 1 }, least: { calls: 1 } } },
    }
    return {
      demand,
      encode: () => ({ ...ASKED, method: 'GET', path: `/${params['rest'] ?? ''}`, body: '' }),
      decoder: passOn,
    }
  },
}

/** `POST /resource/loom/<rest>`: each character of `text` costs the same. */
export const resourceWire: AnyWire = {
  name: RESOURCE,
  envelope: openAiEnvelope,
  read(raw) {
    const characters = textOf(raw).length
    const demand: ForwardDemand = {
      ...{ ...WISHES, kind: 'resource', name: raw.params['name'] ?? '', endpoint: 'proxy' },
      bounds: { units: { most: { characters }, least: { characters } } },
    }
    const body = raw.body.toString()
    return {
      demand,
      encode: () => ({ ...ASKED, path: `/${raw.params['rest'] ?? ''}`, body }),
      decoder: passOn,
    }
  },
}

const ASKED = {
  contentType: 'application/json',
  accept: 'application/json',
  adaptedParams: [],
} satisfies Partial<UpstreamRequest>

function textOf({ body }: RawRequest): string {
  const read: unknown = JSON.parse(body.toString())
  const text = typeof read === 'object' && read !== null && 'text' in read ? read.text : undefined
  if (typeof text !== 'string') throw new AppError('invalid_request', { message: '`text` is a string.', param: 'text' })
  return text
}

/** Passes the provider's object on with its cost. */
function passOn({ rid, target }: AttemptPlan): Decoder {
  let answer = ''
  const whole = gatherWhole((bytes) => {
    const found = readWholeAnswer(bytes)
    if (found === undefined) return foundMalformed('not a JSON object')
    answer = found.text
    return { contentBytes: bytes.length }
  })
  return {
    ending: () => ({
      reported: { insaneFields: 0 },
      finishReason: null,
      contentBytes: whole.contentBytes(),
      reasoningBytes: 0,
    }),
    finish: (receipt) => `{"answer":${answer},"of":${JSON.stringify(target.id)},"usage":{${costMembers(receipt)}}}`,
    fail: (error) => openAiErrorBody(error, rid),
    ...whole,
  }
}
