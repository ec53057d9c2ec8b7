import type { Model } from './catalog/model.ts'
import type { UnitPrices } from './pricing.ts'

/** A recording and its prompt: the facts that decide the tokens of its transcript. */
export type HeardAudio = {
  /** UTF-8 bytes of the prompt. A token is at least one byte. */
  readonly promptBytes: number
  /** The upper bound of the audio's length, and the length by its own bytes, in milliseconds. */
  readonly mostMs: number
  readonly leastMs: number
  /** True when the request has the provider cut the audio. The limits of the model then count for each piece. */
  readonly isCut: boolean
}

/** Tokens of a transcript by class. */
export type HeardTokens = { readonly input: number; readonly audioInput: number; readonly output: number }

/**
 * The most tokens in a second of sound: Alibaba's figure. Mistral counts half of it, and OpenAI one in 100
 * milliseconds.
 */
const MOST_TOKENS_A_SECOND = 25
const USUAL_TOKENS_A_SECOND = 10
/** Most tokens for the frame around a prompt. */
const FRAME_TOKENS = 64
/** The least average length of a piece of audio. The prompt is read again with each piece. */
const LEAST_PIECE_MS = 10_000

/** True for a transcript that is priced by tokens of text and of sound, and not by time. */
export function isHeardByTokens({ milliseconds, audioInput }: UnitPrices): boolean {
  return milliseconds === undefined && audioInput !== undefined
}

/** The most tokens that a model can read of a recording and write of it. */
export function mostHeardTokens(
  { promptBytes, mostMs, isCut }: HeardAudio,
  { contextLength, maxCompletionTokens }: Pick<Model, 'contextLength' | 'maxCompletionTokens'>,
): HeardTokens {
  const text = promptBytes + FRAME_TOKENS
  const sound = soundTokens(mostMs, MOST_TOKENS_A_SECOND)
  if (!isCut) {
    return {
      input: Math.min(text, contextLength),
      audioInput: Math.min(sound, contextLength),
      output: maxCompletionTokens,
    }
  }
  // No speech has more tokens than the sound.
  return {
    input: text * Math.ceil(mostMs / LEAST_PIECE_MS),
    audioInput: sound,
    output: Math.max(sound, maxCompletionTokens),
  }
}

/** The tokens of sound of this length, when the provider gives no figure. */
export function likelySoundTokens(ms: number): number {
  return soundTokens(ms, USUAL_TOKENS_A_SECOND)
}

function soundTokens(ms: number, tokensASecond: number): number {
  return Math.ceil((ms * tokensASecond) / 1_000)
}
