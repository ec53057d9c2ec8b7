import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const USAGE = 'shared/protocols/gemini/usage.ts'
const READER = 'shared/protocols/gemini/reader.ts'
const CONTENTS = 'shared/protocols/gemini/contents.ts'
const IMAGES = 'shared/protocols/gemini/images.ts'

const GEMINI_TEST = tests('wires/gemini')
const REQUESTS_TEST = tests('wires/gemini-requests')
const MEDIA_TEST = tests('wires/gemini-media')
const IDS_TEST = tests('wires/call-ids')

/** Mistakes in Gemini's own protocol: its bill, and the parts that a later request must repeat. */
export const GEMINI_MUTANTS: readonly Mutant[] = [
  mutant('thoughts-beside-an-answer-are-free', GEMINI_TEST, `${USAGE}#keepOutput`, {
    'const outputs = (reportedTokens ?? outputTokens - reasoningTokens) + reasoning':
      'const outputs = reportedTokens ?? outputTokens - reasoningTokens',
  }),
  mutant('what-tools-read-is-free', GEMINI_TEST, `${USAGE}#mergeGeminiUsage`, {
    'prompt + (tools ?? 0)': 'prompt',
  }),
  mutant('a-cache-is-counted-beside-its-prompt', GEMINI_TEST, `${USAGE}#mergeGeminiUsage`, {
    'prompt + (tools ?? 0)': 'prompt + (tools ?? 0) + (cached ?? 0)',
  }),
  mutant('cached-pictures-are-counted-twice', GEMINI_TEST, `${USAGE}#keepModalities`, {
    "sum('IMAGE') - cachedImages": "sum('IMAGE')",
  }),
  mutant('thoughts-in-the-total-alone-are-free', GEMINI_TEST, `${USAGE}#keepUnnamed`, {
    'into.unnamedTokens = rest': 'into.unnamedTokens = 0',
  }),
  mutant('figures-of-the-last-event-are-missed', GEMINI_TEST, `${READER}#takeAnswer`, {
    'if (isRecord(usageMetadata)) holdUsage': 'if (isRecord(usageMetadata) && candidates !== undefined) holdUsage',
  }),
  mutant('a-blocked-prompt-is-an-answer', GEMINI_TEST, `${READER}#takeAnswer`, {
    "errorInside(answer) ?? blockedPrompt(answer['promptFeedback'])": 'errorInside(answer)',
  }),
  mutant('the-tier-in-the-header-is-not-read', GEMINI_TEST, READER, {
    'keepServedTier(state.reported, headers[TIER_HEADER])': 'keepServedTier(state.reported, undefined)',
  }),
  mutant('a-signature-of-others-is-not-replaced', REQUESTS_TEST, `${CONTENTS}#modelParts`, {
    'if (mustSign) spare ??= UNSIGNED': '',
  }),
  mutant('each-parallel-call-is-signed', REQUESTS_TEST, `${CONTENTS}#modelParts`, {
    'spare = undefined\n': '',
  }),
  mutant('an-answer-without-a-word-or-an-end-is-whole', GEMINI_TEST, `${READER}#geminiReader`, {
    'state.events.length === 0 && state.finish === undefined': 'state.events.length < 0',
  }),
  mutant('arguments-that-are-no-object-are-lost', GEMINI_TEST, `${READER}#isArguments`, {
    'return !isGiven(args) || isRecord(args)': 'return true || isGiven(args)',
  }),
  mutant('two-calls-have-one-id', IDS_TEST, 'shared/protocols/answers/call-id.ts#callId', {
    "while (ids.has(id)) id += '_'": '',
  }),
  mutant('a-picture-of-a-thought-is-shown', MEDIA_TEST, `${IMAGES}#isPicture`, {
    " && part['thought'] !== true": '',
  }),
  mutant('fewer-pictures-are-made-than-asked', MEDIA_TEST, IMAGES, {
    "if (ask.count > 1) throw invalidMember('n', 'The provider makes one image per call.')": '',
  }),
  mutant('a-blocked-prompt-is-an-answer-without-pictures', MEDIA_TEST, IMAGES, {
    '  failureIn: ({ promptFeedback }) => blockedPrompt(promptFeedback),\n': '',
  }),
  mutant('tokens-are-sent-to-google-as-no-texts', MEDIA_TEST, 'data-plane/wires/embeddings/index.ts', {
    'texts.length === 0 || texts.length > MOST_TRANSLATED': 'texts.length > MOST_TRANSLATED',
  }),
]
