import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const METER_IMAGES = 'data-plane/pipeline/meter/meter-images.ts'
const METER_USAGE = 'data-plane/pipeline/meter/meter-usage.ts'
const USAGE_DIALECTS = 'shared/protocols/answers/usage-dialects.ts'
const REPORTED_USAGE = 'shared/protocols/answers/reported-usage.ts'
const METER_ANSWER = 'data-plane/pipeline/meter/meter-answer.ts'
const METER_UNITS = 'data-plane/pipeline/meter/meter-units.ts'
const DECODER = 'data-plane/wires/forward/decoder.ts'
const SENT_BODY = 'data-plane/wires/forward/sent-body.ts'
const SURCHARGE = 'shared/members/surcharge.ts'
const OF_TEXT = 'shared/members/of-text.ts'
const CATALOG_ITEMS = 'control-plane/services/catalog/catalog-items.ts'
const COSTLY_MEMBERS = 'data-plane/pipeline/plan/costly-members.ts'
const UNKNOWN_MEMBERS = 'data-plane/wires/unknown-members.ts'
const ATTEMPT = 'data-plane/pipeline/attempt/attempt.ts'
const RELAY_WITH_FAILOVER = 'data-plane/pipeline/attempt/relay-with-failover.ts'
const FORWARDED_JOBS = 'data-plane/store/forwarded-jobs.ts'
const PACKAGE_PRICES = 'control-plane/services/catalog/kept/package-prices.ts'
const RESPONSES_READER = 'shared/protocols/responses/reader.ts'

const RESPONSES_PROTOCOL_TEST = tests('wires/responses-protocol')
const RESPONSES_ANSWERS_TEST = tests('wires/responses-answers')
const QUOTE_CALL_TEST = tests('unit/quote-call')
const KEPT_PRICES_TEST = tests('unit/kept-prices')
const REFRESH_TEST = tests('services/catalog-refresh')
const OUTCOMES_TEST = tests('flows/outcomes')
const METER_USAGE_TEST = tests('unit/meter-usage')
const QUOTE_TEST = tests('unit/quote-call')
const SEARCH_TOOLS_TEST = tests('wires/search-tools')
const PRICED_MEMBERS_TEST = tests('wires/priced-members')
const SPEECH_TEST = tests('wires/speech')
const TRANSCRIPTIONS_TEST = tests('wires/transcripts-by-tokens')
const METER_TRANSCRIPT = 'data-plane/pipeline/meter/meter-transcript.ts'
const HEARD_AUDIO = 'shared/heard-audio.ts'
const PRICE_LIST_TEST = tests('unit/price-list')
const USAGE_DIALECTS_TEST = tests('unit/usage-dialects')
const OPEN_ENDED_TEST = tests('wires/open-ended-parts')
const METER_MEDIA_TEST = tests('unit/meter-media')
const COSTLY_MEMBERS_TEST = tests('wires/costly-members')
const FORWARD_ANSWERS_TEST = tests('wires/forward-answers')
const RESOURCES_TEST = tests('unit/resources')
const FORWARD_BODIES_TEST = tests('wires/forward-bodies')
const BUYER_SHARE_TEST = tests('unit/buyer-share')
const DATA_PLANE_STORES_TEST = tests('services/data-plane-stores')
const KEY_MASK_TEST = tests('unit/key-mask')

/** Mistakes in the costs of pictures, sound and calls on lent keys, and in the requests that may reach such keys. */
export const METERING_MUTANTS: readonly Mutant[] = [
  mutant('a-kept-threshold-is-off-by-one', KEPT_PRICES_TEST, `${PACKAGE_PRICES}#linesOf`, {
    'min_prompt_tokens: start': 'min_prompt_tokens: start - 1',
  }),
  mutant('a-kept-tier-moves-the-answer-alone', KEPT_PRICES_TEST, `${PACKAGE_PRICES}#linesOf`, {
    'tiers.set(tier.start,': "if (line === 'completion') tiers.set(tier.start,",
  }),
  mutant(
    'a-dated-price-is-taken-early',
    KEPT_PRICES_TEST,
    'control-plane/services/catalog/kept/kept-models.ts#pricingNow',
    {
      'from === null || from <= at': 'true',
    },
  ),
  mutant('a-missing-price-is-free', KEPT_PRICES_TEST, `${PACKAGE_PRICES}#pricingAt`, {
    "hasNoOutput ? '0' : undefined": "hasNoOutput || true ? '0' : undefined",
  }),
  mutant('a-price-of-a-million-is-of-a-thousand', KEPT_PRICES_TEST, `${PACKAGE_PRICES}#dollarsOf`, {
    'Number(exponent) - power': 'Number(exponent) - 3',
  }),
  mutant('a-large-move-needs-no-yes', REFRESH_TEST, 'control-plane/services/catalog/refresh.ts#isLargeMove', {
    'after > LARGE_FACTOR * before || before > LARGE_FACTOR * after': 'false',
  }),
  mutant(
    'a-long-cache-is-charged-unordered',
    METER_USAGE_TEST,
    'shared/protocols/answers/split-classes.ts#splitClasses',
    {
      'asksLongCache ? Math.min': 'asksLongCache || true ? Math.min',
    },
  ),
  mutant('a-price-list-forgets-its-conditions', PRICE_LIST_TEST, 'shared/price-list.ts#unitPricesFor', {
    'if (holds(when, facts)) ': 'if (holds(when, facts) && when.minPromptTokens === undefined) ',
  }),
  mutant('a-hold-forgets-the-dearest-line', PRICE_LIST_TEST, 'shared/price-list.ts#dearestPrices', {
    'isReached(when, most)': 'isReached(when, { ...most, promptTokens: 0 })',
  }),
  mutant('a-voice-by-tokens-is-held-by-its-text', SPEECH_TEST, 'shared/spoken-text.ts#mostSpokenTokens', {
    'if (isInstructed) return most': '',
  }),
  mutant('a-slow-voice-is-held-as-a-usual-one', SPEECH_TEST, 'shared/spoken-text.ts#mostSpokenTokens', {
    ' / Math.min(1, speed)': '',
  }),
  mutant('a-voice-is-charged-above-its-hold', SPEECH_TEST, 'data-plane/pipeline/meter/meter-speech.ts#meterSpeech', {
    'Math.min(outputTokens ?? likelySpokenTokens(text), most)': 'outputTokens ?? likelySpokenTokens(text)',
  }),
  mutant(
    'a-voice-does-not-say-its-tokens',
    SPEECH_TEST,
    'data-plane/wires/speech/audio-from-events.ts#audioFromEvents',
    {
      'mergeUsage(state.reported, usage)': 'void mergeUsage',
    },
  ),
  mutant('words-about-a-voice-are-free', SPEECH_TEST, 'data-plane/wires/speech/read-request.ts#spokenText', {
    ' + Buffer.byteLength(about)': '',
  }),
  mutant('a-region-is-charged-that-nobody-served', METER_USAGE_TEST, `${METER_USAGE}#servedFacts`, {
    'reportedRegion === regionInRequest || reportedRegion === NO_REGION ? regionInRequest : undefined':
      'regionInRequest',
  }),
  mutant('a-region-is-charged-unasked', METER_USAGE_TEST, `${METER_USAGE}#servedFacts`, {
    'reportedRegion === regionInRequest || reportedRegion === NO_REGION ? regionInRequest : undefined':
      'reportedRegion',
  }),
  mutant('an-unasked-search-costs-the-usual-fee', METER_USAGE_TEST, `${METER_USAGE}#servedFacts`, {
    'askedSearchContext(needs.costly) ?? contextInAnswer': 'askedSearchContext(needs.costly)',
  }),
  mutant('a-transcript-is-charged-above-its-hold', TRANSCRIPTIONS_TEST, `${METER_TRANSCRIPT}#meterTranscript`, {
    'audioInput: Math.min(heardTokens.audioInput, most.audioInput)': 'audioInput: heardTokens.audioInput',
  }),
  mutant('sound-is-priced-as-text', TRANSCRIPTIONS_TEST, `${METER_TRANSCRIPT}#givenTokens`, {
    'return { input: inputTokens - audioInput, audioInput, output }':
      'return { input: inputTokens, audioInput: 0 * audioInput, output }',
  }),
  mutant(
    'a-transcript-does-not-say-its-tokens',
    TRANSCRIPTIONS_TEST,
    'data-plane/wires/transcriptions/heard-usage.ts#mergeHeard',
    { 'mergeUsage(into, usage)': 'void mergeUsage' },
  ),
  mutant(
    'a-transcript-by-tokens-is-held-by-the-minute',
    TRANSCRIPTIONS_TEST,
    'data-plane/pipeline/plan/quote-call.ts#boundOf',
    { 'if (bounds.audio !== undefined && isHeardByTokens(target.price.unitPrices)) {': 'if (!isHeardByTokens) {' },
  ),
  mutant('a-long-prompt-of-a-transcript-is-free', TRANSCRIPTIONS_TEST, `${HEARD_AUDIO}#mostHeardTokens`, {
    'const text = promptBytes + FRAME_TOKENS': 'const text = 0 * promptBytes + FRAME_TOKENS',
  }),
  mutant('a-recording-in-pieces-is-held-as-one', TRANSCRIPTIONS_TEST, `${HEARD_AUDIO}#mostHeardTokens`, {
    'if (!isCut) {': 'if (!isCut || true) {',
  }),
  mutant('a-least-time-is-not-charged', METER_MEDIA_TEST, `${METER_UNITS}#meterUnits`, {
    'const usage = billedUsage(price, used)': 'const usage = used',
  }),
  mutant('a-hold-forgets-the-least-time', QUOTE_CALL_TEST, 'data-plane/pipeline/plan/quote-call.ts#boundOf', {
    'bounds.units && billedUsage(target.price, bounds.units.most)': 'bounds.units?.most',
  }),
  mutant('a-hold-takes-the-usual-search', QUOTE_CALL_TEST, 'shared/price-list.ts#isReached', {
    'searchContext === undefined || most.searchContext !== undefined ?': 'true ?',
  }),
  mutant('a-search-of-any-size-has-a-price', PRICED_MEMBERS_TEST, `${SURCHARGE}#isCovered`, {
    '(searchContext === undefined ||': '(searchContext !== undefined ||',
  }),
  mutant('a-region-has-the-price-of-any', PRICED_MEMBERS_TEST, `${SURCHARGE}#isCovered`, {
    'return region !== undefined && hasLine(askedService) && hasLine({ tier: undefined, region })':
      'return region !== undefined',
  }),
  mutant('a-region-is-sold-from-anywhere', PRICED_MEMBERS_TEST, `${COSTLY_MEMBERS}#isKeptFrom`, {
    'return region !== undefined && protocolOf(offer).chat?.saysRegion !== true': 'return false',
  }),
  mutant('a-region-needs-no-line-for-long-prompts', PRICE_LIST_TEST, `${CATALOG_ITEMS}#lacksRegion`, {
    '!FEES.has(name) && !covered.has(name)': 'false',
  }),
  mutant(
    'a-large-picture-has-the-price-of-a-small-one',
    PRICED_MEMBERS_TEST,
    'data-plane/pipeline/plan/check-picture.ts#checkPicture',
    { 'if (!isOpen && (isPlain || isPriced)) return': 'if (!isOpen) return' },
  ),
  mutant('a-quality-costs-nothing', METER_MEDIA_TEST, `${METER_IMAGES}#meterImages`, {
    'plan.target.price.overrides === undefined ? undefined : pricedPicture(plan.target, images)': 'undefined',
  }),
  mutant('a-cache-by-the-hour-goes-on', PRICED_MEMBERS_TEST, `${OF_TEXT}#CHAT_MEMBERS`, {
    '  ...CACHES,\n': '',
  }),
  mutant('a-window-includes-its-end', PRICE_LIST_TEST, 'shared/price-list.ts#isTime', {
    'minute >= start && minute < end': 'minute >= start && minute <= end',
  }),
  mutant('a-threshold-excludes-its-number', PRICE_LIST_TEST, 'shared/price-list.ts#holds', {
    'facts.promptTokens < minPromptTokens': 'facts.promptTokens <= minPromptTokens',
  }),
  mutant('each-exchange-is-priced-by-the-sum', PRICE_LIST_TEST, 'data-plane/pipeline/meter/bill-usage.ts#billUsage', {
    'each ?? [usage]': '[usage]',
  }),
  mutant('a-last-event-gives-no-usage', RESPONSES_ANSWERS_TEST, `${RESPONSES_READER}#takeEnd`, {
    'mergeAnswerUsage(state.reported, response)': '',
  }),
  mutant('an-answer-cut-at-its-limit-is-a-failure', RESPONSES_ANSWERS_TEST, `${RESPONSES_READER}#takeEnd`, {
    "if (status === 'failed' ||": "if (status === 'incomplete' || status === 'failed' ||",
  }),
  mutant('a-failure-in-a-good-answer-is-sold', RESPONSES_ANSWERS_TEST, `${RESPONSES_READER}#takeEnd`, {
    'state.failure ??= errorInside(isGiven(error) ? { error } : response)': 'void isGiven(error)',
    "if (status === 'failed' || status === 'cancelled' || type === 'response.failed') {":
      "if (status === 'cancelled') {",
  }),
  mutant('a-served-tier-is-not-read', RESPONSES_ANSWERS_TEST, `${REPORTED_USAGE}#keepServedTier`, {
    'if (isServedWord(tier)) into.serviceTier = tier': 'void isServedWord(tier)',
  }),
  mutant('a-long-last-event-is-lost', RESPONSES_ANSWERS_TEST, `${RESPONSES_READER}#readerOf`, {
    ', MAX_RESPONSE_EVENT_CHARS)': ')',
  }),
  mutant('a-thought-goes-to-another-account', RESPONSES_PROTOCOL_TEST, 'data-plane/wires/maker-of.ts#makerOf', {
    'if (chatCodecOf(offer).isReadByAccount !== true) return provider': 'return provider',
  }),
  mutant('a-raised-limit-is-not-held', QUOTE_CALL_TEST, 'data-plane/pipeline/plan/quote-call.ts#quoteCall', {
    'isRaised(bound, offers, maxCostMicro) ?': 'false ?',
  }),
  mutant('a-limit-is-raised-above-the-hold', QUOTE_CALL_TEST, 'data-plane/pipeline/plan/quote-call.ts#limitWithin', {
    'return isCovered ? least : undefined': 'return least',
  }),
  mutant('a-member-without-a-price-is-covered', COSTLY_MEMBERS_TEST, `${SURCHARGE}#isCovered`, {
    'return INCLUDED_WHERE_LISTED.has(surcharge) && model.parameters.includes(param)': 'return true',
  }),
  mutant('a-better-picture-costs-a-piece', COSTLY_MEMBERS_TEST, `${SURCHARGE}#isCovered`, {
    'unitPrices.images === undefined ||': 'unitPrices.images !== undefined ||',
  }),
  mutant('a-long-cache-is-a-short-one', COSTLY_MEMBERS_TEST, `${OF_TEXT}#cacheMarkCost`, {
    "if (ttl !== undefined && ttl !== PLAIN_CACHE[name]) return 'cache_write_long'": '',
  }),
  mutant('a-search-is-free', METER_USAGE_TEST, `${METER_USAGE}#meterTokens`, {
    'const usage = searches === 0 ? tokens : { ...tokens, searches }': 'const usage = tokens',
  }),
  mutant('a-search-is-charged-above-its-hold', METER_USAGE_TEST, `${METER_USAGE}#countSearches`, {
    'return Math.min(searchCount, most)': 'return most === 0 ? 0 : searchCount',
  }),
  mutant(
    'a-search-is-charged-without-a-price',
    METER_USAGE_TEST,
    'data-plane/pipeline/meter/clip-usage.ts#paidSearches',
    {
      'if (prices.searches === undefined) return 0': '',
    },
  ),
  mutant('a-hold-forgets-searches', QUOTE_TEST, 'data-plane/pipeline/plan/quote-call.ts#boundOf', {
    'searches === 0 ? most : { ...most, searches: searches * calls }': 'most',
  }),
  mutant('a-search-without-a-bound-goes-on', SEARCH_TOOLS_TEST, 'data-plane/wires/messages/same-protocol.ts#ownTools', {
    'isUnbounded(tool) ? { ...tool, max_uses: usesOf(tool) } : tool': 'tool',
  }),
  mutant('a-deep-search-costs-a-plain-one', PRICED_MEMBERS_TEST, `${OF_TEXT}#searchCost`, {
    "|| (searchContext === undefined && isGiven(size))) return 'deep_search'": ") return 'deep_search'",
  }),
  mutant('a-seller-is-not-asked', COSTLY_MEMBERS_TEST, `${COSTLY_MEMBERS}#isKeptFrom`, {
    'if (word !== undefined && !allows(offer, word)) return true': 'void word',
  }),
  mutant('a-member-that-nobody-knows-goes-on', COSTLY_MEMBERS_TEST, `${UNKNOWN_MEMBERS}#leftOutFor`, {
    "unknown.size === 0 || allows(offer, 'unknown') ?": 'true ?',
  }),
  mutant('an-open-area-is-that-of-one-picture', METER_MEDIA_TEST, `${METER_IMAGES}#openArea`, {
    'Math.min(pixels, pixelsOf(images) * count)': 'Math.min(pixels, pixelsOf(images))',
  }),
  mutant('pictures-that-nobody-asked-for-are-charged', METER_MEDIA_TEST, `${METER_IMAGES}#meterImages`, {
    'Math.min(reported.images ?? 0, images.count)': '(reported.images ?? 0)',
  }),
  mutant('a-partial-picture-is-a-piece', METER_MEDIA_TEST, `${METER_IMAGES}#meterImages`, {
    'const isShown = count > 0 || (isByToken && partials > 0)':
      'const isShown = isByToken || count > 0 || partials > 0',
  }),
  mutant('tokens-of-pictures-have-no-bound', METER_MEDIA_TEST, `${METER_IMAGES}#tokenUsage`, {
    'const output = Math.min(given, most)': 'const output = given',
  }),
  mutant('pictures-are-more-than-the-whole-output', METER_MEDIA_TEST, `${METER_IMAGES}#tokenUsage`, {
    'Math.min(reported.imageOutputTokens ?? output, output)': 'reported.imageOutputTokens ?? output',
  }),
  mutant('pictures-are-more-than-the-whole-input', METER_MEDIA_TEST, `${METER_IMAGES}#tokenUsage`, {
    'Math.min(reported.imageInputTokens ?? 0, input)': 'reported.imageInputTokens ?? 0',
  }),
  mutant('what-stands-beside-the-time-of-sound-is-free', METER_MEDIA_TEST, `${METER_UNITS}#meterUnits`, {
    '            ...least,\n': '',
  }),
  mutant('sound-is-as-long-as-its-provider-says', METER_MEDIA_TEST, `${METER_UNITS}#clippedTime`, {
    'return Math.min(reportedMs ?? least, most)': 'return most > 0 ? (reportedMs ?? least) : 0',
  }),
  mutant('hidden-thoughts-are-free', METER_USAGE_TEST, `${METER_USAGE}#meterTokens`, {
    'contentBytes === 0 && !hasOutput(reportedUsage)': 'contentBytes === 0',
  }),
  mutant('an-answer-of-nothing-is-charged', METER_USAGE_TEST, `${METER_USAGE}#meterTokens`, {
    'contentBytes === 0 && !hasOutput(reportedUsage)': 'contentBytes < 0 && !hasOutput(reportedUsage)',
  }),
  mutant('a-billed-answer-is-asked-for-again', OUTCOMES_TEST, `${RELAY_WITH_FAILOVER}#isFinal`, {
    'return isBilled(plan, demand, decoder.ending())': 'return false',
  }),
  mutant('who-leaves-before-the-answer-pays-nothing', OUTCOMES_TEST, `${ATTEMPT}#buyerLeft`, {
    'run.lingerUntil === 0 && plane.process.drains.count < maxDrains':
      'run.pieces > 0 && run.lingerUntil === 0 && plane.process.drains.count < maxDrains',
  }),
  mutant('rounding-is-a-difference-of-cost', METER_USAGE_TEST, 'data-plane/pipeline/meter/own-cost.ts', {
    'apart > PICO_PER_MICRO && ': '',
  }),
  mutant('a-tick-of-own-cost-is-a-cent-of-another', USAGE_DIALECTS_TEST, USAGE_DIALECTS, {
    "place: ['cost_in_usd_ticks'], picoAUnit: 100 }": "place: ['cost_in_usd_ticks'], picoAUnit: 1_000_000 }",
  }),
  mutant('the-own-cost-of-half-a-call-is-its-whole', METER_USAGE_TEST, `${METER_USAGE}#sumOwnCosts`, {
    'return {}': 'continue',
  }),
  mutant('hidden-thoughts-have-no-bound', METER_USAGE_TEST, `${METER_USAGE}#clipOutput`, {
    'const bound = isHidden ? limit :': 'const bound = isHidden ? given :',
  }),
  mutant('rejected-predictions-are-free', METER_USAGE_TEST, `${METER_USAGE}#clipOutput`, {
    'reasons(plan) || demand.bounds.isPredicted === true': 'reasons(plan)',
  }),
  mutant('thoughts-beside-the-output-are-free', USAGE_DIALECTS_TEST, `${REPORTED_USAGE}#placeRest`, {
    'outputTokens + Math.min(rest, reasoningTokens)': 'outputTokens',
  }),
  mutant('thoughts-within-the-output-count-twice', USAGE_DIALECTS_TEST, `${REPORTED_USAGE}#placeRest`, {
    'outputTokens + Math.min(rest, reasoningTokens)': 'outputTokens + reasoningTokens',
  }),
  mutant('thoughts-that-only-the-total-counts-are-free', METER_USAGE_TEST, `${METER_USAGE}#withThoughts`, {
    'outputTokens: outputTokens + unnamedTokens': 'outputTokens',
  }),
  mutant('caches-beside-the-prompt-are-free', USAGE_DIALECTS_TEST, `${REPORTED_USAGE}#placeRest`, {
    'counts.inputTokens = inputTokens + caches': 'counts.inputTokens = inputTokens',
  }),
  mutant('parts-of-a-cache-write-are-free', USAGE_DIALECTS_TEST, `${REPORTED_USAGE}#takeCounts`, {
    'if (parts > cacheWriteTokens) counts.cacheWriteTokens = parts': 'void parts',
  }),
  mutant('a-zero-hides-the-cached-tokens', USAGE_DIALECTS_TEST, `${REPORTED_USAGE}#takeBranch`, {
    '(other === undefined || count > other)': 'other === undefined',
  }),
  mutant('a-last-frame-of-zeros-makes-an-answer-free', USAGE_DIALECTS_TEST, `${REPORTED_USAGE}#mergeUsage`, {
    'counts.outputTokens === 0 && hasOutput(into)': 'counts.outputTokens === 0 && into.insaneFields < 0',
  }),
  mutant('a-document-costs-its-address', METER_USAGE_TEST, 'data-plane/pipeline/meter/clip-usage.ts#readableInput', {
    'isOpenEnded ? window :': 'isOpenEnded && window < 0 ? window :',
  }),
  mutant('a-film-with-words-is-words', OPEN_ENDED_TEST, 'data-plane/wires/chat/messages.ts#checkParts', {
    '      content.isOpenEnded = true\n': "      if (typeof text !== 'string') content.isOpenEnded = true\n",
  }),
  mutant('a-document-in-the-place-of-an-image-is-an-image', OPEN_ENDED_TEST, 'data-plane/wires/content.ts#noteSource', {
    'content.isOpenEnded = true': '',
  }),
  mutant('sound-that-did-not-come-is-charged', METER_MEDIA_TEST, `${METER_ANSWER}#meterAnswer`, {
    'if (contentBytes === 0) return': 'if (contentBytes < 0) return',
  }),
  mutant('a-sale-that-says-it-failed-is-charged', FORWARD_ANSWERS_TEST, `${DECODER}#read`, {
    "else if (kind === 'sale' && state === 'failed') passing.failure = FAILED": '',
  }),
  mutant('an-event-that-says-it-failed-is-charged', FORWARD_ANSWERS_TEST, `${DECODER}#readEvent`, {
    "if (kind === 'sale' && stateOf(match.route, givenAnswer) === 'failed') passing.failure = FAILED": '',
  }),
  mutant('an-estimate-is-above-the-quote', FORWARD_ANSWERS_TEST, `${DECODER}#usageOf`, {
    'chargeableUnits(good, quoted, reported ?? estimate)': 'reported ?? estimate ?? quoted',
  }),
  mutant('what-nobody-has-read-has-no-content', FORWARD_ANSWERS_TEST, `${DECODER}#takePiece`, {
    '  passing.content = undefined\n': '',
  }),
  mutant('a-part-of-the-usage-is-all-of-it', RESOURCES_TEST, 'shared/resources/quote-resource.ts#reportedUnits', {
    'return { ...Object.fromEntries(rest), ...units }': 'return rest.length < 0 ? quoted : units',
  }),
  mutant('a-limit-that-is-priced-is-not-sent', FORWARD_BODIES_TEST, `${SENT_BODY}#filledFor`, {
    'pieces: piecesOf(json.text, json), filled': 'pieces: sent.pieces, filled',
  }),
  mutant('a-body-that-is-not-read-is-sold', FORWARD_BODIES_TEST, `${SENT_BODY}#readBody`, {
    'if (isLookedInto) throw unreadable()': 'void isLookedInto',
  }),
  mutant('a-member-in-capitals-costs-nothing', FORWARD_BODIES_TEST, 'shared/rules/names-read.ts#findNamesake', {
    'folded.has(fold(name)) ? name : undefined': 'folded.has(fold(name)) ? undefined : undefined',
  }),
  mutant(
    'the-share-of-a-buyer-stays-taken-where-the-cap-is-full',
    BUYER_SHARE_TEST,
    `${RELAY_WITH_FAILOVER}#relayWithFailover`,
    {
      // Gives back the amount of the next attempt, which has taken nothing of the cap.
      'attempts.length}`, ZERO)\n      continue': 'attempts.length + 1}`, ZERO)\n      continue',
    },
  ),
  mutant('a-job-goes-to-whoever-is-told-its-id-last', DATA_PLANE_STORES_TEST, `${FORWARDED_JOBS}#put`, {
    "JSON.stringify(binding), 'PX', JOB_BINDING_MS, 'NX').get(place)":
      "JSON.stringify(binding), 'PX', JOB_BINDING_MS).get(place)",
  }),
  mutant('a-key-in-pieces-goes-on', KEY_MASK_TEST, 'data-plane/upstream/key-mask.ts#push', {
    'open = Math.max(open, bytes.length - maxBytes)': 'open = Math.max(open, bytes.length)',
  }),
]
