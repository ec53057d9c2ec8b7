import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const COST_TEST = tests('services/probe-cost')
const USAGE = 'control-plane/ports/provider/probed-usage.ts'
const COST = 'control-plane/services/providers/probe-cost.ts#priceOfProbes'
const FACTS = 'control-plane/services/providers/model-facts.ts'
const LISTING = 'control-plane/services/offers/probe-listing.ts#probeListing'

/** Mistakes in the cost of a test call that a seller sees. */
export const PROBE_MUTANTS: readonly Mutant[] = [
  mutant('a-free-question-is-charged', COST_TEST, `${USAGE}#probedUsage`, {
    'maxOutputTokens === null || status >= 400': 'false',
    'const { maxOutputTokens } = question': 'const maxOutputTokens = question.maxOutputTokens ?? 0',
  }),
  mutant('the-usage-of-an-answer-is-ignored', COST_TEST, `${USAGE}#probedUsage`, {
    'reportedUsage.inputTokens ?? Buffer.byteLength(body)': 'Buffer.byteLength(body)',
  }),
  mutant('the-output-of-a-silent-answer-is-free', COST_TEST, `${USAGE}#probedUsage`, {
    ': maxOutputTokens\n': ': 0\n',
  }),
  mutant('a-test-call-has-the-price-of-another-model', COST_TEST, `${FACTS}#readModelFacts`, {
    'prices.get(model.id)': '[...prices.values()][0]',
    'at, ids)': 'at)',
  }),
  mutant('an-unknown-price-is-zero', COST_TEST, COST, {
    'if (price === undefined) return null': 'if (price === undefined) return ZERO',
  }),
  mutant('a-price-for-the-call-is-left-out', COST_TEST, COST, {
    '{ ...usage, calls: 1 }': 'usage',
  }),
  mutant('only-the-first-test-call-is-counted', COST_TEST, LISTING, {
    'add(cost, probePrice)': 'at === 0 ? probePrice : cost',
  }),
  mutant('test-calls-cost-without-bound', COST_TEST, LISTING, {
    'add(further, most) <= MAX_FURTHER_COST': 'true',
  }),
  mutant('a-refused-endpoint-is-sold', COST_TEST, LISTING, {
    'if (isRefused) without.push(endpoint)': 'if (isRefused) void endpoint',
  }),
  mutant('a-key-that-is-refused-later-is-listed', COST_TEST, LISTING, {
    'probeResult.isOfKey === true || ': '',
  }),
  mutant('a-test-call-of-a-rotation-is-forgotten', COST_TEST, 'control-plane/services/offers/rotate.ts#storeKey', {
    'await addProbeCost(trx, offer.id, probed.cost)': 'void addProbeCost',
  }),
  mutant(
    'a-call-goes-to-an-offer-without-its-endpoint',
    tests('unit/provider-endpoints'),
    'data-plane/pipeline/plan/select-offers.ts#isUsable',
    {
      'isWithout(offer, choice) || ': '',
    },
  ),
]
