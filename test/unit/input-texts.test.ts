import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { CatalogItem } from '#control-plane/services/catalog/catalog-items.ts'
import { BulkRow } from '#control-plane/services/offers/bulk.ts'
import { cleanLine } from '#shared/texts.ts'
import { membersOf, readOperations } from '#test/support/facts/input-members.ts'

const operations = [...(await readOperations()).values()]
const rows = [
  { name: 'a bulk row', input: BulkRow },
  { name: 'a catalogue row', input: CatalogItem },
]
const all = [...operations, ...rows].flatMap(({ name, input }) =>
  membersOf(input).map(({ path, schema }) => ({ name: `${name} ${path.join('.')}`, schema })),
)
const takes = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success
const takesAnything = ({ schema }: { readonly schema: z.ZodType }) => takes(schema, Symbol('anything'))
const members = all.filter((member) => !takesAnything(member))
const thatTake = (values: readonly unknown[]) =>
  members.filter(({ schema }) => values.some((value) => takes(schema, value))).map(({ name }) => name)

describe('the inputs of the operations', () => {
  it('are all found and checked, except rows with schemas of their own, rows that always refuse, and a retired path', () => {
    expect(operations.length).toBeGreaterThan(140)
    expect(members.length).toBeGreaterThan(250)
    expect(
      all
        .filter(takesAnything)
        .map(({ name }) => name)
        .sort(),
    ).toEqual([
      'catalog.diff models.0',
      'catalog.import models.0',
      'fallback-key.retired ',
      'lent-offer.create apiSecret',
      'lent-offer.create pricingMultiplier',
      'lent-offer.update apiSecret',
      'lent-offer.update pricingMultiplier',
      'offer.bulk-create offers.0',
    ])
  })

  it('refuse unknown members, each by its name', () => {
    const open = operations.filter(({ input }) => {
      const { error } = input.safeParse({ zzUnknown: 1 })
      return !error?.issues.some((issue) => issue.code === 'unrecognized_keys' && issue.keys.includes('zzUnknown'))
    })
    // Clients of other vendors send members of their own. The retired path answers all requests alike.
    expect(new Set(open.map(({ name }) => name))).toEqual(new Set(['fallback-key.retired', 'usage.activity']))
  })

  it('contain no control characters and no lone surrogates', () => {
    expect(thatTake(['a\u0000b', '\u0000', 'a\u001bb', 'a\u0085b', '\ud800', 'a\udc00b'])).toEqual([])
  })

  it('have several lines only where a text is made of lines', () => {
    expect(thatTake(['a\nb', 'a\tb'])).toEqual([
      'bill.import file',
      'incident.declare note',
      'incident.update note',
      'incident.end note',
      'wallet.link message',
      'seller-key.sign-in message',
      'buyer-key.sign-in message',
      'session.create message',
      'a catalogue row description',
    ])
  })

  it('bound every text', () => {
    // A bill has up to ten thousand lines.
    expect(thatTake(['x'.repeat(100_000), ' '.repeat(100_000)])).toEqual(['bill.import file'])
    expect(thatTake(['x'.repeat(500_001)])).toEqual([])
  })

  it('accept a number only in its written form', () => {
    const numbers = members.filter(({ schema }) => [5, 10, 1_700_000_000_000].some((value) => takes(schema, value)))
    expect(numbers.length).toBeGreaterThan(50)
    const odd = ['0x10', '+5', ' 5', '5 ', '05', '5e1', '', '-', true, [], [5]]
    const wrong = numbers.filter(({ schema }) => odd.some((value) => takes(schema, value)))
    expect(wrong.map(({ name }) => name)).toEqual([])
  })
})

describe('a text of a provider', () => {
  it('becomes one line that can be stored', () => {
    expect(cleanLine('a\u0000b\nc\ud800', 10)).toBe('a b c ')
    expect(cleanLine('plain 😀', 10)).toBe('plain 😀')
    expect(cleanLine('plain 😀', 7)).toBe('plain  ')
  })
})
