import fc from 'fast-check'
import { expect, it } from 'vitest'
import { markedParts } from '#control-plane/dashboard/market/docs/marked-parts.ts'

it.each([
  ['Delete a webhook', 'webhook', ['Delete a ', 'webhook', '']],
  ['Webhooks and WEBHOOK', 'webhook', ['', 'Webhook', 's and ', 'WEBHOOK', '']],
  ['GET /v1/key', '/v1/key get', ['', 'GET', ' ', '/v1/key', '']],
  ['a b', 'a', ['a b']],
  ['(x) [y]', '(x) [y]', ['', '(x)', ' ', '[y]', '']],
  ['nothing', '', ['nothing']],
])('%j searched by %j is %j', (text, search, parts) => {
  expect(markedParts(text, search).map((part) => part.text)).toEqual(parts)
})

it('loses no letter, whatever is searched', () => {
  const whole = (text: string, search: string) => markedParts(text, search).map((part) => part.text)
  fc.assert(fc.property(fc.string(), fc.string(), (text, search) => whole(text, search).join('') === text))
})
