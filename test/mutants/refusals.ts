import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const REFUSAL_CAUSES = 'shared/protocols/answers/refusal-causes.ts'
const ERROR_BODY = 'shared/protocols/answers/error-body.ts'

const REFUSALS_TEST = tests('unit/refusal-causes')

/** Mistakes in the blame for a provider's refusal. */
export const REFUSAL_MUTANTS: readonly Mutant[] = [
  mutant('a-phrase-of-the-buyers-shuts-an-offer', REFUSALS_TEST, `${REFUSAL_CAUSES}#believedRow`, {
    ' || isRepeated(phrase, requestText())': '',
  }),
  mutant('an-escaped-phrase-of-the-buyers-shuts-an-offer', REFUSALS_TEST, `${REFUSAL_CAUSES}#isRepeated`, {
    'String.fromCharCode(Number.parseInt(digits, 16))': "'' + digits",
  }),
  mutant('a-large-request-shuts-an-offer', REFUSALS_TEST, `${REFUSAL_CAUSES}#isAboveLimit`, {
    'figure(requestedTokens) > figure(limit)': 'figure(requestedTokens) < 0',
  }),
  mutant('an-error-in-an-array-is-not-read', REFUSALS_TEST, `${ERROR_BODY}#collect`, {
    'Array.isArray(value) ? value[0] : value': 'value',
  }),
  mutant('a-day-passes-in-half-a-minute', tests('unit/breaker'), 'data-plane/store/breaker.ts#backOffMs', {
    'if (LASTING.has(errorClass)) return MAX_BACK_OFF_MS': '',
  }),
  mutant('a-firewall-refuses-a-key', REFUSALS_TEST, `${REFUSAL_CAUSES}#causeOfStatus`, {
    "return body.isJson ? 'key' : 'unclear'": "return body.isJson ? 'key' : 'key'",
  }),
]
