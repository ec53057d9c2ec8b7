import type { TestMutant } from './test-mutant.ts'

const IMAGES = 'data-plane/pipeline/meter/meter-images.ts'
const UNITS = 'data-plane/pipeline/meter/meter-units.ts'
const DECODER = 'data-plane/wires/forward/decoder.ts'
const BODY = 'data-plane/wires/forward/sent-body.ts'
const QUOTE = 'shared/resources/quote-resource.ts'

/** Mistakes in what pictures and sound cost. */
const MEDIA: readonly TestMutant[] = [
  {
    name: 'an-open-area-is-that-of-one-picture',
    file: IMAGES,
    find: 'Math.min(pixels, pixelsOf(images) * count)',
    replace: 'Math.min(pixels, pixelsOf(images))',
    caughtBy: 'unit/meter-media',
  },
  {
    name: 'pictures-that-nobody-asked-for-are-charged',
    file: IMAGES,
    find: 'Math.min(reported.images ?? 0, images.count)',
    replace: '(reported.images ?? 0)',
    caughtBy: 'unit/meter-media',
  },
  {
    name: 'a-partial-picture-is-a-piece',
    file: IMAGES,
    find: 'const isShown = count > 0 || (isByToken && partials > 0)',
    replace: 'const isShown = isByToken || count > 0 || partials > 0',
    caughtBy: 'unit/meter-media',
  },
  {
    name: 'tokens-of-pictures-have-no-bound',
    file: IMAGES,
    find: 'const output = Math.min(given, most)',
    replace: 'const output = given',
    caughtBy: 'unit/meter-media',
  },
  {
    name: 'pictures-are-more-than-the-whole-output',
    file: IMAGES,
    find: 'Math.min(reported.imageOutputTokens ?? output, output)',
    replace: 'reported.imageOutputTokens ?? output',
    caughtBy: 'unit/meter-media',
  },
  {
    name: 'pictures-are-more-than-the-whole-input',
    file: IMAGES,
    find: 'Math.min(reported.imageInputTokens ?? 0, input)',
    replace: 'reported.imageInputTokens ?? 0',
    caughtBy: 'unit/meter-media',
  },
  {
    name: 'what-stands-beside-the-time-of-sound-is-free',
    file: UNITS,
    find: '          ...least,\n',
    replace: '',
    caughtBy: 'unit/meter-media',
  },
  {
    name: 'sound-is-as-long-as-its-provider-says',
    file: UNITS,
    find: 'return Math.min(given ?? least, most)',
    replace: 'return most > 0 ? (given ?? least) : 0',
    caughtBy: 'unit/meter-media',
  },
  {
    name: 'sound-that-did-not-come-is-charged',
    file: UNITS,
    find: 'if (ending.contentBytes === 0) return',
    replace: 'if (ending.contentBytes < 0) return',
    caughtBy: 'unit/meter-media',
  },
]

/** Mistakes in what calls on lent keys cost, and in what is let through to them. */
const FORWARDED: readonly TestMutant[] = [
  {
    name: 'a-sale-that-says-it-failed-is-charged',
    file: DECODER,
    find: "else if (kind === 'sale' && state === 'failed') passing.failure = FAILED",
    replace: '',
    caughtBy: 'wires/forward-answers',
  },
  {
    name: 'an-event-that-says-it-failed-is-charged',
    file: DECODER,
    find: "if (kind === 'sale' && stateOf(found.route, given) === 'failed') passing.failure = FAILED",
    replace: '',
    caughtBy: 'wires/forward-answers',
  },
  {
    name: 'an-estimate-is-above-the-quote',
    file: DECODER,
    find: 'chargeableUnits(good, quoted, reported ?? estimate)',
    replace: 'reported ?? estimate ?? quoted',
    caughtBy: 'wires/forward-answers',
  },
  {
    name: 'what-nobody-has-read-has-no-content',
    file: DECODER,
    find: '  passing.content = undefined\n',
    replace: '',
    caughtBy: 'wires/forward-answers',
  },
  {
    name: 'a-part-of-the-usage-is-all-of-it',
    file: QUOTE,
    find: 'return { ...Object.fromEntries(rest), ...units }',
    replace: 'return rest.length < 0 ? quoted : units',
    caughtBy: 'unit/resources',
  },
  {
    name: 'a-limit-that-is-priced-is-not-sent',
    file: BODY,
    find: 'pieces: piecesOf(json.text, json), filled',
    replace: 'pieces: sent.pieces, filled',
    caughtBy: 'wires/forward-bodies',
  },
  {
    name: 'a-body-that-is-not-read-is-sold',
    file: BODY,
    find: 'if (isLookedInto) throw unreadable()',
    replace: 'void isLookedInto',
    caughtBy: 'wires/forward-bodies',
  },
  {
    name: 'a-member-in-capitals-costs-nothing',
    file: 'shared/rules/names-read.ts',
    find: 'folded.has(fold(name)) ? name : undefined',
    replace: 'folded.has(fold(name)) ? undefined : undefined',
    caughtBy: 'wires/forward-bodies',
  },
  {
    name: 'the-share-of-a-buyer-stays-taken-where-the-cap-is-full',
    file: 'data-plane/pipeline/attempt/relay-with-failover.ts',
    find: 'attempts.length}`, ZERO)\n      continue',
    // An attempt that did not take it.
    replace: 'attempts.length + 1}`, ZERO)\n      continue',
    caughtBy: 'unit/buyer-share',
  },
  {
    name: 'a-job-goes-to-whoever-is-told-its-id-last',
    file: 'data-plane/store/forwarded-jobs.ts',
    find: "JSON.stringify(binding), 'PX', JOB_BINDING_MS, 'NX').get(place)",
    replace: "JSON.stringify(binding), 'PX', JOB_BINDING_MS).get(place)",
    caughtBy: 'services/data-plane-stores',
  },
  {
    name: 'a-key-in-pieces-goes-on',
    file: 'data-plane/upstream/key-mask.ts',
    find: 'open = Math.max(open, bytes.length - maxBytes)',
    replace: 'open = Math.max(open, bytes.length)',
    caughtBy: 'unit/key-mask',
  },
]

/** Mistakes in the metering of media and of forwarded calls. */
export const METERING_MUTANTS: readonly TestMutant[] = [...MEDIA, ...FORWARDED]
