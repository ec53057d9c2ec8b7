import { describe, expect, it } from 'vitest'
import { readBillFile } from '#control-plane/services/drift/read-bill.ts'
import { DAY, utcDay } from '#shared/clock.ts'

const NOW = Date.UTC(2026, 10, 27, 12)
const day = (ago: number) => utcDay(NOW - ago * DAY)
const read = (file: string) => readBillFile(file, NOW)

/** A page of Anthropic's report with one bucket. */
function anthropicBucket(start: string, end?: string): string {
  const result = { amount: '100', currency: 'USD', description: 'Input', model: 'm', token_type: 'input' }
  return JSON.stringify({ data: [{ starting_at: start, ...(end && { ending_at: end }), results: [result] }] })
}

describe('a file of a bill', () => {
  it.each<[string, () => string, string]>([
    [
      'a negative cost',
      () => `date,model,cost_usd\n${day(1)},m,1\n${day(2)},m,-1`,
      'Line 3: the cost must not be negative.',
    ],
    [
      'an absurd cost',
      () => `date,model,cost_usd\n${day(1)},m,1000001`,
      'Line 2: a cost is above 1,000,000 US dollars.',
    ],
    ['no number', () => `date,model,cost_usd\n${day(1)},m,NaN`, 'Line 2: the cost must be a decimal number.'],
    [
      'a comma for a point',
      () => `date,model,cost_usd\n${day(1)},m,"1,5"`,
      'Line 2: the cost must be a decimal number.',
    ],
    ['a day to come', () => `date,model,cost_usd\n${day(-1)},m,1`, 'has not begun in UTC.'],
    ['a day of long ago', () => `date,model,cost_usd\n2020-01-01,m,1`, 'more than 400 days ago.'],
    ['no day', () => `date,model,cost_usd\n2026-02-30,m,1`, 'Line 2: the date must be a day such as 2026-11-21.'],
    [
      'a line twice',
      () => `date,model,cost_usd\n${day(1)},m,1\n${day(1)},m,1`,
      'Line 3: it has the day, model and class of Line 2.',
    ],
    [
      'a whole and a part',
      () => `date,model,class,cost_usd\n${day(1)},m,,1\n${day(1)},m,input,1`,
      'Line 3: it and Line 2 give',
    ],
    ['a missing cell', () => `date,model,cost_usd\n${day(1)},m`, 'Line 2: it has 2 cells, not 3.'],
    ['a missing column', () => `date,model\n${day(1)},m`, 'Line 1: the column cost_usd is missing.'],
    ['an unknown column', () => `date,model,cost_eur\n${day(1)},m,1`, 'Line 1: there is no column "cost_eur"'],
    ['no model', () => `date,model,cost_usd\n${day(1)},,1`, 'Line 2: the model is missing.'],
    ['an open quotation', () => `date,model,cost_usd\n${day(1)},"m,1`, 'Line 2: a quotation is not closed.'],
    ['nothing', () => '  ', 'The file: it is empty.'],
    [
      'bytes of another encoding',
      () => `date,model,cost_usd\n${day(1)},caf\uFFFD,1`,
      'The file: it is not UTF-8 text.',
    ],
    [
      'a model that is a formula',
      () => `date,model,cost_usd\n${day(1)},"=HYPERLINK(""x"")",1`,
      'Line 2: the model begins like a formula.',
    ],
    [
      'a class that is a formula',
      () => `date,model,class,cost_usd\n${day(1)},m,+1,1`,
      'Line 2: the class begins like a formula.',
    ],
    [
      'a cost that is a formula',
      () => `date,model,cost_usd\n${day(1)},m,=1+1`,
      'Line 2: the cost must be a decimal number.',
    ],
    ['a line break in quotes', () => `date,model,cost_usd\n${day(1)},"m\nn",1`, 'Line 2: a quotation is not closed.'],
    ['columns by semicolons', () => `date;model;cost_usd\n${day(1)};m;1`, 'there is no column "date;model;cost_usd"'],
    [
      'an endless column name',
      () => `date,model,cost_usd,${'x'.repeat(400_000)}\n`,
      `there is no column "${'x'.repeat(40)}"`,
    ],
    ['endless quotes', () => `date,model,cost_usd\n${',"'.repeat(200_000)}`, 'Line 2: '],
    [
      'a number out of range',
      () => `date,model,cost_usd\n${day(1)},m,1e99`,
      'Line 2: a cost is above 1,000,000 US dollars.',
    ],
    ['an infinite number', () => `[{"date":"${day(1)}","model":"m","cost_usd":1e400}]`, 'Row 1: '],
    ['a day with a zone', () => `date,model,cost_usd\n${day(1)}T23:00:00-05:00,m,1`, 'Line 2: the date must be a day'],
    [
      'a bucket of another zone',
      () => anthropicBucket(`${day(2)}T00:00:00+09:00`, `${day(1)}T00:00:00+09:00`),
      'its bucket is not within one day of UTC.',
    ],
    [
      'a bucket without a zone',
      () => anthropicBucket(`${day(2)}T00:00:00`),
      'its bucket is not within one day of UTC.',
    ],
    [
      'a bucket of a month',
      () => anthropicBucket(`${day(31)}T00:00:00Z`, `${day(1)}T00:00:00Z`),
      'its bucket is not within one day of UTC.',
    ],
    [
      'a row of another zone',
      () => JSON.stringify({ data: [{ date: `${day(2)}T00:00:00-08:00`, model: 'm', usage: 1 }] }),
      'Row 1: the date must be a day',
    ],
    ['a head alone', () => 'date,model,cost_usd', 'The bill: it has no lines.'],
    ['half of a JSON', () => '[{"date":', 'The file: it begins like JSON and is not valid JSON.'],
    ['a row of another form', () => `[{"date":"${day(1)}","model":"m","usd":1}]`, 'Row 1: '],
    [
      'fractional units',
      () => `date,model,units,cost_usd\n${day(1)},m,1.5,1`,
      'Line 2: the units must be a whole number',
    ],
    [
      'a report in another currency',
      () =>
        JSON.stringify({
          data: [{ start_time: 0, results: [{ amount: { value: 1, currency: 'eur' }, line_item: 'm, input' }] }],
        }),
      'Bucket 1, result 1: the currency is not the US dollar.',
    ],
    [
      'a report without lines',
      () =>
        JSON.stringify({
          data: [{ start_time: 0, results: [{ amount: { value: 1, currency: 'usd' }, line_item: null }] }],
        }),
      'group the report by line_item.',
    ],
    [
      'too many lines',
      () => `date,model,cost_usd\n${Array.from({ length: 10_001 }, (_, at) => `${day(1)},m${at},1`).join('\n')}`,
      'The file: it has more than 10000 lines.',
    ],
  ])('is refused with its line for %s', (_name, file, message) => {
    expect(() => read(file())).toThrow(message)
  })

  it('is read with a byte order mark, in tiny numbers, and in buckets of an hour', () => {
    expect(read(`\uFEFFdate,model,cost_usd\n${day(1)},gpt-test,1.5e-7`)).toMatchObject([{ billedPico: 150_000n }])
    expect(read(anthropicBucket(`${day(3)}T05:00:00Z`, `${day(3)}T06:00:00Z`))).toMatchObject([
      { day: day(3), model: 'm', billedPico: 1_000_000_000_000n },
    ])
    // The same instant in another zone belongs to the same day.
    expect(read(anthropicBucket(`${day(3)}T00:00:00-05:00`))).toMatchObject([{ day: day(3) }])
    expect(read(anthropicBucket(`${day(3)}T23:00:00-05:00`))).toMatchObject([{ day: day(2) }])
  })
})
