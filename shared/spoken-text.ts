import type { UnitPrices } from './pricing.ts'

/** A text to speak: the facts that decide its tokens. */
export type SpokenText = {
  /** Bytes of the text and of the instructions, and the frame around both. A token is at least one byte. */
  readonly inputTokens: number
  /** Unicode code points of the text alone. */
  readonly characters: number
  /** True when the request has instructions for the voice. A voice may follow them at any length. */
  readonly isInstructed: boolean
  /** The factor of the pace: 0.25 takes four times as long. */
  readonly speed: number
}

/** The most and the fewest tokens in a second of sound: Google's figure, and OpenAI's price of a minute. */
const MOST_TOKENS_A_SECOND = 25
const LEAST_TOKENS_A_SECOND = 20
/** Seconds of a character: twice those of Chinese, and those of English. */
const MOST_SECONDS_A_CHARACTER = 0.5
const USUAL_SECONDS_A_CHARACTER = 0.06
/** Even a single letter may be held for this many seconds. */
const LEAST_SECONDS = 10

/** True for speech that is priced by tokens of text and of sound, and not by the character. */
export function isSpokenByTokens({ characters, audioOutput }: UnitPrices): boolean {
  return characters === undefined && audioOutput !== undefined
}

/** The most tokens of sound for a text, at most `most`, the limit of the voice. */
export function mostSpokenTokens({ characters, isInstructed, speed }: SpokenText, most: number): number {
  if (isInstructed) return most
  const seconds = Math.max(LEAST_SECONDS, characters * MOST_SECONDS_A_CHARACTER) / Math.min(1, speed)
  return Math.min(most, Math.ceil(seconds * MOST_TOKENS_A_SECOND))
}

/** The tokens of sound that count when the provider gives no figure. */
export function likelySpokenTokens({ characters, speed }: SpokenText): number {
  return Math.max(1, Math.floor((characters * USUAL_SECONDS_A_CHARACTER * LEAST_TOKENS_A_SECOND) / Math.max(1, speed)))
}
