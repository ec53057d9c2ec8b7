import type { Demand, DemandBounds, ModelDemand, ModelTarget, Target } from '#data-plane/call.ts'
import { isDocumentCapable, isImageCapable, streamsImages } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import { takesMember } from '#shared/protocols/middle-form/taken-members.ts'
import { BYTES_A_TOKEN } from '#shared/usage.ts'
import { checkClip } from './check-clip.ts'
import { checkPicture } from './check-picture.ts'

/** Most prompts of one call that a chat model answers, one after another. */
const MAX_PROMPTS_IN_CHAT = 32
/** No vocabulary in use has a token of more bytes, so this many bytes are at least one token. */
const LONGEST_TOKEN_BYTES = 128

/**
 * Refuses, before any money, a call that the model cannot serve. Throws `model_capability_unsupported` for a parameter,
 * an image, a document, images or the older completions protocol, `invalid_request` for more prompts than a chat model
 * answers, and `context_length_exceeded` when no tokeniser could make the call fit.
 */
export function checkCapability(target: Target, demand: Demand): void {
  // Only its provider reads a forwarded request.
  if (target.kind !== 'model' || demand.kind !== 'model') return
  checkCompletions(target, demand)
  const { parameters } = target.model
  const missing = demand.needs.parameters?.find((name) => parameters.length > 0 && !parameters.includes(name))
  if (missing !== undefined) {
    throw new AppError('model_capability_unsupported', {
      message: `${target.model.id} does not take ${missing}.`,
      param: missing,
      detail: { capability: missing },
    })
  }
  checkFormat(target, demand)
  checkPictures(target, demand)
  if (demand.needs.imageInput && !isImageCapable(target.model)) {
    throw new AppError('model_capability_unsupported', {
      message: `${target.model.id} does not take images.`,
      param: inputParamOf(demand),
      detail: { capability: 'vision' },
    })
  }
  if (demand.needs.documents !== undefined && !isDocumentCapable(target.model)) {
    throw new AppError('model_capability_unsupported', {
      message: `${target.model.id} does not take documents.`,
      param: inputParamOf(demand),
      detail: { capability: 'file_input' },
    })
  }
  checkClip(target, demand)
  checkPicture(target, demand)
  checkContext(target, demand)
}

/**
 * Chat models get completions as chats, a call for each prompt. A chat cannot express the parameters that only the
 * older protocol has.
 */
function checkCompletions({ model }: ModelTarget, demand: ModelDemand): void {
  const { needs, bounds } = demand
  if (bounds.each !== undefined && bounds.each.length > MAX_PROMPTS_IN_CHAT) {
    const param = inputParamOf(demand)
    throw new AppError('invalid_request', {
      message: `${model.id} is a chat model. ${param} must have at most ${MAX_PROMPTS_IN_CHAT} texts for it.`,
      param,
    })
  }
  const member = needs.completionsFor
  if (member === undefined || model.endpoints.includes('completions') || !model.endpoints.includes('chat')) return
  throw new AppError('model_capability_unsupported', {
    message:
      `${model.id} is a chat model. On /v1/completions its prompts are sent as chats, ` +
      `and a chat has no parameter for ${member}.`,
    param: member,
    detail: { capability: 'completions' },
  })
}

/**
 * An answer in a format needs a model that supports formats, or a tool in its place. A request that only the OpenAI
 * protocol can express is never rewritten, so it needs the former.
 */
function checkFormat({ model }: ModelTarget, { needs }: ModelDemand): void {
  const { formatParam, openAiFormat } = needs
  if (formatParam === undefined || takesMember(model, 'response_format')) return
  if (openAiFormat !== true && takesMember(model, 'tools')) return
  throw new AppError('model_capability_unsupported', {
    message: `${model.id} cannot answer in a format.`,
    param: formatParam,
    detail: { capability: 'structured_outputs' },
  })
}

/** Partial images, and images in a conversation, come only from models that list them. */
function checkPictures({ model }: ModelTarget, { needs }: ModelDemand): void {
  if (needs.streamedPictures === true && !streamsImages(model)) {
    throw new AppError('model_capability_unsupported', {
      message: `${model.id} does not stream pictures. Leave stream out.`,
      param: 'stream',
      detail: { capability: 'image_streaming' },
    })
  }
  const { picturesParam } = needs
  if (picturesParam === undefined || model.outputModalities.includes('image')) return
  throw new AppError('model_capability_unsupported', {
    message: `${model.id} makes no pictures.`,
    param: picturesParam,
    detail: { capability: 'image_output' },
  })
}

function inputParamOf({ inputParam }: ModelDemand): string {
  return inputParam ?? 'messages'
}

/**
 * A context window belongs to the model and is the same at every offer. Only a certain excess is refused. A call that
 * is too long by an estimate may fit, so it goes to the provider, which counts.
 */
function checkContext(target: ModelTarget, demand: ModelDemand): void {
  const { bounds } = demand
  // Each of several inputs has its own window. Characters and seconds are not counted in tokens.
  if (bounds.each === undefined && ((bounds.inputs ?? 1) > 1 || bounds.units !== undefined)) return
  const { contextLength, maxCompletionTokens } = target.model
  const least = Math.ceil(longestInput(bounds) / LONGEST_TOKEN_BYTES)
  const output = Math.min(bounds.maxOutputTokens ?? 1, maxCompletionTokens)
  if (least + output > contextLength) throw contextError(target, demand, output)
}

/** UTF-8 bytes of the longest input with a window of its own. It is too long whenever any is. */
function longestInput({ each, inputBytes }: DemandBounds): number {
  return each === undefined ? inputBytes : Math.max(...each.map((own) => own.inputBytes))
}

/**
 * The refusal of a call that is too long for the model, in the terms that clients know: the sent length, the requested
 * output, and the limit. When our estimate fits and the provider's count does not, the text says that the provider
 * counted.
 */
export function contextError({ model }: ModelTarget, demand: ModelDemand, maxTokens: number): AppError {
  const { bounds } = demand
  const input = Math.ceil(longestInput(bounds) / BYTES_A_TOKEN)
  const limit = model.contextLength
  const total = input + maxTokens
  const sizeWords = `about ${total} tokens (${input} in the messages, ${maxTokens} in the completion)`
  const countWords =
    total > limit
      ? `However, you requested ${sizeWords}.`
      : `The provider counted more than fits; by our estimate ${sizeWords}.`
  return new AppError('context_length_exceeded', {
    message: `This model's maximum context length is ${limit} tokens. ${countWords}`,
    param: inputParamOf(demand),
    detail: { input_tokens: input, max_tokens: maxTokens, context_length: limit },
  })
}
