import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const SHORT_WAY = 'data-plane/wires/responses/same-protocol'
const ITEMS = `${SHORT_WAY}/passed-items.ts`
const TOOLS = `${SHORT_WAY}/passed-tools.ts`
const REQUEST = `${SHORT_WAY}/request.ts`
const WRITER = `${SHORT_WAY}/writer.ts`
const FORM = 'shared/protocols/responses-form.ts'
const READER = 'shared/protocols/responses/reader.ts'
const SOUND = 'shared/protocols/responses/sound-item.ts'

const REQUEST_TEST = tests('wires/responses-same-protocol-requests')
const ANSWER_TEST = tests('wires/responses-same-protocol')

/**
 * Mistakes on the short path to sellers of responses: in the request that a seller receives, and in the answer that a
 * buyer sees.
 */
export const RESPONSES_MUTANTS: readonly Mutant[] = [
  mutant('a-tool-that-runs-at-the-provider-passes', REQUEST_TEST, TOOLS, {
    "'local_shell', 'apply_patch'])": "'local_shell', 'apply_patch', 'web_search'])",
  }),
  mutant('a-shell-of-the-provider-passes', REQUEST_TEST, `${TOOLS}#isPassedTool`, {
    "if (type === 'shell') return isRecord(environment) && environment['type'] === 'local'":
      "if (type === 'shell') return isRecord(environment)",
  }),
  mutant('a-search-for-tools-at-the-provider-passes', REQUEST_TEST, `${TOOLS}#isPassedTool`, {
    "if (type === SEARCH) return execution === 'client'": 'if (type === SEARCH) return true',
  }),
  mutant('a-tool-waits-for-a-search-that-has-gone', REQUEST_TEST, `${TOOLS}#passedTools`, {
    'kept: isWaiting ? passedEntries.map(withoutDeferral) : passedEntries': 'kept: passedEntries',
  }),
  mutant('a-tool-in-a-group-is-not-looked-at', REQUEST_TEST, `${TOOLS}#isPassedTool`, {
    "tools.every((inner) => isRecord(inner) && DESCRIBED.has(inner['type']) && isPassedTool(inner))":
      'tools.length > 0',
  }),
  mutant('a-tool-in-an-item-is-not-looked-at', REQUEST_TEST, `${ITEMS}#isOwn`, {
    'if (isGiven(tools) && !(Array.isArray(tools) && tools.every(isPassedTool))) return false': '',
  }),
  mutant('a-call-in-a-remote-environment-passes', REQUEST_TEST, `${ITEMS}#isOwn`, {
    'member === undefined || (isGiven(environment) && !isLocal(environment))': 'member === undefined',
  }),
  mutant('an-item-that-nobody-knows-passes', REQUEST_TEST, `${ITEMS}#isOwn`, {
    'if (member === undefined ||': "if (member === '?' ||",
    'const content = item[member]': "const content = item[member ?? '']",
  }),
  mutant('a-part-that-nobody-knows-passes', REQUEST_TEST, `${ITEMS}#isOwn`, {
    "partTypes.has(part['type']) && ": '',
  }),
  mutant('parts-that-nobody-counts-pass', REQUEST_TEST, `${ITEMS}#isOwn`, {
    'if (hasStray) return false': 'void hasStray',
  }),
  mutant('a-member-that-nobody-knows-passes-to-every-seller', REQUEST_TEST, `${REQUEST}#encodeResponsesRequest`, {
    ' && !unknown.has(key)': '',
  }),
  mutant('a-member-of-an-item-that-nobody-knows-passes', REQUEST_TEST, `${ITEMS}#editedItem`, {
    'hasOnly(item, MEMBERS) && parts': 'parts',
  }),
  mutant('a-member-of-a-part-that-nobody-knows-passes', REQUEST_TEST, `${ITEMS}#editedItem`, {
    'parts.every((part) => isRecord(part) && hasOnly(part, PART_MEMBERS))': 'parts.length >= 0',
  }),
  mutant('a-mark-of-a-cache-on-an-item-passes', REQUEST_TEST, `${ITEMS}#isOwn`, {
    'if (!isRecord(item) || hasCacheMark(item)) return false': 'if (!isRecord(item)) return false',
    ' && !hasCacheMark(part))': ')',
  }),
  mutant('a-mark-of-a-cache-on-a-tool-passes', REQUEST_TEST, `${TOOLS}#isPassedTool`, {
    'if (!isRecord(tool) || hasCacheMark(tool)) return false': 'if (!isRecord(tool)) return false',
  }),
  mutant('a-thought-of-another-account-is-sent', REQUEST_TEST, `${ITEMS}#openedThought`, {
    'openedSeal?.maker === makerOf(offer)': 'openedSeal !== undefined',
  }),
  mutant('a-thought-that-we-have-not-sealed-is-sent', REQUEST_TEST, `${ITEMS}#openedThought`, {
    'encryptedIn({ details: openedSeal.content.details ?? [] }) : []':
      "encryptedIn({ details: openedSeal.content.details ?? [] }) : openedSeal === undefined && typeof sealed === 'string' ? [sealed] : []",
  }),
  mutant('a-seal-in-an-id-is-sent', REQUEST_TEST, `${ITEMS}#editedItem`, {
    "edited['call_id'] = shortId(own)": "edited['call_id'] = seal === undefined ? shortId(own) : callId",
  }),
  mutant('the-output-limit-of-a-response-is-not-written', REQUEST_TEST, `${FORM}#fixedMembers`, {
    'max_output_tokens: maxOutputTokens,': '',
  }),
  mutant('the-output-limit-of-a-response-is-the-buyers', REQUEST_TEST, `${REQUEST}#encodeResponsesRequest`, {
    'fixedMembers(plan, conversation.isStreamed)':
      'fixedMembers({ ...plan, maxOutputTokens: conversation.maxTokens ?? plan.maxOutputTokens }, conversation.isStreamed)',
  }),
  mutant('a-provider-keeps-what-it-answers', REQUEST_TEST, `${FORM}#fixedMembers`, {
    'store: false,': '',
  }),
  mutant('a-response-is-asked-of-the-buyers-name', REQUEST_TEST, `${REQUEST}#encodeResponsesRequest`, {
    'JSON.stringify(plan.offer.providerModel)': "JSON.stringify(body['model'])",
  }),
  mutant('a-tier-of-the-buyer-is-always-sent', REQUEST_TEST, `${REQUEST}#memberFor`, {
    'return conversation.serviceTier === undefined ? undefined : text': 'return text',
  }),
  mutant('a-choice-of-a-tool-that-is-left-out-is-sent', REQUEST_TEST, `${REQUEST}#memberFor`, {
    "if (isChoiceAmong(body[key], keptTools(body['tools']))) return text": 'if (body !== undefined) return text',
  }),
  mutant('events-before-the-first-content-are-sent', ANSWER_TEST, `${WRITER}#ownWriter`, {
    "return state.hasContent ? takeOut(state) : ''": 'return takeOut(state)',
  }),
  mutant('a-call-of-the-buyers-shell-is-no-content', ANSWER_TEST, `${READER}#otherBytes`, {
    'return isOther ? Buffer.byteLength(JSON.stringify(item)) : 0': 'return 0',
  }),
  mutant('usage-in-the-last-event-is-ignored', ANSWER_TEST, `${READER}#takeEnd`, {
    'mergeAnswerUsage(state.reported, response)': '',
  }),
  mutant('a-response-that-has-failed-is-an-answer', ANSWER_TEST, `${READER}#takeEnd`, {
    "status === 'failed' || status === 'cancelled' || type === 'response.failed'": "status === 'cancelled'",
  }),
  mutant('an-item-that-nobody-can-read-is-shown', ANSWER_TEST, `${READER}#ownResponsesReader`, {
    'isItem && !isSoundItem(item)': 'isItem && item === undefined',
  }),
  mutant('a-call-without-a-name-is-sound', ANSWER_TEST, `${SOUND}#isSoundItem`, {
    "if (!texts.every((name) => typeof item[name] === 'string')) return false": '',
  }),
  mutant('a-part-without-a-text-is-sound', ANSWER_TEST, `${SOUND}#isSoundPart`, {
    "(text === undefined || typeof part[text] === 'string') && ": '',
  }),
  mutant('a-thought-is-shown-as-its-maker-sealed-it', ANSWER_TEST, `${WRITER}#shownItem`, {
    'isDone && wantsSealed ? plan.seal.close(makerOf(plan.offer), thought) : null':
      'isDone && wantsSealed ? encrypted : null',
  }),
  mutant('a-thought-is-shown-before-it-is-sealed', ANSWER_TEST, `${WRITER}#shownItem`, {
    'plan.seal.close(makerOf(plan.offer), thought) : null':
      'plan.seal.close(makerOf(plan.offer), thought) : isDone ? null : encrypted',
  }),
  mutant('a-response-that-was-stopped-is-complete', ANSWER_TEST, `${WRITER}#ownWriter`, {
    "isCut ? 'incomplete' : 'completed'": "'completed'",
  }),
  mutant('events-of-others-go-on', ANSWER_TEST, `${WRITER}#takeOwn`, {
    'if (!PASSED.test(type)) {': "if (type === 'response.completed') {",
  }),
]
