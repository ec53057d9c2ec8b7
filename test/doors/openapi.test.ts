import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ROWS } from '#control-plane/api/rest/door.ts'
import { buildDocument } from '#dev/openapi/document.ts'
import { isRecord } from '#shared/json-members.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { bodyFaults, DOCUMENT, DOCUMENT_TEXT, OPERATIONS } from '#test/support/facts/description.ts'
import { SURFACE_ROWS } from '#test/support/facts/surface-rows.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** Paths that a row with a model's name answers, too, because that name may contain slashes. */
const PATHS_BELOW: Readonly<Record<string, readonly string[]>> = {
  '/api/markets/*model': ['/performance'],
  '/v1/models/*id': ['/endpoints'],
}

type Part = { readonly pattern?: string; readonly default?: unknown }

/** The patterns and defaults of all schemas in the document. */
function schemasIn(part: unknown): Part[] {
  if (Array.isArray(part)) return part.flatMap(schemasIn)
  if (!isRecord(part)) return []
  const { pattern, default: value } = part
  const own = typeof pattern === 'string' ? [{ pattern, default: value }] : [{ default: value }]
  return [...own, ...Object.values(part).flatMap(schemasIn)]
}

describe('docs/openapi.json', () => {
  it('equals the output of `npm run openapi` from the rows and schemas of both planes', () => {
    expect(JSON.parse(DOCUMENT_TEXT)).toEqual(buildDocument(version))
  })

  it('is clean to the linter', async () => {
    // A redirect and a retired endpoint have no 2xx answer.
    const rules = { 'operation-2xx-response': 'off' as const }
    const config = await createConfig({ extends: ['recommended'], rules })
    const found = await lintFromString({ source: DOCUMENT_TEXT, absoluteRef: 'openapi.json', config })
    expect(found.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
  })

  it('has every row of the doors, and no path without a row', () => {
    const rest = ROWS.map(({ method, path }) => `${method} ${path}`)
    const mounted = SURFACE_ROWS.flatMap(({ methods, path, ...row }) => {
      const behind = row.floorBehind
      const floored = behind === undefined ? [] : [`${behind}/min{}${path.slice(behind.length)}`]
      const below = [path, ...floored].flatMap((each) => (PATHS_BELOW[path] ?? []).map((end) => each + end))
      const names = methods.filter((method) => method !== 'HEAD')
      return [path, ...floored, ...below].flatMap((each) => names.map((method) => `${method} ${each}`))
    })
    // Operators' metrics are described elsewhere, and the plain address leads to the page.
    const data = mounted.filter((name) => name !== 'GET /metrics' && name !== 'GET /')
    const rows = [...rest, ...data]
    const shaped = (name: string) => name.replace(/:\w+|\{\w*\}|\*\w+/g, '{}')
    expect(new Set(OPERATIONS.map(({ method, path }) => shaped(`${method} ${path}`)))).toEqual(
      new Set(rows.map(shaped)),
    )
  })

  it('describes every operation, parameter and tag', () => {
    const silent = OPERATIONS.flatMap(({ operationId, description, parameters }) => [
      ...(description === '' ? [operationId] : []),
      ...parameters.filter((each) => each.description === '').map(({ name }) => `${operationId}: ${name}`),
    ])
    const tags = DOCUMENT.tags.filter(({ description }) => description === '').map(({ name }) => name)
    expect([...silent, ...tags]).toEqual([])
  })

  it('describes every schema of its components in a sentence', () => {
    const { components } = z
      .object({
        components: z.object({ schemas: z.record(z.string(), z.object({ description: z.string().default('') })) }),
      })
      .parse(JSON.parse(DOCUMENT_TEXT))
    const silent = Object.entries(components.schemas).filter(
      ([, { description }]) => !/^[A-Z].{10,}\.$/.test(description),
    )
    expect(silent.map(([name]) => name)).toEqual([])
  })

  it('names each operation once, as a function may be named', () => {
    const names = OPERATIONS.map(({ operationId }) => operationId)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^[a-z][A-Za-z0-9]*$/.test(name))).toEqual([])
  })

  it('has patterns that mean the same with and without flags', () => {
    const patterns = new Set(schemasIn(JSON.parse(DOCUMENT_TEXT)).flatMap(({ pattern }) => pattern ?? []))
    expect(patterns.size).toBeGreaterThan(5)
    for (const pattern of patterns) {
      expect(pattern).not.toMatch(/\\p\{/i)
      expect(() => [new RegExp(pattern), new RegExp(pattern, 'u')], pattern).not.toThrow()
    }
    const lines = [...patterns].filter((pattern) => new RegExp(pattern).test('a line, \u{1F600}'))
    expect(lines.filter((pattern) => !new RegExp(pattern).test('two\nlines'))).toHaveLength(1)
  })

  it('has defaults whose types a code generator keeps', () => {
    const lists = schemasIn(JSON.parse(DOCUMENT_TEXT)).flatMap(({ default: value }) =>
      Array.isArray(value) && value.length > 0 ? [value] : [],
    )
    expect(lists).toEqual([])
  })

  it('has examples that its own schemas accept', () => {
    const faults = OPERATIONS.flatMap((operation) => {
      const examples = operation.requestBody?.content['application/json']?.examples ?? {}
      return Object.values(examples).flatMap(({ value }) =>
        bodyFaults(operation, value).map((fault) => `${operation.operationId}: ${fault}`),
      )
    })
    expect(faults).toEqual([])
  })
})

describe('the reference', () => {
  let market: TestMarket

  beforeAll(async () => {
    market = await startMarket()
  })
  afterAll(() => market?.stop())

  it('is served with an ETag that saves sending it twice', async () => {
    for (const path of ['/openapi.json', '/llms.txt', '/docs/errors.md', '/docs/README.md', '/docs/examples/pay.mjs']) {
      const first = await market.rest('GET', path)
      expect(first.status, path).toBe(200)
      const etag = first.headers.get('etag') ?? ''
      expect(etag).toMatch(/^".+"$/)
      const again = await market.rest('GET', path, { headers: { 'if-none-match': `W/${etag}` } })
      expect([again.status, again.text]).toEqual([304, ''])
    }
    expect((await market.rest('GET', '/openapi.json')).text).toBe(DOCUMENT_TEXT)
  })

  it('leads to the texts where the page was not built, and serves no other file of the folder', async () => {
    const { status, headers, text } = await market.rest('GET', '/docs')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/markdown; charset=utf-8'])
    expect(text).toContain('(buy.md)')
    for (const path of ['/docs/openapi.json', '/docs/grafana/market.json', '/docs/schema.sql']) {
      expect((await market.rest('GET', path)).status, path).toBe(404)
    }
  })

  it('names only existing paths to agents', async () => {
    const { text } = await market.rest('GET', '/llms.txt')
    const described = OPERATIONS.map(({ path }) => path)
    const paths = [
      ...text.matchAll(/(?:GET|POST|Paths:|,|\n {2})\s*`?(?:(?:GET|POST) )?(\/(?:v1|api|compat)\/[^\s`?,;]+)/g),
    ]
    expect(paths.length).toBeGreaterThan(10)
    const shaped = (path: string) => path.replace(/\{[^}]+\}/g, '{}')
    const known = new Set(described.map(shaped))
    expect(paths.map((match) => shaped(match[1] ?? '')).filter((path) => !known.has(path))).toEqual([])
    for (const [, link = ''] of text.matchAll(/\]\((http[^)]+)\)/g)) {
      const { pathname } = new URL(link)
      // Pages are drawn from texts; this market has no page.
      const text = pathname.startsWith('/docs/reference') ? '/openapi.json' : pathname
      expect((await market.rest('GET', text)).status, pathname).toBe(200)
    }
    expect(text).not.toContain('{base_url}')
  })
})
