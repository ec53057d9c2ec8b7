import type { UnitPrices } from './pricing.ts'

/** A text that is to be spoken, by what a voice that is billed by its tokens makes of it. */
export type SpokenText = {
  /** Bytes of the text and of the words about how to speak, and the frame around both. A token is at least one byte. */
  readonly inputTokens: number
  /** Unicode code points of the text alone. */
  readonly characters: number
  /** True where the request says how to speak. A voice may follow it for as long as it can. */
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
/** Even a single letter may be held for so many seconds. */
const LEAST_SECONDS = 10

/** True for a voice that is billed by tokens of text and of sound, and not by the character. */
export function isSpokenByTokens({ characters, audioOutput }: UnitPrices): boolean {
  return characters === undefined && audioOutput !== undefined
}

/** The most tokens of sound that a text can come to, of a voice that makes at most so many. */
export function mostSpokenTokens({ characters, isInstructed, speed }: SpokenText, most: number): number {
  if (isInstructed) return most
  const seconds = Math.max(LEAST_SECONDS, characters * MOST_SECONDS_A_CHARACTER) / Math.min(1, speed)
  return Math.min(most, Math.ceil(seconds * MOST_TOKENS_A_SECOND))
}

/** The tokens of sound that count where the provider gives no figure. */
export function likelySpokenTokens({ characters, speed }: SpokenText): number {
  return Math.max(1, Math.floor((characters * USUAL_SECONDS_A_CHARACTER * LEAST_TOKENS_A_SECOND) / Math.max(1, speed)))
}
