import type { CompletionsRequest } from '#data-plane/wires/completions/read-request.ts'
import type { Wire } from '#data-plane/wires/wire.ts'
import { encodeNative } from './request.ts'
import { nativeStreamDecoder } from './stream.ts'
import { nativeWholeDecoder } from './whole.ts'

/**
 * The way of a completions call to a provider that speaks the completions protocol itself. It applies where only that
 * protocol can say what is asked: several prompts or answers, log probabilities, an echo, a suffix. Such a call goes to
 * sellers of models that still speak it, so that the request's own text can go on, and the choices come back as they are.
 */
export const sameProtocol: Pick<Wire<CompletionsRequest>, 'encode' | 'decoder'> & {
  applies(request: CompletionsRequest): boolean
} = {
  applies: ({ nativeMember }) => nativeMember !== undefined,
  encode: encodeNative,
  decoder: ({ isStreamed, choices }, plan) =>
    isStreamed ? nativeStreamDecoder(plan, choices) : nativeWholeDecoder(plan, choices),
}
