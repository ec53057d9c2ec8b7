import type { ImageShape } from '#shared/images.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { BadAnswer } from './answers/bad-answer.ts'
import type { ReportedUsage } from './answers/reported-usage.ts'
import type { EncodePlan } from './encode-plan.ts'
import type { EncodedRequest } from './provider-request.ts'

/** The form of a picture in an answer: a URL to load it from, or base64. */
export type ImageFormat = 'url' | 'b64_json'

/** A picture to begin with. Data in its URL may be a stand-in for bytes elsewhere. */
export type ImageSource = {
  /** An https URL or a `data:` URL. */
  readonly url: string
  /** The first is the base, the others are references. */
  readonly role: 'start' | 'reference'
}

/** A request for pictures, independent of a protocol. */
export type ImageAsk = ImageShape & {
  readonly prompt: string
  readonly count: number
  readonly sources: readonly ImageSource[]
  readonly format: ImageFormat | undefined
  /** Set where the answer is a stream: the partial pictures that are shown before the whole one. */
  readonly stream: { readonly partials: number } | undefined
  /** All other members of the request: each goes to a provider that knows it, or is named as left out. */
  readonly extras: JsonObject
}

/** A picture in an answer, in one of two forms. */
export type GivenImage = {
  readonly url?: string
  /** Base64 without a head; a stand-in for large data. */
  readonly base64?: string
  readonly contentType?: string
  readonly width?: number
  readonly height?: number
  readonly revisedPrompt?: string
}

/** Pictures as a provider answered. */
export type ImageAnswer = {
  readonly images: readonly GivenImage[]
  /** The answer's figures, if any: OpenAI's members, unless the protocol reads its own. */
  readonly usage: unknown
  /** Members that are about all pictures together: `background`, `output_format`, `quality`, `size`. */
  readonly facts: Readonly<Record<string, string>>
}

/** The content of an event in a streamed answer. */
export type ImageEvent =
  | {
      readonly kind: 'partial' | 'whole'
      readonly image: GivenImage
      readonly facts: ImageAnswer['facts']
      /** As in {@link ImageAnswer}. The whole picture alone has it. */
      readonly usage: unknown
    }
  /** Nothing that a buyer is shown. */
  | { readonly kind: 'other' }

/** The fields of a request for an edit whose pictures are files of a form. */
export type ImageForm = {
  readonly path: string
  readonly fields: readonly { readonly name: string; readonly value: string }[]
  /** The name under which each file goes. */
  readonly fileName: string
  readonly accept: string
  readonly adaptedParams: readonly string[]
}

/** The messages of a protocol for pictures. Its answers are JSON. */
export type ImageCodec = {
  encode(ask: ImageAsk, plan: EncodePlan): EncodedRequest
  /** The request as a form, for pictures that came as files. Absent where the protocol takes no form. */
  form?(ask: ImageAsk, plan: EncodePlan): ImageForm
  /** Undefined when an answer without an error has no list of pictures. */
  read(body: JsonObject): ImageAnswer | undefined
  /** The refusal in an answer with status 200, beside an error of OpenAI's form. */
  failureIn?(body: JsonObject): BadAnswer | undefined
  /** Keeps the answer's figures. Absent where they have OpenAI's members. */
  mergeUsage?(into: ReportedUsage, usage: unknown): void
  /**
   * Reads an event of a streamed answer. Undefined when one that should bring a picture brings none. Absent where the
   * protocol's answers come whole.
   */
  readEvent?(event: JsonObject): ImageEvent | undefined
}
