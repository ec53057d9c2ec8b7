import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const COST_TEST = tests('services/probe-cost')
const USAGE = 'control-plane/ports/provider/probed-usage.ts'
const COST = 'control-plane/services/providers/probe-cost.ts#probeCost'

/** Mistakes in what a seller is told that a test call costs. */
export const PROBE_MUTANTS: readonly Mutant[] = [
  mutant('a-free-question-is-charged', COST_TEST, `${USAGE}#probedUsage`, {
    'maxOutputTokens === null || status >= 400': 'false',
    'const { maxOutputTokens } = question': 'const maxOutputTokens = question.maxOutputTokens ?? 0',
  }),
  mutant('the-usage-of-an-answer-is-ignored', COST_TEST, `${USAGE}#probedUsage`, {
    'given.inputTokens ?? Buffer.byteLength(body)': 'Buffer.byteLength(body)',
  }),
  mutant('the-output-of-a-silent-answer-is-free', COST_TEST, `${USAGE}#probedUsage`, {
    ': maxOutputTokens\n': ': 0\n',
  }),
  mutant('a-test-call-has-the-price-of-another-model', COST_TEST, COST, {
    'ctx.db, at, [model]': 'ctx.db, at',
  }),
  mutant('an-unknown-price-is-zero', COST_TEST, COST, {
    'if (row === undefined) return null': 'if (row === undefined) return 0',
  }),
  mutant('a-price-for-the-call-is-left-out', COST_TEST, COST, {
    '{ ...usage, calls: 1 }': 'usage',
  }),
]
