import type { JsonObject } from '#shared/json-members.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import type { CitedSource } from '#shared/protocols/answers/cited-sources.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'

/**
 * The reason why an answer ended, independent of a protocol. A paused answer continues when the buyer sends it back.
 */
export type FinishReason = 'stop' | 'length' | 'toolCalls' | 'contentFilter' | 'paused'

/** The finish reasons in usage events, in look-ups and in OpenAI's protocols. */
export const FINISH_WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  toolCalls: 'tool_calls',
  contentFilter: 'content_filter',
  // A turn that the model's maker has paused. OpenAI's protocols have no finish reason for it.
  paused: 'stop',
}

/**
 * A piece of an answer in the middle form. Texts are pieces to join. `index` counts the calls of an answer from 0, and
 * the joined pieces of one call's input are JSON text. A whole answer gives the same events at its end.
 */
export type AnswerEvent =
  | { readonly kind: 'text'; readonly text: string; readonly phase?: string }
  | {
      readonly kind: 'reasoning'
      readonly text: string
      /** The member in which the provider sends reasoning and expects it back. */
      readonly member?: string
      /**
       * Entries of `reasoning_details`, unchanged, with parts that only their maker can read. They contain the text,
       * too.
       */
      readonly details?: readonly JsonObject[]
    }
  /** Ends a block of reasoning with the maker's signature over it. */
  | { readonly kind: 'signature'; readonly text: string }
  /** A whole block of reasoning that only its maker can read. */
  | { readonly kind: 'redactedReasoning'; readonly text: string }
  | { readonly kind: 'refusal'; readonly text: string }
  /** Begins a text that is separate from the text before it, because one of them has citations. */
  | { readonly kind: 'textStart'; readonly hasCitations: boolean }
  /**
   * A citation of the text before it. `own` is the citation as its maker wrote it, as JSON text, in the messages
   * protocol; `source` is absent for a place in the buyer's own document.
   */
  | { readonly kind: 'citation'; readonly source?: CitedSource; readonly own?: string }
  /** A whole block of a tool that ran at the model's maker, or of its result, as JSON text. */
  | { readonly kind: 'makersBlock'; readonly text: string }
  | {
      readonly kind: 'toolStart'
      readonly index: number
      readonly id: string
      readonly name: string
      readonly namespace?: string
      readonly isCustom?: boolean
      readonly isSearch?: boolean
      /** Members that only the provider understands, and expects back. */
      readonly members?: JsonObject
    }
  /** Such members that arrived after the call's start. */
  | { readonly kind: 'toolMembers'; readonly index: number; readonly members: JsonObject }
  /** The input of a custom call is free text. */
  | { readonly kind: 'toolInput'; readonly index: number; readonly text: string; readonly isCustom?: boolean }
  /**
   * An event of the provider's own protocol, for a buyer of the same protocol. It follows the events that it was read
   * as. `bytes` counts the content that no other event contains.
   */
  | { readonly kind: 'own'; readonly event: JsonObject; readonly bytes: number }
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly stopSequence: string | null }

export const NO_EVENTS: readonly AnswerEvent[] = []

/** Reads a provider's bytes, split at any place, as events. One reader reads one answer. */
export type AnswerReader = {
  /** Reads the headers of the answer. Absent where the protocol has no answer data there. */
  takeHeaders?(headers: JsonObject): void
  push(chunk: Buffer): readonly AnswerEvent[]
  /**
   * Call it once when the provider's response has ended. A whole answer is read here; a stream is checked for its end.
   */
  end(): readonly AnswerEvent[]
  /** True after the protocol's end mark. Later bytes are ignored. */
  isDone(): boolean
  /** Set as soon as the bytes are no valid answer. */
  failure(): BadAnswer | undefined
  /** The usage that the provider has reported so far. */
  reported(): ReportedUsage
}
