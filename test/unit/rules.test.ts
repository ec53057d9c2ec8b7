import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyCount, applyText, MAX_COUNT } from '#shared/rules/apply-rule.ts'
import { MAX_RULE_CHARS, parseRule, RuleError } from '#shared/rules/parse-rule.ts'
import { fillPath, matchPath, parsePathPattern } from '#shared/rules/path-pattern.ts'
import { processorMs } from '#test/support/run/processor-ms.ts'

const count = (text: string, scope = {}) => applyCount(parseRule(text), scope)

describe('a rule', () => {
  it('calculates with the usual precedence; a missing value makes the result missing', () => {
    expect(count('1 + 2 * 3')).toBe(7)
    expect(count('(1 + 2) * 3 - 4 / 2')).toBe(7)
    expect(count('10 - 3 - 2')).toBe(5)
    expect(count('body.n * 2', { body: {} })).toBeUndefined()
    expect(count('body.n ?? 1 + 1', { body: {} })).toBe(2)
    expect(count('(body.n ?? 1) + 1', { body: { n: null } })).toBe(2)
    expect(count('min(body.a ?? 9, 4)', { body: {} })).toBe(4)
    expect(count('min(body.a, 4)', { body: {} })).toBeUndefined()
  })

  it('counts, sums and measures the values under a path', () => {
    const body = { parts: [{ n: 1, at: [{ u: 'a' }] }, { n: 2, at: 'x' }, { at: [{ u: 'b' }, {}] }] }
    expect(count('count(body.parts)', { body })).toBe(3)
    expect(count('count(body.parts[*].at[*].u)', { body })).toBe(2)
    expect(count('sum(body.parts[*].n)', { body })).toBe(3)
    expect(count('count(body.nothing[*])', { body })).toBe(0)
    expect(count('body.parts[-1].at[0].n ?? 7', { body })).toBe(7)
    expect(count('bytes(body.parts[0])', { body: { parts: ['ü'] } })).toBe(4)
    expect(count("pixels(body.size ?? '1024x768')", { body: {} })).toBe(786_432)
    expect(count("pick(body.q, 'low', 1, 'high', 4)", { body: { q: 'high' } })).toBe(4)
    expect(count("pick(body.q, 'low', 1, 'high', 4)", { body: { q: 'ultra' } })).toBeUndefined()
    expect(count('number(query.n)', { query: { n: '12' } })).toBe(12)
    expect(applyText(parseRule("join(body.model, '/', body.n)"), { body: { model: 'a', n: 2 } })).toBe('a/2')
  })

  it('returns no number for another type, a negative value, a division by zero, or a number out of range', () => {
    for (const n of ['5', -1, Number.NaN, Number.POSITIVE_INFINITY, [], {}, true, MAX_COUNT + 1]) {
      expect([n, count('body.n', { body: { n } })]).toEqual([n, undefined])
    }
    expect(count('1 / (body.n - body.n)', { body: { n: 1 } })).toBeUndefined()
    expect(count('number(query.n)', { query: { n: ['1', '2'] } })).toBeUndefined()
    expect(count('number(query.n)', { query: { n: '1e9' } })).toBeUndefined()
  })

  it('rounds up once, and ignores the noise of binary fractions', () => {
    expect(count('0.1 * 3 * 10')).toBe(3)
    expect(count('2.1')).toBe(3)
    expect(count('0.000001')).toBe(1)
  })

  it('reads own members alone', () => {
    expect(count('body.length ?? 1', { body: [1, 2, 3] })).toBe(1)
    expect(count('body.constructor.length ?? 1', { body: {} })).toBe(1)
    expect(count('body.__proto__.x ?? 1', { body: JSON.parse('{"__proto__":{"x":9}}') })).toBe(9)
    expect(count('body.x ?? 1', { body: JSON.parse('{"__proto__":{"x":9}}') })).toBe(1)
  })

  it('is refused with the position of its mistake', () => {
    for (const [text, message] of [
      ['', 'ends too early'],
      ['1 +', 'ends too early'],
      ['1 2', 'is not expected'],
      ['process.exit', 'is not one of'],
      ['eval(1)', 'no function'],
      ['constructor(1)', 'no function'],
      ['min()', 'is not expected'],
      ['ceil(1, 2)', 'takes 1 arguments'],
      ["pick(body.a, 'x')", 'takes 3 to 41'],
      ["pick(body.a, 'x', 1, 'y')", 'and then pairs'],
      ['body.a[*].b[*].c[*]', 'more than 2'],
      ['body[1.5]', 'whole number'],
      ["'a", 'cannot be read'],
      ['1e5', 'cannot be read'],
      ['a;b', 'character 2'],
      [`${'('.repeat(40)}1${')'.repeat(40)}`, 'nests at most'],
      [Array(200).fill('1').join('+'), 'at most 128 parts'],
      ['1'.repeat(MAX_RULE_CHARS + 1), 'characters'],
    ] as const) {
      expect(() => parseRule(text), text).toThrow(RuleError)
      expect(() => parseRule(text), text).toThrow(message)
    }
  })

  it('ends soon and never throws, for any text and scope', () => {
    const words = fc.constantFrom(
      'body',
      'query',
      'size',
      'model',
      '.a',
      '.b',
      '[*]',
      '[0]',
      '[-1]',
      '1',
      '0.5',
      "'x'",
      '(',
      ')',
      ',',
      '??',

      '+',
      '-',
      '*',
      '/',
      'min(',
      'max(',
      'ceil(',
      'count(',
      'sum(',
      'bytes(',
      'pixels(',
      'pick(',
      'join(',
      'number(',
    )
    const texts = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.array(words, { maxLength: 24 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(texts, fc.jsonValue(), (text, body) => {
        let rule: ReturnType<typeof parseRule>
        try {
          rule = parseRule(text)
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(RuleError)
          return
        }
        const units = applyCount(rule, { body: { a: body, b: [body, body] }, size: 3, model: { a: 2 } })
        if (units !== undefined) expect(Number.isSafeInteger(units) && units >= 0 && units <= MAX_COUNT).toBe(true)
        applyText(rule, { body })
      }),
      { numRuns: 2_000 },
    )
  })

  it('stops on a body that multiplies its places', () => {
    const wide = Array.from({ length: 2_000 }, () => ({ b: Array(2_000).fill(1) }))
    const takenMs = processorMs(() =>
      expect(count('count(body.a[*].b[*]) + sum(body.a[*].b[*])', { body: { a: wide } })).toBeUndefined(),
    )
    expect(takenMs).toBeLessThan(1_000)
    let deep: unknown = 1
    for (let depth = 0; depth < 100_000; depth++) deep = [deep]
    expect(count('bytes(body)', { body: deep })).toBeUndefined()
  })
})

describe('a pattern of paths', () => {
  const match = (pattern: string, path: string) => {
    const read = parsePathPattern(pattern)
    const found = read && matchPath(read, path)
    return found && { ...found }
  }

  it('captures one segment, or several with a plus', () => {
    expect(match('/v1/videos/{job}', '/v1/videos/v-1')).toEqual({ job: 'v-1' })
    expect(match('/{model+}/requests/{job}/status', '/a/b/c/requests/r1/status')).toEqual({ model: 'a/b/c', job: 'r1' })
    expect(match('/{model+}', '/a/requests/r1')).toEqual({ model: 'a/requests/r1' })
    expect(match('/', '/')).toEqual({})
    expect(match('/a/{rest+}', '/a')).toBeUndefined()
    expect(match('/v1/videos/{job}', '/v1/videos/v/1')).toBeUndefined()
  })

  it('matches no path with dot segments, escapes, empty segments or foreign bytes', () => {
    for (const path of [
      '/a/../b',
      '/a/./b',
      '/a//b',
      '/a/',
      '',
      'a',
      '/a%2fb',
      '/a%2e%2e/b',
      '/%252e',
      '/a\\b',
      '/a;b?c',
      '/a#b',
      '/ä',
      '/a b',
      '/a\tb',
      '/a\0b',
      'https://host/a',
      '//host/a',
      `/${'a'.repeat(3_000)}`,
    ]) {
      expect([path, match('/{all+}', path)]).toEqual([path, undefined])
    }
  })

  it('is refused where it could be read in two ways', () => {
    for (const text of [
      'a',
      '/{a}/{a}',
      '/{a+}/{b+}',
      '/{A}',
      '/a//b',
      '/a/..',
      '/*',
      '/a{b}',
      `/${'a/'.repeat(200)}`,
    ]) {
      expect([text, parsePathPattern(text)]).toEqual([text, undefined])
    }
  })

  it('returns the path that it was filled with', () => {
    const segment = fc.stringMatching(/^[a-z0-9]{1,8}$/)
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), segment, (parts, job) => {
        const pattern = parsePathPattern('/x/{model+}/requests/{job}')!
        const captures = { model: parts.join('/'), job }
        expect({ ...matchPath(pattern, fillPath(pattern, captures)!) }).toEqual(captures)
      }),
    )
  })
})
