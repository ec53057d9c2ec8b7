import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DescriptionSchema } from '#bundle/documentation/description.ts'
import { answerText, withExample } from '#bundle/documentation/example-answer.ts'
import { isRecord } from '#shared/json-members.ts'

const description = DescriptionSchema.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8'), withExample),
)

/** The example answers of all operations, by operation. */
function examples(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const operations of Object.values(description.paths)) {
    for (const { operationId, responses } of Object.values(operations)) {
      const good = Object.values(responses).find((answer) => !('$ref' in answer))
      const schema = good === undefined || '$ref' in good ? undefined : good.content['application/json']?.schema
      if (schema !== undefined) found.set(operationId, answerText(schema, undefined, description))
    }
  }
  return found
}

/** Every text of a JSON value. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsOf)
  return isRecord(value) ? Object.values(value).flatMap(textsOf) : []
}

it('an example answer has no text that stands for a text, and no member that the sampler made up', () => {
  const answers = examples()
  expect(answers.size).toBeGreaterThan(150)
  for (const [operation, text] of answers) {
    expect(textsOf(JSON.parse(text)), operation).not.toContain('string')
    expect(text, operation).not.toContain('property1')
  }
})

it('an example answer has ids, times and amounts as the market writes them', () => {
  const answers = examples()
  const made = JSON.parse(answers.get('buyerKeyCreate') ?? '{}')
  expect(made).toMatchObject({ last_used_at: null, models_allowed: ['gpt-5-mini'] })
  expect(made['id']).toMatch(/^key_[0-9A-Z]{26}$/)
  expect(new Date(made['created_at']).getUTCFullYear()).toBe(2026)
  expect(JSON.parse(answers.get('buyerMe') ?? '{}')['credit_balance_usdc']).toMatch(/^\d+$/)
})

it('an example answer has the values that the request of the example sends', () => {
  const rate = { type: ['integer', 'null'], example: null }
  const properties = { label: { type: 'string' }, cap_daily_usd: { type: 'number' }, rate_limit_rpm: rate }
  const sent = { label: 'research', cap_daily_usd: 5, rate_limit_rpm: 120 }
  expect(JSON.parse(answerText({ properties, type: 'object' }, sent, description))).toEqual(sent)
})
