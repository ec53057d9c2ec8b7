import type { ImageShape } from '#shared/images.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { BadAnswer } from './answers/bad-answer.ts'
import type { ReportedUsage } from './answers/reported-usage.ts'
import type { EncodePlan } from './encode-plan.ts'
import type { EncodedRequest } from './provider-request.ts'

/** The form of an image in an answer: a URL to load it from, or base64. */
export type ImageFormat = 'url' | 'b64_json'

/** A source image. Data in its URL may be a placeholder for bytes elsewhere. */
export type ImageSource = {
  /** An https URL or a `data:` URL. */
  readonly url: string
  /** A `start` image is edited; a `reference` image only guides the model. */
  readonly role: 'start' | 'reference'
}

/** A request for images, independent of a protocol. */
export type ImageAsk = ImageShape & {
  readonly prompt: string
  readonly count: number
  readonly sources: readonly ImageSource[]
  readonly format: ImageFormat | undefined
  /** Set where the answer is a stream: the number of partial images before the final image. */
  readonly stream: { readonly partials: number } | undefined
  /**
   * All other members of the request. Each is forwarded where the provider supports it, and else reported as left out.
   */
  readonly extras: JsonObject
}

/** An image in an answer, in one of two forms. */
export type GivenImage = {
  readonly url?: string
  /** Base64 without the `data:` prefix, or a placeholder for large data. */
  readonly base64?: string
  readonly contentType?: string
  readonly width?: number
  readonly height?: number
  readonly revisedPrompt?: string
}

/** The images of a provider's answer. */
export type ImageAnswer = {
  readonly images: readonly GivenImage[]
  /** The usage in the answer, if any, with OpenAI's members unless the protocol has members of its own. */
  readonly usage: unknown
  /** Members that describe all images of the answer: `background`, `output_format`, `quality`, `size`. */
  readonly facts: Readonly<Record<string, string>>
}

/** The content of an event in a streamed answer. */
export type ImageEvent =
  | {
      readonly kind: 'partial' | 'whole'
      readonly image: GivenImage
      readonly facts: ImageAnswer['facts']
      /** As in {@link ImageAnswer}. Only the event of the final image has usage. */
      readonly usage: unknown
    }
  /** An event that the buyer is not sent. */
  | { readonly kind: 'other' }

/** The form fields of an edit request whose images are uploaded files. */
export type ImageForm = {
  readonly path: string
  readonly fields: readonly { readonly name: string; readonly value: string }[]
  /** The field name of each file. */
  readonly fileName: string
  readonly accept: string
  readonly adaptedParams: readonly string[]
}

/** Reads and writes a protocol's messages for images. Its answers are JSON. */
export type ImageCodec = {
  encode(ask: ImageAsk, plan: EncodePlan): EncodedRequest
  /** Writes the request as a form, for images that were uploaded as files. Absent where the protocol has no forms. */
  form?(ask: ImageAsk, plan: EncodePlan): ImageForm
  /** Undefined when an answer without an error has no list of images. */
  read(body: JsonObject): ImageAnswer | undefined
  /** The refusal in an answer with status 200, where it does not have the form of OpenAI's errors. */
  failureIn?(body: JsonObject): BadAnswer | undefined
  /** Adds the usage of an answer. Absent where the usage has OpenAI's members. */
  mergeUsage?(into: ReportedUsage, usage: unknown): void
  /**
   * Reads an event of a streamed answer. Undefined when an image event contains no image. Absent where the protocol
   * does not stream images.
   */
  readEvent?(event: JsonObject): ImageEvent | undefined
}
